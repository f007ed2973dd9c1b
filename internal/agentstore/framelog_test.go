package agentstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/store"
)

// lastCounter counts how often a log reads its end.
type lastCounter struct {
	store.Store
	reads int
}

func (s *lastCounter) Last(ctx context.Context, key store.Key, n int) ([]store.Record, error) {
	s.reads++
	return s.Store.Last(ctx, key, n)
}

func TestFrameLogRemembersItsEnd(t *testing.T) {
	s := &lastCounter{Store: store.NewMemory()}
	l := agentstore.NewFrameLog(s, "default", "r")
	for id := range uint64(10) {
		if err := l.Append(t.Context(), []frames.Record{record(id)}); err != nil {
			t.Fatal(err)
		}
	}
	if s.reads != 1 {
		t.Errorf("the end was read %d times for 10 appends", s.reads)
	}
}

// What another process appends while a log remembers its end makes the next append
// fail, leaves nothing of it, and the log goes on from what is there.
func TestFrameLogFindsTheAppendsOfOthers(t *testing.T) {
	for name, others := range map[string][]uint64{"the next": {2}, "beyond": {4, 5}, "far beyond": {40, 42, 50}} {
		for kind, s := range stores(t) {
			t.Run(kind+"/"+name, func(t *testing.T) {
				ctx := t.Context()
				mine, other := agentstore.NewFrameLog(s, "default", name), agentstore.NewFrameLog(s, "default", name)
				if err := mine.Append(ctx, []frames.Record{record(0), record(1)}); err != nil {
					t.Fatal(err)
				}
				var recs []frames.Record
				for _, id := range others {
					recs = append(recs, record(id))
				}
				if err := other.Append(ctx, recs); err != nil {
					t.Fatal(err)
				}
				if err := mine.Append(ctx, []frames.Record{record(2), record(3)}); !errors.Is(err, frames.ErrOrder) {
					t.Errorf("append after others: %v", err)
				}
				next := others[len(others)-1] + 1
				if err := mine.Append(ctx, []frames.Record{record(next)}); err != nil {
					t.Error(err)
				}
				got, err := mine.Read(ctx, 0, 0)
				if want := append(append([]uint64{0, 1}, others...), next); err != nil || !slices.Equal(ids(got), want) {
					t.Errorf("the log has %v, want %v, %v", ids(got), want, err)
				}
			})
		}
	}
}
