// Package explain has the documents that explain a build: for each item a list of events,
// what each stage did to it and what decided whether it is in the window. A pipeline whose
// configuration has Explain set puts a [Trace] into its diagnostics.
package explain

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Outcome is what became of an item.
type Outcome string

// The outcomes.
const (
	// InWindow: the item is in the window.
	InWindow Outcome = "in_window"
	// OutOfWindow: the item reached the window stage and did not get in.
	OutOfWindow Outcome = "left_out"
	// DroppedByStep: a step took the item away.
	DroppedByStep Outcome = "dropped"
	// Undecided: the build failed before the window was filled.
	Undecided Outcome = "undecided"
)

// Actions is what happened to an item in one stage: one bit or several.
type Actions uint16

// What may happen. Moved means that the rank of the item among those that stay
// changed, not that others before it came or went.
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

// Has reports whether all of what has happened.
func (a Actions) Has(what Actions) bool { return a&what == what }

// Names lists what happened, in a fixed order.
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

// MarshalJSON writes the list of names.
func (a Actions) MarshalJSON() ([]byte, error) { return json.Marshal(a.Names()) }

// UnmarshalJSON reads a list of names.
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
		return fmt.Errorf("%q: %w (want some of %s)", name, core.ErrInvalid, strings.Join(actionNames[:], ", "))
	}
	*a = out
	return nil
}

// Change is a value before and after.
type Change[T any] struct {
	From T `json:"from"`
	To   T `json:"to"`
}

// Origin says what part of a build did something: "system", "memory", "step" or
// "fill".
type Origin struct {
	Stage string `json:"stage"`
	// Step is the name of the step; other stages have none.
	Step string `json:"step,omitempty"`
	ModuleInfo
}

// ModuleInfo names the plugin behind a step; several are joined by "+".
type ModuleInfo struct {
	// Plugin is the name of the plugin instance.
	Plugin string `json:"plugin,omitempty"`
	// Module is the digest of its module, "sha256:" and 64 hex digits.
	Module string `json:"module,omitempty"`
}

// BudgetKind says what was too small, or large enough.
type BudgetKind string

// The kinds.
const (
	BudgetWindow      BudgetKind = "window"
	BudgetSource      BudgetKind = "source"       // the allocation of the source
	BudgetWholeSource BudgetKind = "whole_source" // the same with the strategy drop
	BudgetSharedPool  BudgetKind = "shared_pool"
)

// BudgetCheck is the budget that an item met when the window was filled. All numbers are
// tokens.
type BudgetCheck struct {
	Kind BudgetKind `json:"kind"`
	// Limit is the size of the budget.
	Limit int `json:"limit"`
	// Available is what was left of it, Needed what the item took or would have
	// taken: its own tokens, or those of its source under BudgetWholeSource.
	Available int `json:"available"`
	Needed    int `json:"needed"`
	// Lacked is how much more would have been needed.
	Lacked int `json:"lacked,omitempty"`
	// DisplacedBy names the items that used the room: of those that were admitted
	// from the same budget, the last ones before this item, and as many as are
	// together as large as what it lacked. At most [MaxDisplacers] are named. There
	// are none for an item that is larger than the whole budget.
	DisplacedBy []string `json:"displaced_by,omitempty"`
}

// MaxDisplacers bounds BudgetCheck.DisplacedBy.
const MaxDisplacers = 16

// Event is what one stage did to one item.
type Event struct {
	Origin
	Actions Actions `json:"did"`
	// Place is the place in the list of items, from 1; From is 0 for an item that was
	// added, To for one that was dropped or left out. In the stage "fill", To is the
	// place in the window.
	Place *Change[int] `json:"place,omitempty"`
	// The values that changed. An added item has a score from 0 to what it came with.
	Score    *Change[float64]     `json:"score,omitempty"`
	Priority *Change[int]         `json:"priority,omitempty"`
	Tokens   *Change[int]         `json:"tokens,omitempty"`
	Bytes    *Change[int]         `json:"bytes,omitempty"` // of the text
	Source   *Change[core.Source] `json:"source,omitempty"`
	// Budget is set in the stage "fill".
	Budget *BudgetCheck `json:"budget,omitempty"`
}

// ItemTrace is everything that happened to one item in a build, in order. Values are
// those it ended with.
type ItemTrace struct {
	ID       string      `json:"id"`
	Source   core.Source `json:"source"`
	Priority int         `json:"priority"`
	Score    float64     `json:"score"`
	Tokens   int         `json:"tokens"`
	// Excerpt is the beginning of the text, at most [ExcerptLength] characters.
	Excerpt string  `json:"excerpt"`
	Outcome Outcome `json:"fate"`
	// Events begin with Added and end with what decided the outcome.
	Events []Event `json:"events"`
}

// ExcerptLength is the length of ItemTrace.Excerpt in characters.
const ExcerptLength = 80

// AddedBy returns what brought the item.
func (t *ItemTrace) AddedBy() Origin { return t.Events[0].Origin }

// Last returns the event that decided the outcome.
func (t *ItemTrace) Last() *Event { return &t.Events[len(t.Events)-1] }

// Trace has the traces of all items of a build, in the order in which the items came. They
// are made of what the build recorded when they are first asked for, so that a build that
// nobody asks about does not pay for it. A Trace is safe for concurrent use and must not
// be changed.
type Trace struct {
	once  sync.Once
	load  func() []ItemTrace
	items []ItemTrace
}

// NewTrace returns a trace of the items that load returns. It is called once, when the
// items are first asked for.
func NewTrace(load func() []ItemTrace) *Trace { return &Trace{load: load} }

// All returns the traces of the items. The list is shared. A nil Trace has none.
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

// MarshalJSON writes the list of traces.
func (t *Trace) MarshalJSON() ([]byte, error) {
	all := t.All()
	if all == nil {
		all = []ItemTrace{}
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads a list of traces. Unknown keys and traces without an event are
// errors.
func (t *Trace) UnmarshalJSON(data []byte) error {
	var items []ItemTrace
	if err := decode.Value("stories", data, &items); err != nil {
		return err
	}
	for i := range items {
		if len(items[i].Events) == 0 {
			return fmt.Errorf("stories[%d]: item %q: no events: %w", i, items[i].ID, core.ErrInvalid)
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
