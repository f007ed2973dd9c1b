package core

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
)

func ids(items []Item) []string {
	out := make([]string, len(items))
	for i := range items {
		out[i] = items[i].ID
	}
	return out
}

func TestWindow(t *testing.T) {
	w, err := NewWindow(10)
	if err != nil {
		t.Fatal(err)
	}
	add := func(tokens int, want bool) {
		t.Helper()
		if got := w.AddItem(Item{TokenCount: tokens}); got != want {
			t.Errorf("AddItem of %d tokens with %d remaining: %v", tokens, w.Remaining(), got)
		}
	}
	add(8, true)
	add(3, false)
	add(-1, false)
	add(math.MaxInt, false)
	add(2, true)
	add(0, true)
	if w.Remaining() != 0 || w.UsedTokens != 10 || w.Utilization() != 1 || len(w.Items) != 3 {
		t.Errorf("window %+v", w)
	}
	over := &Window{MaxTokens: 4, UsedTokens: 6}
	if over.Remaining() != 0 || over.Utilization() != 1 {
		t.Errorf("overfull window: %d remaining, utilization %v", over.Remaining(), over.Utilization())
	}
	if (&Window{}).Utilization() != 0 {
		t.Error("utilization of the zero window")
	}
}

func TestNewWindow(t *testing.T) {
	if _, err := NewWindow(-1); !errors.Is(err, ErrInvalid) {
		t.Errorf("NewWindow(-1): %v", err)
	}
	w, err := NewWindow(0)
	if err != nil || w.MaxTokens != DefaultMaxTokens {
		t.Errorf("NewWindow(0): %+v, %v", w, err)
	}
}

func TestAddItemsByPriority(t *testing.T) {
	w := &Window{MaxTokens: 10}
	overflow := w.AddItemsByPriority([]Item{
		{ID: "low", Priority: 1, TokenCount: 2}, {ID: "big", Priority: 8, TokenCount: 5},
		{ID: "high", Priority: 9, TokenCount: 8}, {ID: "none", Priority: 8, TokenCount: 6, Score: 1},
	})
	if got := ids(w.Items); !slices.Equal(got, []string{"high", "low"}) {
		t.Errorf("window %v", got)
	}
	if got := ids(overflow); !slices.Equal(got, []string{"none", "big"}) {
		t.Errorf("overflow %v", got)
	}
}

func TestWindowDocument(t *testing.T) {
	data, err := json.Marshal(&Window{MaxTokens: 3})
	if err != nil || string(data) != `{"items":[],"max_tokens":3,"used_tokens":0}` {
		t.Errorf("%s, %v", data, err)
	}
}
