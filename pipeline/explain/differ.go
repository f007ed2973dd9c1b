package explain

import "fmt"

// Departure is the first place at which a build does not do what an earlier one did. It has no texts
// of items.
type Departure struct {
	// Stage is query, system, memory, step, count, fill, format or build, for the build as a whole.
	Stage string `json:"stage"`
	// Step is the name of the step, and Item the ID of the first item that differs. Both are empty
	// where there is none.
	Step string `json:"step,omitempty"`
	Item string `json:"item,omitempty"`
	// What says what differs.
	What string `json:"what"`
}

// Difference says where a replay is not the recorded build.
type Difference struct {
	// Where is "plugin", "setting", "step" or "result", Name the name of it, and What what differs.
	Where string `json:"where"`
	Name  string `json:"name"`
	What  string `json:"what"`
	// Remedy says what to do, where that is known.
	Remedy string `json:"remedy,omitempty"`
}

// String is one line.
func (d *Difference) String() string {
	if d.Remedy != "" {
		return fmt.Sprintf("%s %q: %s (%s)", d.Where, d.Name, d.What, d.Remedy)
	}
	return fmt.Sprintf("%s %q: %s", d.Where, d.Name, d.What)
}
