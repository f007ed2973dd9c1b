package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

// errKilled is what a program that is killed sees: nothing any more.
var errKilled = errors.New("killed")

// mortal is a store at which the program dies at one write: before it, or after it was done.
type mortal struct {
	store.Store
	writes int // until the program dies; negative: never
	after  bool
	dead   bool
}

func (m *mortal) write(do func() error) error {
	if m.dead {
		return errKilled
	}
	if m.writes--; m.writes != -1 {
		return do()
	}
	m.dead = true
	if m.after {
		_ = do()
	}
	return errKilled
}

func (m *mortal) Apply(ctx context.Context, changes ...store.Change) error {
	return m.write(func() error { return m.Store.Apply(ctx, changes...) })
}

func (m *mortal) Put(ctx context.Context, k store.Key, rec store.Record) error {
	return m.write(func() error { return m.Store.Put(ctx, k, rec) })
}

func (m *mortal) Get(ctx context.Context, k store.Key, id string) (store.Record, error) {
	if m.dead {
		return store.Record{}, errKilled
	}
	return m.Store.Get(ctx, k, id)
}

// rollout does a whole rollout with two hosts, one process of which may die at any write.
func rollout(w *world, good bool) {
	ctx := w.t.Context()
	if d, err := Read(ctx, w.s); err == nil && d == nil {
		_, _ = Begin(ctx, w.s, Start{Config: []byte("one")})
	}
	w.poll(2)
	if d, err := Read(ctx, w.s); err == nil && d != nil && d.Candidate == nil && d.Rollout == 1 {
		_, _ = Begin(ctx, w.s, Start{Config: []byte("two"), Lock: []byte("l"), Every: 4 * time.Second, Bounds: Bounds{Least: 30}})
	}
	_ = EditKeys(ctx, w.s, func(old []byte) ([]byte, error) { return []byte("keys"), nil })
	for range 16 {
		w.builds(40, !good)
		w.poll(1)
	}
}

// Wherever everything is killed, at each write and before or after it was done, the state is one that hosts
// follow after they were started again: all serve the same, with the documents of it, and the rollout comes to its
// end.
func TestCrashPoints(t *testing.T) {
	for _, good := range []bool{true, false} {
		points := 0
		for n := 0; ; n++ {
			finished := false
			for _, after := range []bool{false, true} {
				m := &mortal{Store: store.NewMemory(), writes: n, after: after}
				w := newWorld(t, m, 2)
				rollout(w, good)
				if finished = !m.dead; finished {
					break
				}
				points++
				m.writes, m.dead = -1, false
				w.now = w.now.Add(time.Hour)
				w.start()
				w.poll(2)
				compare(t, w, fmt.Sprintf("write %d, after: %v", n, after))
				rollout(w, good)
				w.poll(4)
				if good {
					w.agree("two", "", 0)
				} else {
					w.agree("one", "", 0)
				}
				if t.Failed() {
					t.Fatalf("killed at write %d, after: %v", n, after)
				}
			}
			if finished {
				break
			}
		}
		if points < 50 {
			t.Errorf("only %d points", points)
		}
		t.Logf("killed at %d points", points)
	}
}

// compare fails unless all hosts serve the same, which is what the store says.
func compare(t *testing.T, w *world, at string) {
	d := w.desired()
	if d == nil {
		return
	}
	for i, f := range w.hosts {
		if f.member.Stable != d.Stable || w.boxes[i].stable == "" || (f.member.Candidate == nil) != (w.desired().Candidate == nil) {
			t.Errorf("%s: host %d serves %+v, the store says %+v", at, i, f.member, d)
		}
	}
}

// A host that starts while the store is away begins with what it has read last, with its keys; one that has
// read nothing yet does not start, as it cannot know which keys are revoked.
func TestStartWithoutStore(t *testing.T) {
	m := &mortal{Store: store.NewMemory(), writes: -1}
	w := newWorld(t, m, 2)
	w.begin("one", Bounds{})
	if err := EditKeys(t.Context(), m, func([]byte) ([]byte, error) { return []byte("k"), nil }); err != nil {
		t.Fatal(err)
	}
	w.poll(1)
	m.dead = true
	if _, _, err := NewFollower(FollowerOptions{ID: "new", Dir: t.TempDir(), Store: m}).Begin(t.Context()); err == nil || !strings.Contains(err.Error(), "this host has read nothing from it before") {
		t.Errorf("a host that has read nothing: %v", err)
	}
	w.start()
	for i := range w.boxes {
		if w.boxes[i].stable != "one" || w.boxes[i].keys != "k" {
			t.Errorf("host %d begins with %+v", i, w.boxes[i])
		}
	}
	w.poll(3)
	m.dead = false
	w.begin("two", Bounds{})
	w.poll(2)
	w.agree("one", "two", 1)
}
