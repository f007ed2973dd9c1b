package conversation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

// fails answers with an error when it is released.
type fails struct{ begun, release chan struct{} }

func (c fails) Compact(ctx context.Context, _ []pipeline.Turn, _ string) (string, error) {
	c.begun <- struct{}{}
	select {
	case <-c.release:
	case <-ctx.Done():
	}
	return "", errors.New("no answer")
}

// erasing deletes the conversation of a log when its turns have been read.
type erasing struct {
	store.Store
	log *Log
}

func (s erasing) Read(ctx context.Context, key store.Key, after int64, limit int) ([]store.Record, error) {
	turns, err := s.Store.Read(ctx, key, after, limit)
	if err == nil {
		_, err = s.log.Delete(ctx)
	}
	return turns, err
}

// A window that had a conversation when it was deleted stores none of it again, whatever leaves the window
// then: neither in a summary nor in a list, and not even that it was there.
func TestErasedConversationStaysErased(t *testing.T) {
	for name, work := range map[string]func(t *testing.T, w *talk, c fails){
		"the compactor fails": func(t *testing.T, w *talk, c fails) { close(c.release); w.flush(t) },
		"turns are added": func(t *testing.T, w *talk, c fails) {
			for n := w.past.settled.Count; w.past.settled.Count == n; { // until some leave for good
				mustAddTurn(t, w.SlidingWindow, pipeline.RoleUser, "now")
			}
			w.adding.Lock()
			w.drop()
			w.adding.Unlock()
		},
	} {
		c, s := fails{make(chan struct{}, 100), make(chan struct{})}, store.NewMemory()
		log := NewLog(s, "ann", "c")
		w := newTalk(t, SlidingWindowConfig{MaxTokens: 8, HighWater: 3, LowWater: 1, Compactor: c, Log: log})
		for i := range 60 {
			mustAddTurn(t, w.SlidingWindow, pipeline.RoleUser, fmt.Sprint("secret", i))
		}
		<-c.begun
		if _, err := log.Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
		work(t, w, c)
		isErased(t, name, s)
	}
	s := store.NewMemory()
	log := NewLog(s, "ann", "c")
	w := newTalk(t, SlidingWindowConfig{MaxTokens: 8, LowWater: 4, Log: log})
	for i := range 60 {
		mustAddTurn(t, w.SlidingWindow, pipeline.RoleUser, fmt.Sprint("secret", i))
	}
	w = newTalk(t, SlidingWindowConfig{MaxTokens: 3, LowWater: 2, Log: NewLog(s, "ann", "c")})
	if err := NewLog(erasing{s, log}, "ann", "c").Load(t.Context(), w.SlidingWindow); err != nil || len(w.Turns()) == 0 {
		t.Fatal(err, w.Turns())
	}
	isErased(t, "the conversation is loaded", s)
}

func isErased(t *testing.T, name string, s store.Store) {
	t.Helper()
	r, err := s.Get(t.Context(), store.Key{Tenant: "ann", Kind: KindDigest, Stream: "c"}, digestID)
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("%s: a digest is stored: %s, %v", name, r.Data, err)
	}
	turns, err := s.Read(t.Context(), store.Key{Tenant: "ann", Kind: KindTurn, Stream: "c"}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range turns {
		if strings.Contains(string(turns[i].Data), "secret") {
			t.Errorf("%s: turn %s", name, turns[i].Data)
		}
	}
}
