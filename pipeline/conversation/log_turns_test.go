package conversation

import (
	"errors"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

func TestAppendTurnsStoresAllOrNone(t *testing.T) {
	log := NewLog(store.NewMemory(), "ann", "c")
	good := pipeline.Turn{Role: pipeline.RoleUser, Content: "hello"}
	bad := good
	bad.Metadata = map[string]any{"f": func() {}}
	if _, err := log.AppendTurns(t.Context(), []pipeline.Turn{good, bad}); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("a turn that JSON cannot hold: %v", err)
	}
	huge := good
	huge.Content = string(make([]byte, store.MaxData))
	if _, err := log.AppendTurns(t.Context(), []pipeline.Turn{good, huge}); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("a turn that is too large: %v", err)
	}
	for _, want := range []int64{1, 3} {
		if first, err := log.AppendTurns(t.Context(), []pipeline.Turn{good, good}); err != nil || first != want {
			t.Errorf("first %d, %v, want %d", first, err, want)
		}
	}
	if turns, err := log.Turns(t.Context(), 0, 0); err != nil || len(turns) != 4 {
		t.Errorf("the log has %d turns, %v", len(turns), err)
	}
}

// Turns that are added together after a conversation was imported without its old turns
// must not get numbers that count as condensed: they would be on disk and never be seen,
// and the callers would be told that adding them failed.
func TestAppendTurnsGoesOnAboveTheDigest(t *testing.T) {
	log := NewLog(store.NewMemory(), "ann", "c")
	if err := log.SaveDigest(t.Context(), Digest{Text: "long ago", Through: 100, Count: 1}); err != nil {
		t.Fatal(err)
	}
	turn := pipeline.Turn{Role: pipeline.RoleUser, Content: "hello"}
	if first, err := log.AppendTurns(t.Context(), []pipeline.Turn{turn, turn}); err != nil || first != 101 {
		t.Errorf("first %d, %v, want 101", first, err)
	}
}
