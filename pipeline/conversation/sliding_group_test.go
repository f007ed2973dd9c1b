package conversation

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
)

// turnsLog takes several turns at once. Its first append lasts until it may end, so
// that others come together meanwhile.
type turnsLog struct {
	turnLog
	begun, end chan struct{}
	ctx        context.Context // of the last append of several
	batches    []int
	failBatch  error
}

func newTurnsLog() *turnsLog {
	return &turnsLog{begun: make(chan struct{}), end: make(chan struct{})}
}

func (l *turnsLog) AppendTurn(ctx context.Context, t pipeline.Turn) (int64, error) {
	l.batches = append(l.batches, 1)
	if len(l.batches) == 1 {
		close(l.begun)
		<-l.end
	}
	if t.Content == "bad" {
		return 0, pipeline.ErrInvalid
	}
	return l.turnLog.AppendTurn(ctx, t)
}

func (l *turnsLog) AppendTurns(ctx context.Context, turns []pipeline.Turn) (first int64, err error) {
	l.batches, l.ctx = append(l.batches, len(turns)), ctx
	if l.failBatch != nil {
		return 0, l.failBatch
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if slices.ContainsFunc(turns, func(t pipeline.Turn) bool { return t.Content == "bad" }) {
		return 0, pipeline.ErrInvalid
	}
	for i, t := range turns {
		n, err := l.turnLog.AppendTurn(ctx, t)
		if err != nil {
			return 0, err
		}
		if i == 0 {
			first = n
		}
	}
	return first, nil
}

// addTogether adds the first turn, and the others in this order while it is being
// appended, and returns the error of each.
func addTogether(t *testing.T, s *SlidingWindow, log *turnsLog, ctxs map[string]context.Context, texts ...string) []error {
	t.Helper()
	errs := make([]error, len(texts))
	var wg sync.WaitGroup
	add := func(i int) {
		ctx := ctxs[texts[i]]
		if ctx == nil {
			ctx = t.Context()
		}
		errs[i] = s.Add(ctx, pipeline.RoleUser, texts[i])
	}
	wg.Go(func() { add(0) })
	<-log.begun
	for i := 1; i < len(texts); i++ {
		wg.Go(func() { add(i) })
		for waits := 0; waits < i; runtime.Gosched() {
			s.waiting.Lock()
			if s.pending != nil {
				waits = len(s.pending.additions)
			}
			s.waiting.Unlock()
		}
	}
	close(log.end)
	wg.Wait()
	return errs
}

func TestTurnsAddedTogetherShareAnAppend(t *testing.T) {
	for name, c := range map[string]struct {
		max     int
		policy  EvictionPolicy
		batches []int
		window  []string
	}{
		"room":         {100, nil, []int{1, 4}, []string{"a", "b", "c", "d", "e"}},
		"some leave":   {4, nil, []int{1, 4}, []string{"b", "c", "d", "e"}},
		"theirs leave": {2, nil, []int{1, 2, 2}, []string{"d", "e"}},
		"one at most":  {1, nil, []int{1, 1, 1, 1, 1}, []string{"e"}},
		"pairs":        {2, EvictPairs, []int{1, 2, 2}, []string{"d", "e"}},
	} {
		t.Run(name, func(t *testing.T) {
			log := newTurnsLog()
			log.skip = 7
			var mu sync.Mutex
			var told []string
			s := newConversation(t, SlidingWindowConfig{MaxTokens: c.max, Log: log, Eviction: c.policy, OnEvict: func(_ context.Context, turns []pipeline.Turn) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, turnTexts(turns)...)
			}})
			for i, err := range addTogether(t, s, log, nil, "a", "b", "c", "d", "e") {
				if err != nil {
					t.Errorf("turn %d: %v", i, err)
				}
			}
			if got := turnTexts(s.Turns()); !slices.Equal(got, c.window) || !slices.Equal(log.batches, c.batches) || s.TotalTokens() != len(got) {
				t.Errorf("window %v of %d tokens, batches %v, want %v and %v", got, s.TotalTokens(), log.batches, c.window, c.batches)
			}
			if got := turnTexts(log.turns); !slices.Equal(got, []string{"a", "b", "c", "d", "e"}) {
				t.Errorf("the log has %v", got)
			}
			for i, turn := range s.Turns() {
				if want := int64(5 - len(c.window) + i + 8); turn.Sequence != want {
					t.Errorf("turn %q has number %d, want %d", turn.Content, turn.Sequence, want)
				}
			}
			slices.Sort(told)
			if want := []string{"a", "b", "c", "d", "e"}[:5-len(c.window)]; !slices.Equal(told, want) {
				t.Errorf("told of %v, want %v", told, want)
			}
		})
	}
}

func TestGroupSavesOneDigest(t *testing.T) {
	log := newTurnsLog()
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 3, Log: log, Compactor: ProgressiveCompactFunc(
		func(_ context.Context, turns []pipeline.Turn, previous string) (string, error) {
			return previous + joinTurns(turns), nil
		})})
	s.cfg.Log = &log.turnLog
	for _, text := range []string{"a", "b", "c"} {
		mustAddTurn(t, s, pipeline.RoleUser, text)
	}
	s.cfg.Log = log
	addTogether(t, s, log, nil, "d", "e", "f")
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(log.digests); n != 2 || s.Summary() != "ab; c" || log.digests[1].Text != "ab; c" || log.digests[1].Through != 3 || log.digests[1].Count != 2 {
		t.Errorf("summary %q, digests %+v", s.Summary(), log.digests)
	}
}

func TestOneBadTurnDoesNotFailItsGroup(t *testing.T) {
	log := newTurnsLog()
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 2, Log: log})
	errs := addTogether(t, s, log, nil, "a", "b", "bad", "c")
	for i, want := range []bool{false, false, true, false} {
		if errors.Is(errs[i], pipeline.ErrInvalid) != want || (errs[i] != nil) != want {
			t.Errorf("turn %d: %v", i, errs[i])
		}
	}
	if got := turnTexts(s.Turns()); !slices.Equal(got, []string{"b", "c"}) || len(log.turns) != 3 {
		t.Errorf("window %v, log %v", got, turnTexts(log.turns))
	}
}

func TestFailedGroupLeavesTheConversation(t *testing.T) {
	log := newTurnsLog()
	log.failBatch = errors.New("disk full")
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 2, Log: log})
	errs := addTogether(t, s, log, nil, "a", "b", "c")
	if errs[0] != nil || !errors.Is(errs[1], log.failBatch) || !errors.Is(errs[2], log.failBatch) {
		t.Errorf("errors %v", errs)
	}
	if got := turnTexts(s.Turns()); !slices.Equal(got, []string{"a"}) || s.TotalTokens() != 1 {
		t.Errorf("window %v", got)
	}
	mustAddTurn(t, s, pipeline.RoleUser, "d")
	if got := s.Turns(); len(got) != 2 || got[1].Sequence != 2 {
		t.Errorf("afterwards %+v", got)
	}
}

func TestEndedContextLeavesTheGroup(t *testing.T) {
	log := newTurnsLog()
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 9, Log: log})
	ctx, cancel := context.WithCancel(t.Context())
	s.cfg.Tokenizer = cancelAfter{s.cfg.Tokenizer, "b", cancel}
	errs := addTogether(t, s, log, map[string]context.Context{"b": ctx}, "a", "b", "c", "d")
	if !errors.Is(errs[1], context.Canceled) || errs[2] != nil || errs[3] != nil {
		t.Errorf("errors %v", errs)
	}
	if got := turnTexts(s.Turns()); !slices.Equal(got, []string{"a", "c", "d"}) || log.ctx.Err() == nil {
		t.Errorf("window %v", got)
	}
}

// cancelAfter ends a context when a text has been counted.
type cancelAfter struct {
	pipeline.Tokenizer
	text   string
	cancel func()
}

func (c cancelAfter) Count(_ context.Context, texts ...string) ([]int, error) {
	counts := make([]int, len(texts))
	for i, text := range texts {
		counts[i] = len(strings.Fields(text))
		if text == c.text {
			defer c.cancel()
		}
	}
	return counts, nil
}

func TestManyAddToOneLoggedConversation(t *testing.T) {
	log := newTurnsLog()
	close(log.end)
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 50, Log: log, Eviction: EvictPairs})
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := range 50 {
				if err := s.Add(t.Context(), pipeline.RoleUser, fmt.Sprintf("%d-%d", w, i)); err != nil {
					t.Error(err)
				}
				if _, err := s.Items(t.Context(), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	turns := s.Turns()
	if len(log.turns) != 800 || len(turns) == 0 {
		t.Fatalf("the log has %d turns, the window %d", len(log.turns), len(turns))
	}
	last := make(map[string]int)
	for i, turn := range log.turns {
		var w, n int
		if _, err := fmt.Sscanf(turn.Content, "%d-%d", &w, &n); err != nil || n != last[fmt.Sprint(w)] {
			t.Fatalf("turn %d is %q, want number %d of its writer", i+1, turn.Content, last[fmt.Sprint(w)])
		}
		last[fmt.Sprint(w)]++
	}
	for i, turn := range turns {
		if want := log.turns[800-len(turns)+i]; turn.Content != want.Content || turn.Sequence != want.Sequence {
			t.Errorf("turn %d of the window is %d %q, want %d %q", i, turn.Sequence, turn.Content, want.Sequence, want.Content)
		}
	}
}
