package conversation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

// Turns keep their order when the clock jumps back and forth: in the window, after it was loaded again,
// and as items, whose times then rise all the same.
func TestTurnsWhenTheClockJumps(t *testing.T) {
	for name, cfg := range windowKinds() {
		t.Run(name, func(t *testing.T) {
			now := epoch
			cfg.Now = func() time.Time { return now }
			log := NewLog(store.NewMemory(), "ann", "c")
			live := loaded(t, cfg, log)
			rng := rand.New(rand.NewPCG(1, 1))
			for i := range 60 {
				now = epoch.Add(time.Duration(i)*time.Second + []time.Duration{0, time.Hour, -time.Hour}[rng.IntN(3)])
				if err := live.AddTurn(t.Context(), randomTurn(rng, i)); err != nil {
					t.Fatalf("turn %d: %v", i, err)
				}
				sameWindow(t, i, loaded(t, cfg, log), live)
				turns := live.Turns()
				if !slices.IsSortedFunc(turns, func(a, b pipeline.Turn) int { return numberIn(t, a) - numberIn(t, b) }) {
					t.Errorf("turn %d: the window has %+v, want the turns in the order in which they came", i, turns)
				}
				items, err := live.Items(t.Context(), nil)
				if err != nil || !slices.IsSortedFunc(items, func(a, b pipeline.Item) int { return a.CreatedAt.Compare(b.CreatedAt) }) {
					t.Errorf("turn %d: items %+v, %v, want times that rise", i, items, err)
				}
			}
		})
	}
}

// numberIn is the number of a turn of randomTurn.
func numberIn(t *testing.T, turn pipeline.Turn) (n int) {
	t.Helper()
	if _, err := fmt.Sscanf(turn.Content, "t%d", &n); err != nil {
		t.Fatalf("%q: %v", turn.Content, err)
	}
	return n
}

// A compactor that failed is asked again after its pause, though the clock was set back by an hour.
func TestCompactionWhenTheClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{-time.Hour, time.Hour} {
		calls, fails := 0, true
		c := newTalk(t, SlidingWindowConfig{MaxTokens: 10, Compactor: CompactFunc(func(context.Context, []pipeline.Turn) (string, error) {
			if calls++; fails {
				return "", errors.New("no answer")
			}
			return "sum", nil
		})})
		c.say(t, 8)
		c.say(t, 8)
		c.flush(t)
		if calls == 0 {
			t.Fatal("the compactor is not called")
		}
		failed := calls
		fails = false
		c.clock.Add(int64(jump / time.Second))
		c.say(t, 8)
		c.flush(t)
		if jump < 0 && calls != failed {
			t.Errorf("jump of %v: the compactor is called in its pause", jump)
		}
		c.clock.Add(int64(MinCompactPause / time.Second))
		c.say(t, 8)
		c.flush(t)
		if calls == failed || c.Summary() == "" {
			t.Errorf("jump of %v and the pause: %d calls more, summary %q; want that the compactor is called again", jump, calls-failed, c.Summary())
		}
	}
}
