package conformance

import (
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// Verdict is the outcome of a case.
type Verdict string

// The verdicts. Skip means that a case does not apply, or that another failure makes it
// impossible to check.
const (
	Pass Verdict = "pass"
	Fail Verdict = "fail"
	Skip Verdict = "skip"
)

// Result is one case that was run for one operation in one lane.
type Result struct {
	// Case is the stable id, such as "filter/subset".
	Case string `json:"case"`
	// Operation is empty for cases about the whole plugin.
	Operation abi.Operation `json:"operation,omitempty"`
	// Lane is empty for cases about both lanes, or about none.
	Lane    string  `json:"lane,omitempty"`
	Verdict Verdict `json:"verdict"`
	// Rule is the rule in one sentence.
	Rule string `json:"rule"`
	// Detail says what was found, or why the case was skipped.
	Detail string `json:"detail,omitempty"`
	// Remedy says what to do about a failure.
	Remedy string `json:"remedy,omitempty"`
	// Wrote is what the guest wrote in the call that failed, Stack its call stack after a trap.
	Wrote string `json:"guest_wrote,omitempty"`
	Stack string `json:"guest_stack,omitempty"`
	// Request is where Options.KeepRequest has put the request of a failure.
	Request string `json:"request,omitempty"`
	// Repeat is the command that sends that request again. Tools that keep requests set it.
	Repeat string `json:"repeat,omitempty"`
	// Millis is how long the case took.
	Millis float64 `json:"time_ms"`
}

// Cost is the time of one call.
type Cost struct {
	Operation abi.Operation `json:"operation"`
	Lane      string        `json:"lane"`
	// Items is the number of items of the request.
	Items int `json:"items"`
	// Micros is the median time of a call in microseconds.
	Micros float64 `json:"us_per_call"`
}

// Report is the outcome of Run.
type Report struct {
	Plugin  string `json:"plugin"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
	// Size is the size of the module in bytes.
	Size int64 `json:"size,omitempty"`
	// Seed and Short repeat the options.
	Seed  uint64 `json:"seed"`
	Short bool   `json:"short,omitempty"`
	// Passed, Failed and Skipped count the results.
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	// Results are in the order of the operations and of the cases.
	Results []Result `json:"results"`
	// Notes say what the verdicts do not show, such as that a guest never changed
	// anything.
	Notes []string `json:"notes,omitempty"`
	// Costs are measured for operations that work on items.
	Costs []Cost `json:"costs,omitempty"`
}

// OK reports whether no case failed.
func (r *Report) OK() bool { return r.Failed == 0 }

// FailedCases returns the ids of the cases that failed, sorted, each once.
func (r *Report) FailedCases() []string {
	ids := []string{}
	for _, x := range r.Results {
		if x.Verdict == Fail {
			ids = append(ids, x.Case)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// add adds a result.
func (r *Report) add(x Result) {
	r.Results = append(r.Results, Result{})
	r.put(len(r.Results)-1, x)
}

// put puts a result into a place that was reserved for it.
func (r *Report) put(at int, x Result) {
	switch x.Verdict {
	case Pass:
		r.Passed++
	case Fail:
		r.Failed++
	case Skip:
		r.Skipped++
	}
	r.Results[at] = x
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
