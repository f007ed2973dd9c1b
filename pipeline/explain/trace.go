// Package explain defines the documents that explain a build. For each item there is a list
// of events, which say what each stage did to the item and why it is in the window or not.
// If Explain is set in its configuration, a pipeline puts a [Trace] into its diagnostics.
package explain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Outcome says where an item ended.
type Outcome string

// The outcomes.
const (
	// InWindow means that the item is in the window.
	InWindow Outcome = "in_window"
	// OutOfWindow means that the item reached the window stage and did not get a place.
	OutOfWindow Outcome = "left_out"
	// DroppedByStep means that a step removed the item.
	DroppedByStep Outcome = "dropped"
	// Undecided means that the build failed before it filled the window.
	Undecided Outcome = "undecided"
)

// Outcomes lists the outcomes.
var Outcomes = []Outcome{InWindow, OutOfWindow, DroppedByStep, Undecided}

// Actions is the set of changes that one stage made to an item, one bit for each kind.
type Actions uint16

// The kinds of changes. Moved means that the rank of the item among the items that stay has
// changed. It does not count when items before it are added or dropped.
const (
	Added Actions = 1 << iota
	Moved
	Rescored
	Rewritten
	Prioritised
	Recounted // its token count was set
	Resourced // its source was changed
	Annotated // its metadata was replaced by other metadata
	Redated   // its time or sequence number was changed
	Dropped
	Admitted
	LeftOut
	Cut // only the beginning of its text is in the window
)

// actionNames are the names of the bits, lowest first.
var actionNames = [...]string{
	"added", "moved", "rescored", "rewritten", "prioritised", "recounted", "resourced", "annotated", "redated",
	"dropped", "admitted", "left_out", "cut",
}

// Has reports whether a contains all bits of what.
func (a Actions) Has(what Actions) bool { return a&what == what }

// Names returns the names of the bits that are set, in a fixed order.
func (a Actions) Names() []string {
	names := []string{}
	for i, name := range actionNames {
		if a&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// String joins the names by commas.
func (a Actions) String() string { return strings.Join(a.Names(), ", ") }

// MarshalJSON writes a list of names.
func (a Actions) MarshalJSON() ([]byte, error) { return json.Marshal(a.Names()) }

// UnmarshalJSON reads a list of names. An unknown name is an error that wraps [core.ErrInvalid].
func (a *Actions) UnmarshalJSON(data []byte) error {
	var names []string
	if err := decode.Value("", data, &names); err != nil {
		return err
	}
	var out Actions
next:
	for _, name := range names {
		for i, known := range actionNames {
			if name == known {
				out |= 1 << i
				continue next
			}
		}
		return fmt.Errorf("%.100q: %w (want some of %s)", name, core.ErrInvalid, strings.Join(actionNames[:], ", "))
	}
	*a = out
	return nil
}

// Change is a value before and after a stage.
type Change[T any] struct {
	From T `json:"from"`
	To   T `json:"to"`
}

// Origin names the part of a build that caused an event.
type Origin struct {
	Stage string `json:"stage"`
	// Step is the name of the step; other stages have none.
	Step string `json:"step,omitempty"`
	ModuleInfo
}

// ModuleInfo names the plugin that a step runs; several are joined by "+".
type ModuleInfo struct {
	// Plugin is the name of the plugin instance.
	Plugin string `json:"plugin,omitempty"`
	// Module is the digest of its module, "sha256:" and 64 hex digits.
	Module string `json:"module,omitempty"`
}

// BudgetKind says which budget decided about an item.
type BudgetKind string

// The kinds of budgets.
const (
	BudgetWindow      BudgetKind = "window"
	BudgetMinimums    BudgetKind = "minimums"     // the window without the room that is kept for other sources
	BudgetSource      BudgetKind = "source"       // the allocation of the source
	BudgetWholeSource BudgetKind = "whole_source" // the same with the strategy drop
	BudgetSharedPool  BudgetKind = "shared_pool"
)

// BudgetCheck is the comparison of an item with a budget in the window stage. All numbers
// are tokens.
type BudgetCheck struct {
	Kind BudgetKind `json:"kind"`
	// Limit is the size of the budget.
	Limit int `json:"limit"`
	// Available is the free part of the budget before the item. Needed is what the item
	// needs: its own tokens, or those of its whole source under BudgetWholeSource.
	Available int `json:"available"`
	Needed    int `json:"needed"`
	// Lacked is the difference if Needed is larger than Available, and 0 otherwise.
	Lacked int `json:"lacked,omitempty"`
	// DisplacedBy names the items that used the room: the last items that were admitted
	// from the same budget before this item, as many as together have the tokens that it
	// lacked. It has at most [MaxDisplacers] names. It is empty for an item that is larger
	// than the whole budget.
	DisplacedBy []string `json:"displaced_by,omitempty"`
}

// MaxDisplacers bounds BudgetCheck.DisplacedBy.
const MaxDisplacers = 16

// Event describes what one stage did to one item.
type Event struct {
	Origin
	Actions Actions `json:"did"`
	// Place is the place in the list of items, counted from 1. From is 0 for an item that
	// was added, and To is 0 for one that was dropped or left out. In the stage "fill", To
	// is the place in the window.
	Place *Change[int] `json:"place,omitempty"`
	// The values that changed. For an added item, Score.From is 0.
	Score    *Change[float64]     `json:"score,omitempty"`
	Priority *Change[int]         `json:"priority,omitempty"`
	Tokens   *Change[int]         `json:"tokens,omitempty"`
	Bytes    *Change[int]         `json:"bytes,omitempty"` // of the text
	Source   *Change[core.Source] `json:"source,omitempty"`
	// Budget is set in the stage "fill".
	Budget *BudgetCheck `json:"budget,omitempty"`
}

// ItemTrace is the history of one item in a build. Its values are those that the item had
// at the end.
type ItemTrace struct {
	ID       string      `json:"id"`
	Source   core.Source `json:"source"`
	Priority int         `json:"priority"`
	Score    float64     `json:"score"`
	Tokens   int         `json:"tokens"`
	// Excerpt is the beginning of the text, at most [ExcerptLength] characters.
	Excerpt string  `json:"excerpt"`
	Outcome Outcome `json:"fate"`
	// Events are in order. The first has the action Added, and the last decided the outcome.
	Events []Event `json:"events"`
}

// ExcerptLength is the length of ItemTrace.Excerpt in characters.
const ExcerptLength = 80

// AddedBy returns the part of the build that added the item.
func (t *ItemTrace) AddedBy() Origin { return t.Events[0].Origin }

// Last returns the event that decided the outcome.
func (t *ItemTrace) Last() *Event { return &t.Events[len(t.Events)-1] }

// Trace has the traces of all items of a build, in the order in which the items were added.
// The first call that needs them computes them from the records of the build, so that a
// build whose trace nobody reads does not pay for it. A Trace is safe for concurrent use.
// Do not change it.
type Trace struct {
	once  sync.Once
	load  func() []ItemTrace
	items []ItemTrace
}

// NewTrace returns a trace of the items that load returns. The trace calls load once, when
// it first needs the items.
func NewTrace(load func() []ItemTrace) *Trace { return &Trace{load: load} }

// All returns the traces of the items. Callers share the list. A nil Trace has none.
func (t *Trace) All() []ItemTrace {
	if t == nil {
		return nil
	}
	t.once.Do(func() {
		if t.load != nil {
			t.items, t.load = t.load(), nil
		}
	})
	return t.items
}

// UnmarshalJSON reads a list of traces. Unknown keys, unknown names of actions or outcomes,
// and traces without an event are errors. After an error the trace is unchanged.
func (t *Trace) UnmarshalJSON(data []byte) error {
	var items []ItemTrace
	if err := decode.Value("items", data, &items); err != nil {
		return err
	}
	for i := range items {
		if len(items[i].Events) == 0 {
			return fmt.Errorf("items[%d]: item %.100q: no events: %w", i, items[i].ID, core.ErrInvalid)
		}
		if !slices.Contains(Outcomes, items[i].Outcome) {
			return fmt.Errorf("items[%d]: item %.100q: fate %.100q: %w (want one of %v)", i, items[i].ID, items[i].Outcome, core.ErrInvalid, Outcomes)
		}
	}
	t.once.Do(func() {})
	t.items, t.load = items, nil
	return nil
}

// Excerpt returns the beginning of a text, at most [ExcerptLength] characters.
func Excerpt(text string) string {
	characters := 0
	for i := range text {
		if characters == ExcerptLength {
			return text[:i]
		}
		characters++
	}
	return text
}
