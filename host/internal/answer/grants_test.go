package answer

import (
	"errors"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/spec"
)

// reasonOf is the reason of a refusal, "" for none.
func reasonOf(t *testing.T, err error) abi.Reason {
	t.Helper()
	var f *guest.Fault
	if err != nil && !errors.As(err, &f) {
		t.Fatalf("error %v (%T), want a fault of the guest", err, err)
	}
	if f == nil {
		return ""
	}
	return f.Reason
}

// items is an operation that may add items and edit them, up to a priority that its manifest wishes.
func items(wish int) *spec.Operation {
	return &spec.Operation{Writes: abi.ChangeSet(0).With(abi.ChangeItems).With(abi.ChangeText).With(abi.ChangePriority), MaxPriority: wish}
}

func TestSourcesOfGrants(t *testing.T) {
	for _, c := range []struct {
		op   abi.Operation
		t    Terms
		want []string
	}{
		{abi.OpRetrieve, Terms{}, []string{"retrieval"}}, {abi.OpMemory, Terms{}, []string{"memory", "conversation"}},
		{abi.OpMemory, Terms{Source: "tool"}, []string{"tool"}}, {abi.OpProcess, Terms{Source: "user"}, []string{"user"}},
	} {
		g := NewGrant(c.op, items(0), c.t)
		list := []abi.NewItem{{Content: "x"}}
		if err := g.settleItems(list); err != nil || list[0].Source != c.want[0] || !slices.Equal(g.Sources, c.want) {
			t.Errorf("%s of %q: sources %v, an item without one gets %q, error %v; want %v", c.op, c.t.Source, g.Sources, list[0].Source, err, c.want)
		}
	}
}

// The highest priority is that of the terms, or of the source without one, and no higher than the
// manifest wishes. An item that states none gets the default of its source, if it may.
func TestPrioritiesOfNewItems(t *testing.T) {
	for _, c := range []struct {
		ceiling, wish int
		states, want  int // want 0: it is refused
	}{
		{0, 0, 0, 5}, {0, 0, 1, 1}, {0, 0, 5, 5}, {0, 0, 6, 0}, {9, 0, 9, 9}, {9, 0, 10, 0}, {9, 0, 0, 5},
		{3, 0, 0, 3}, {3, 0, 3, 3}, {3, 0, 4, 0}, {9, 7, 7, 7}, {9, 7, 8, 0}, {4, 7, 5, 0}, {0, 1, 0, 1}, {0, 1, 2, 0},
	} {
		g := NewGrant(abi.OpRetrieve, items(c.wish), Terms{MaxPriority: c.ceiling})
		list := []abi.NewItem{{Content: "first"}, {Content: "x", Priority: c.states}}
		err := g.settleItems(list)
		if c.want == 0 {
			if reasonOf(t, err) != abi.ReasonDenied {
				t.Errorf("terms %d, wish %d: priority %d is not refused: %v", c.ceiling, c.wish, c.states, err)
			}
			continue
		}
		if err != nil || list[1].Priority != c.want {
			t.Errorf("terms %d, wish %d: priority %d becomes %d, error %v, want %d", c.ceiling, c.wish, c.states, list[1].Priority, err, c.want)
		}
	}
}

// An edit may state what a new item of the source may, and what the row has already.
func TestPrioritiesOfEdits(t *testing.T) {
	g := NewGrant(abi.OpProcess, items(0), Terms{})
	rows := abi.ItemRows{{Source: "retrieval", Priority: 5}, {Source: "retrieval", Priority: 8}, {Source: "memory", Priority: 1}}
	for _, c := range []struct {
		row      uint32
		priority int
		granted  bool
	}{{0, 5, true}, {0, 6, false}, {1, 8, true}, {1, 9, false}, {2, 8, true}, {2, 9, false}} {
		edits := []abi.Edit{{Row: 0}, {Row: c.row, Priority: &c.priority}}
		err := g.checkEdits(edits, rows)
		if got := reasonOf(t, err); got == "" != c.granted || !c.granted && got != abi.ReasonDenied {
			t.Errorf("row %d, priority %d: %v, want granted %v", c.row, c.priority, err, c.granted)
		}
	}
	if err := g.settleItems([]abi.NewItem{{Content: "x", Priority: 9}}); reasonOf(t, err) != abi.ReasonDenied {
		t.Errorf("a new item of a priority that is not granted: %v", err)
	}
}

func TestChecksOfChanges(t *testing.T) {
	item := abi.NewItem{Content: "x", Score: 0.5}
	for name, c := range map[string]struct {
		changes abi.Changes
		writes  abi.ChangeSet
		want    abi.Reason
	}{
		"as many items":     {abi.Changes{Items: []abi.NewItem{item, item}}, items(0).Writes, ""},
		"one item more":     {abi.Changes{Items: []abi.NewItem{item, item, item}}, items(0).Writes, abi.ReasonOutputTooLarge},
		"items not granted": {abi.Changes{Items: []abi.NewItem{item, item, item}}, abi.ChangeSet(0).With(abi.ChangeText), abi.ReasonDenied},
		"no row":            {abi.Changes{Edits: []abi.Edit{{Row: 7}}}, items(0).Writes, abi.ReasonInvalidOutput},
		"nothing":           {abi.Changes{}, 0, ""},
	} {
		g := NewGrant(abi.OpRetrieve, &spec.Operation{Writes: c.writes}, Terms{Items: 2})
		if err := g.Check(&c.changes, abi.ItemRows{{}}); reasonOf(t, err) != c.want {
			t.Errorf("%s: error %v, want the reason %q", name, err, c.want)
		}
	}
}

// Tokens that changes add are those beyond what the rows had; shorter texts give none back.
func TestAddedTokens(t *testing.T) {
	same, longer, shorter := "as it was", "more words than before", "less"
	rows := abi.ItemRows{{Content: same, TokenCount: 3}, {Content: "x", TokenCount: 1}, {Content: "long text", TokenCount: 9}}
	changes := &abi.Changes{
		Edits: []abi.Edit{{Row: 0, Content: &same}, {Row: 1, Content: &longer}, {Row: 2, Content: &shorter}, {Row: 2}},
		Items: []abi.NewItem{{Content: "new"}, {Content: "newer"}},
	}
	texts := NewTexts(changes, rows)
	if want := []string{longer, shorter, "new", "newer"}; !slices.Equal(texts.Texts, want) {
		t.Fatalf("texts %q, want %q: the others are not new", texts.Texts, want)
	}
	for allowed, want := range map[int]abi.Reason{10: "", 9: abi.ReasonOutputTooLarge} {
		g := NewGrant(abi.OpProcess, items(0), Terms{Tokens: allowed})
		tokens := make([]int, 6)
		err := g.Counted(texts, []int{4, 1, 2, 5}, tokens) // 3, 2 and 5 more
		if reasonOf(t, err) != want || !slices.Equal(tokens, []int{0, 4, 1, 0, 2, 5}) {
			t.Errorf("%d tokens allowed: %v, counts %v, want the reason %q", allowed, err, tokens, want)
		}
	}
}
