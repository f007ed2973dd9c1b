package pipeline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Fate is where the story of an item ends.
type Fate string

// The fates.
const (
	// FateInWindow: the item is in the window.
	FateInWindow Fate = "in_window"
	// FateLeftOut: the item reached the window stage and did not get in.
	FateLeftOut Fate = "left_out"
	// FateDropped: a step took the item away.
	FateDropped Fate = "dropped"
	// FateUndecided: the build failed before the window was filled.
	FateUndecided Fate = "undecided"
)

// Did is what happened to an item in one stage: one bit or several.
type Did uint16

// What may happen. Moved means that the rank of the item among those that stay
// changed, not that others before it came or went.
const (
	DidAdd Did = 1 << iota
	DidMove
	DidRescore
	DidRewrite
	DidPrioritise
	DidRecount  // its token count was set
	DidResource // its source was changed
	DidAnnotate // its metadata was replaced by other metadata
	DidRedate   // its time or sequence number was changed
	DidDrop
	DidAdmit
	DidLeaveOut
	DidCut // only the beginning of its text is in the window
)

// didNames are the names of the bits, lowest first.
var didNames = [...]string{
	"added", "moved", "rescored", "rewritten", "prioritised", "recounted", "resourced", "annotated", "redated",
	"dropped", "admitted", "left_out", "cut",
}

// Has reports whether all of what has happened.
func (d Did) Has(what Did) bool { return d&what == what }

// Names lists what happened, in a fixed order.
func (d Did) Names() []string {
	names := []string{}
	for i, name := range didNames {
		if d&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// String joins the names by commas.
func (d Did) String() string { return strings.Join(d.Names(), ", ") }

// MarshalJSON writes the list of names.
func (d Did) MarshalJSON() ([]byte, error) { return json.Marshal(d.Names()) }

// UnmarshalJSON reads a list of names.
func (d *Did) UnmarshalJSON(data []byte) error {
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return fmt.Errorf("did: %w", err)
	}
	var out Did
next:
	for _, name := range names {
		for i, known := range didNames {
			if name == known {
				out |= 1 << i
				continue next
			}
		}
		return fmt.Errorf("did: %q: %w (want some of %s)", name, ErrInvalid, strings.Join(didNames[:], ", "))
	}
	*d = out
	return nil
}

// Change is a value before and after.
type Change[T any] struct {
	From T `json:"from"`
	To   T `json:"to"`
}

// StoryStage says what part of a build did something: "system", "memory", "step" or
// "fill".
type StoryStage struct {
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

// A ModuleTeller is a [Step], or the [Retriever], [Filter] and so on behind one, that
// knows which plugin it runs. Stories name it.
type ModuleTeller interface{ Module() ModuleInfo }

// moduleOf returns the plugin of a step, or those of its parts.
func moduleOf(v any) ModuleInfo {
	if t, ok := v.(ModuleTeller); ok {
		return t.Module()
	}
	a, ok := v.(adapter)
	if !ok {
		return ModuleInfo{}
	}
	var told []ModuleInfo
	for _, part := range a.parts() {
		if m := moduleOf(part); m != (ModuleInfo{}) && !slices.Contains(told, m) {
			told = append(told, m)
		}
	}
	slices.SortFunc(told, func(a, b ModuleInfo) int {
		return cmp.Or(cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Module, b.Module))
	})
	var plugins, modules []string
	for _, m := range told {
		plugins, modules = append(plugins, m.Plugin), append(modules, m.Module)
	}
	return ModuleInfo{strings.Join(plugins, "+"), strings.Join(modules, "+")}
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

// BudgetMet is the budget that an item met when the window was filled. All numbers are
// tokens.
type BudgetMet struct {
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

// MaxDisplacers bounds BudgetMet.DisplacedBy.
const MaxDisplacers = 16

// StoryEvent is what one stage did to one item.
type StoryEvent struct {
	StoryStage
	Did Did `json:"did"`
	// Place is the place in the list of items, from 1; From is 0 for an item that was
	// added, To for one that was dropped or left out. In the stage "fill", To is the
	// place in the window.
	Place *Change[int] `json:"place,omitempty"`
	// The values that changed. An added item has a score from 0 to what it came with.
	Score    *Change[float64] `json:"score,omitempty"`
	Priority *Change[int]     `json:"priority,omitempty"`
	Tokens   *Change[int]     `json:"tokens,omitempty"`
	Bytes    *Change[int]     `json:"bytes,omitempty"` // of the text
	Source   *Change[Source]  `json:"source,omitempty"`
	// Budget is set in the stage "fill".
	Budget *BudgetMet `json:"budget,omitempty"`
}

// ItemStory is everything that happened to one item in a build, in order. Values are
// those it ended with.
type ItemStory struct {
	ID       string  `json:"id"`
	Source   Source  `json:"source"`
	Priority int     `json:"priority"`
	Score    float64 `json:"score"`
	Tokens   int     `json:"tokens"`
	// Excerpt is the beginning of the text, at most [ExcerptLength] characters.
	Excerpt string `json:"excerpt"`
	Fate    Fate   `json:"fate"`
	// Events begin with DidAdd and end with what decided the fate.
	Events []StoryEvent `json:"events"`
}

// ExcerptLength is the length of ItemStory.Excerpt in characters.
const ExcerptLength = 80

// AddedBy returns the stage that brought the item.
func (s *ItemStory) AddedBy() StoryStage { return s.Events[0].StoryStage }

// Last returns the event that decided the fate.
func (s *ItemStory) Last() *StoryEvent { return &s.Events[len(s.Events)-1] }

// Stories are the stories of all items of a build, in the order in which the items
// came. They are put into words when they are first asked for, so that a build that
// nobody asks about does not pay for it. Stories are safe for concurrent use and must
// not be changed.
type Stories struct {
	once sync.Once
	log  *storyLog
	told []ItemStory
}

// All returns the stories. The list is shared.
func (s *Stories) All() []ItemStory {
	if s == nil {
		return nil
	}
	s.once.Do(func() {
		if s.log != nil {
			s.told, s.log = s.log.tell(), nil
		}
	})
	return s.told
}

// MarshalJSON writes the list of stories.
func (s *Stories) MarshalJSON() ([]byte, error) {
	all := s.All()
	if all == nil {
		all = []ItemStory{}
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads a list of stories. Unknown keys and stories without an event are
// errors.
func (s *Stories) UnmarshalJSON(data []byte) error {
	var told []ItemStory
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&told); err != nil {
		return fmt.Errorf("stories: %w", err)
	}
	for i := range told {
		if len(told[i].Events) == 0 {
			return fmt.Errorf("stories[%d]: item %q: no events: %w", i, told[i].ID, ErrInvalid)
		}
	}
	s.once.Do(func() {})
	s.told, s.log = told, nil
	return nil
}
