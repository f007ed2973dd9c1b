package conversation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/internal/compact"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

// talk is a conversation that counts words, with a clock.
type talk struct {
	*SlidingWindow
	clock atomic.Int64 // seconds after epoch
}

func newTalk(t *testing.T, cfg SlidingWindowConfig) *talk {
	t.Helper()
	c := new(talk)
	if cfg.Logger == nil {
		cfg.Logger = quiet()
	}
	cfg.Tokenizer, cfg.Now = pipeline.WordTokenizer(), func() time.Time { return epoch.Add(time.Duration(c.clock.Load()) * time.Second) }
	var err error
	if c.SlidingWindow, err = NewSlidingWindow(cfg); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *talk) say(t *testing.T, words int) {
	t.Helper()
	mustAddTurn(t, c.SlidingWindow, pipeline.RoleUser, strings.Repeat("w ", words))
}

func (c *talk) flush(t *testing.T) {
	t.Helper()
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// counting condenses turns to one word and counts its calls.
func counting(calls *int) pipeline.Compactor {
	return CompactFunc(func(context.Context, []pipeline.Turn) (string, error) { *calls++; return "sum", nil })
}

// A full conversation must not call the compactor, which asks a model and ends what the model's
// cache knows, for each turn: N tokens cost at most N / (high mark - low mark) calls.
func TestCompactionsOf1000Turns(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  SlidingWindowConfig
		turn func(i int) int
		want int
	}{
		"defaults":                       {SlidingWindowConfig{}, func(int) int { return 20 }, 17},
		"marks":                          {SlidingWindowConfig{HighWater: 4000, LowWater: 1000}, func(int) int { return 20 }, 6},
		"one larger than the room":       {SlidingWindowConfig{HighWater: 1000, LowWater: 900}, func(i int) int { return map[bool]int{true: 300, false: 5}[i == 500] }, 32},
		"a tenth larger than the room":   {SlidingWindowConfig{HighWater: 1000, LowWater: 900}, func(i int) int { return map[bool]int{true: 300, false: 5}[i%10 == 0] }, 50},
		"each larger than the room":      {SlidingWindowConfig{HighWater: 1000, LowWater: 900}, func(int) int { return 150 }, 332},
		"some larger than the high mark": {SlidingWindowConfig{HighWater: 1000, LowWater: 500}, func(i int) int { return map[bool]int{true: 2000, false: 5}[i%100 == 0] }, 19},
	} {
		calls := 0
		c.cfg.MaxTokens, c.cfg.CompactInline, c.cfg.Compactor = 4096, true, counting(&calls)
		s := newTalk(t, c.cfg)
		for i := range 1000 {
			s.say(t, c.turn(i))
		}
		t.Logf("%s: %d calls", name, calls)
		if calls != c.want {
			t.Errorf("%s: %d calls for 1,000 turns, want %d", name, calls, c.want)
		}
	}
}

// Without a compactor, a low mark makes turns leave in steps, and a loaded conversation does not
// have them again.
func TestTurnsLeaveInSteps(t *testing.T) {
	log, steps := NewLog(store.NewMemory(), "ann", "c"), 0
	cfg := SlidingWindowConfig{MaxTokens: 100, LowWater: 50, Log: log, OnEvict: func(context.Context, []pipeline.Turn) { steps++ }}
	s := newTalk(t, cfg)
	for range 100 {
		s.say(t, 5)
	}
	if again := loaded(t, s.cfg, log); steps != 8 || again.TotalTokens() != s.TotalTokens() {
		t.Errorf("turns left %d times; %d tokens, loaded %d", steps, s.TotalTokens(), again.TotalTokens())
	}
}

func TestMarksAreChecked(t *testing.T) {
	none := counting(new(int))
	for _, c := range []struct {
		cfg       SlidingWindowConfig
		high, low int // 0 if refused
	}{
		{SlidingWindowConfig{MaxTokens: 4096, Compactor: none}, 3072, 2048},
		{SlidingWindowConfig{MaxTokens: 4096, Compactor: none, HighWater: 300}, 300, 200},
		{SlidingWindowConfig{MaxTokens: 1, Compactor: none}, 1, 1},
		{SlidingWindowConfig{MaxTokens: 100}, 100, 100},
		{SlidingWindowConfig{MaxTokens: 100, LowWater: 10}, 100, 10},
		{SlidingWindowConfig{MaxTokens: 100, HighWater: 101}, 0, 0},
		{SlidingWindowConfig{MaxTokens: 100, HighWater: 50, LowWater: 51}, 0, 0},
		{SlidingWindowConfig{MaxTokens: 100, LowWater: -1}, 0, 0},
		{SlidingWindowConfig{MaxTokens: 100, SummaryTokens: -1}, 0, 0},
	} {
		s, err := NewSlidingWindow(c.cfg)
		if errors.Is(err, pipeline.ErrInvalid) != (c.high == 0) || err == nil && (s.cfg.HighWater != c.high || s.cfg.LowWater != c.low) {
			t.Errorf("%+v: %+v, %v", c.cfg, s, err)
		}
	}
}

// slow condenses turns when it is released.
type slow struct {
	begun, release chan struct{}
	mu             sync.Mutex
	seen           []string
}

func newSlow() *slow { return &slow{begun: make(chan struct{}, 100), release: make(chan struct{})} }

func (c *slow) Compact(ctx context.Context, turns []pipeline.Turn, previous string) (string, error) {
	c.begun <- struct{}{}
	select {
	case <-c.release:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, turnTexts(turns)...)
	return strings.TrimPrefix(previous+" "+strings.Join(turnTexts(turns), " "), " "), nil
}

// Who adds or reads turns never waits for a compactor; all turns stay until it has answered.
func TestTurnsAreAddedWhileACompactorRuns(t *testing.T) {
	c := newSlow()
	log := &turnLog{}
	s := newTalk(t, SlidingWindowConfig{MaxTokens: 8, HighWater: 4, LowWater: 2, Compactor: c, Log: log})
	for i := range 8 {
		mustAddTurn(t, s.SlidingWindow, pipeline.RoleUser, fmt.Sprint(i))
		if i == 4 {
			<-c.begun
		}
	}
	if got := turnTexts(s.Turns()); !slices.Equal(got, []string{"0", "1", "2", "3", "4", "5", "6", "7"}) || s.Summary() != "" || len(log.turns) != 8 || len(log.digests) != 0 {
		t.Errorf("while it runs: turns %v, summary %q, log %v", got, s.Summary(), turnTexts(log.turns))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Flush(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("flush: %v", err)
	}
	close(c.release)
	s.flush(t)
	if got := turnTexts(s.Turns()); !slices.Equal(got, []string{"6", "7"}) || s.Summary() != "0 1 2 3 4 5" || s.TotalTokens() != 2 {
		t.Errorf("afterwards: turns %v, summary %q", got, s.Summary())
	}
	if d := log.digests[len(log.digests)-1]; d.Through != 6 || d.Text != s.Summary() {
		t.Errorf("digest %+v", d)
	}
}

// While a compactor runs, a conversation must not grow beyond its bounds, and what leaves must
// not be lost to readers or to the compactor.
func TestFullWindowWhileACompactorRuns(t *testing.T) {
	c := newSlow()
	s := newTalk(t, SlidingWindowConfig{MaxTokens: 4, HighWater: 3, LowWater: 2, Compactor: c})
	for i := range 7 {
		mustAddTurn(t, s.SlidingWindow, pipeline.RoleUser, fmt.Sprint(i))
	}
	<-c.begun
	if got := turnTexts(s.Turns()); !slices.Equal(got, []string{"3", "4", "5", "6"}) || s.Summary() != "user: 0\nuser: 1\nuser: 2" {
		t.Errorf("while it runs: turns %v, summary %q", got, s.Summary())
	}
	items, _ := s.Items(t.Context(), nil)
	if it := items[0]; it.Metadata["listed"] != true || it.Sequence != 3 {
		t.Errorf("summary %+v", it)
	}
	for i := 7; i < 50; i++ {
		mustAddTurn(t, s.SlidingWindow, pipeline.RoleUser, fmt.Sprint(i))
		if s.TotalTokens() > 4 || sumTokens(s.past.leaving) > 4+4 {
			t.Fatalf("%d tokens, and %d that left", s.TotalTokens(), sumTokens(s.past.leaving))
		}
	}
	close(c.release)
	s.flush(t)
	seen := slices.Clone(c.seen)
	if slices.Sort(c.seen); !slices.Contains(c.seen, "0") || !slices.Contains(c.seen, "46") || len(slices.Compact(c.seen)) != len(seen) {
		t.Errorf("condensed %v", seen)
	}
	summary := s.Summary() + " " + strings.Join(turnTexts(s.Turns()), " ") + " "
	for i := range 50 {
		if !strings.Contains(strings.ReplaceAll(summary, "\n", " "), fmt.Sprint(" ", i, " ")) && i > 0 {
			t.Errorf("turn %d is lost: %q", i, summary)
		}
	}
}

// A compactor that hangs holds up neither its conversation nor others, and Close ends in time.
func TestHangingCompactorBlocksNobody(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	hangs := CompactFunc(func(_ context.Context, turns []pipeline.Turn) (string, error) {
		if turns[0].Content == "hang" {
			<-hang
		}
		return "sum", nil
	})
	all := new(Compactions)
	cfg := SlidingWindowConfig{MaxTokens: 4, HighWater: 2, LowWater: 1, Compactor: hangs, Compactions: all}
	a := newTalk(t, withName(cfg, "a"))
	b := newTalk(t, withName(cfg, "b"))
	for range 20 {
		mustAddTurn(t, a.SlidingWindow, pipeline.RoleUser, "hang")
	}
	for range 20 {
		b.say(t, 1)
	}
	b.flush(t)
	if b.Summary() != "sum" || a.TotalTokens() > 4 {
		t.Errorf("summary %q, %d tokens", b.Summary(), a.TotalTokens())
	}
	bounded, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := all.Close(bounded); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: %v", err)
	}
	if b.say(t, 1); b.task != nil {
		t.Error("a compaction begins after Close")
	}
}

func withName(cfg SlidingWindowConfig, name string) SlidingWindowConfig {
	cfg.Name = name
	return cfg
}

// A compactor that fails is called again after a pause that doubles, and not once per turn. The
// conversation stays bounded, and the turns of a short failure are condensed whole.
func TestFailingCompactorGetsPauses(t *testing.T) {
	calls, fail := 0, true
	s := newTalk(t, SlidingWindowConfig{MaxTokens: 40, HighWater: 30, LowWater: 20, CompactInline: true, Compactor: CompactFunc(
		func(_ context.Context, turns []pipeline.Turn) (string, error) {
			if calls++; fail {
				return "", errors.New("no model")
			}
			return fmt.Sprint(len(turns), " condensed"), nil
		})})
	const seconds = 4000
	for range seconds {
		s.clock.Add(1)
		s.say(t, 1)
		if s.TotalTokens() > 40 || sumTokens(s.past.leaving) > 40 {
			t.Fatalf("%d tokens, and %d that left", s.TotalTokens(), sumTokens(s.past.leaving))
		}
	}
	// 10 s, 20, 40, 80, 160, 320, and then 600 each: 6 + (4000-31-630)/600 and the first.
	if calls != 12 {
		t.Errorf("%d calls in %d turns, one per second; want 12", calls, seconds)
	}
	items, _ := s.Items(t.Context(), nil)
	if n := items[0].TokenCount; n > minSummaryTokens {
		t.Errorf("summary of %d tokens", n)
	}
	fail = false
	s.clock.Add(600)
	s.say(t, 1)
	if got := s.Summary(); !strings.HasSuffix(got, " condensed") || got == "1 condensed" || len(s.past.leaving) > 0 {
		t.Errorf("summary %q", got)
	}
}

// A summary has a bound, whatever the compactor returns.
func TestSummaryIsBounded(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"fits":       {"a b\nc d", "a b\nc d"},
		"many lines": {"one two three\nfour five six\nseven eight nine", "four five six\nseven eight nine"},
		"one line":   {"one two three four five six seven eight nine ten", "one two three four five six seven eight"},
		"long word":  {strings.Repeat("x", 1<<20), strings.Repeat("x", 8*compact.MaxTokenBytes)},
		"endless":    {strings.Repeat("old\n", 1<<20) + "new", strings.Repeat("old\n", 7) + "new"},
	} {
		var log bytes.Buffer
		s := newTalk(t, SlidingWindowConfig{MaxTokens: 4, SummaryTokens: 8, CompactInline: true, Logger: textLogger(&log), Compactor: CompactFunc(
			func(context.Context, []pipeline.Turn) (string, error) { return c.answer, nil })})
		for range 4 {
			s.say(t, 1)
		}
		warned := strings.Contains(log.String(), `level=WARN msg="summary is too long and was cut"`)
		if got := s.Summary(); got != c.want || warned != (c.answer != c.want) {
			t.Errorf("%s: %.60q of %d bytes, log %s", name, got, len(got), log.String())
		}
	}
}

// A process that dies during a compaction loses nothing: the turns are in the log.
func TestNothingIsLostDuringACompaction(t *testing.T) {
	c := newSlow()
	log := NewLog(store.NewMemory(), "ann", "c")
	cfg := SlidingWindowConfig{MaxTokens: 4, HighWater: 3, LowWater: 2, Compactor: c, Log: log}
	s := newTalk(t, cfg)
	for i := range 9 {
		mustAddTurn(t, s.SlidingWindow, pipeline.RoleUser, fmt.Sprint(i))
	}
	<-c.begun // and here it dies
	other := newSlow()
	close(other.release)
	cfg.Compactor = other
	again := newTalk(t, cfg)
	if err := log.Load(t.Context(), again.SlidingWindow); err != nil {
		t.Fatal(err)
	}
	again.flush(t)
	if got := again.Summary() + " | " + strings.Join(turnTexts(again.Turns()), " "); got != "0 1 2 3 4 5 6 | 7 8" {
		t.Errorf("loaded %q", got)
	}
	// The first one goes on: what it condensed must not replace what reaches further.
	close(c.release)
	s.flush(t)
	last := newTalk(t, cfg)
	if err := log.Load(t.Context(), last.SlidingWindow); err != nil || last.Summary() != again.Summary() {
		t.Errorf("stored %q, %v", last.Summary(), err)
	}
}

// Two processes that add to one conversation and compact it keep each turn, as a turn or in the
// summary, exactly once.
func TestTwoProcessesCompactOneConversation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	stores := make([]*sqlite.Store, 2)
	for i := range stores {
		var err error
		if stores[i], err = sqlite.Open(t.Context(), path, sqlite.Options{}); err != nil {
			t.Fatal(err)
		}
		defer stores[i].Close()
	}
	cfg := SlidingWindowConfig{MaxTokens: 40, SummaryTokens: 1000, Tokenizer: pipeline.WordTokenizer(), Logger: quiet(), Compactor: ledger}
	var wg sync.WaitGroup
	for p := range stores {
		wg.Go(func() {
			log := NewLog(stores[p], "ann", "c")
			for i := range 100 {
				c := cfg
				c.Log = log
				w, err := NewSlidingWindow(c) // as each build does
				if err == nil {
					err = log.Load(t.Context(), w)
				}
				if err == nil {
					err = w.Add(t.Context(), pipeline.RoleUser, fmt.Sprintf("p%d-%d", p, i))
				}
				if err == nil {
					err = w.Flush(t.Context())
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	w := loaded(t, cfg, NewLog(stores[0], "ann", "c"))
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, text := range append(strings.Split(w.Summary(), ";"), turnTexts(w.Turns())...) {
		count[text]++
	}
	for p := range stores {
		for i := range 100 {
			if name := fmt.Sprintf("p%d-%d", p, i); count[name] != 1 {
				t.Errorf("%s is there %d times", name, count[name])
			}
		}
	}
}

// Turns that are deleted while they are condensed must not come back in a summary.
func TestDeletedTurnsAreNotSummarized(t *testing.T) {
	for _, what := range []string{"turn", "conversation", "clear"} {
		c := newSlow()
		s := store.NewMemory()
		log := NewLog(s, "ann", "c")
		w := newTalk(t, SlidingWindowConfig{MaxTokens: 8, HighWater: 3, LowWater: 1, Compactor: c, Log: log})
		for i := range 4 {
			mustAddTurn(t, w.SlidingWindow, pipeline.RoleUser, fmt.Sprint("secret", i))
		}
		<-c.begun
		var err error
		switch what {
		case "turn":
			_, err = s.Delete(t.Context(), store.Key{Tenant: "ann", Kind: KindTurn, Stream: "c"}, store.AutoID(2))
		case "conversation":
			_, err = log.Delete(t.Context())
		default:
			err = w.Clear(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		close(c.release)
		w.flush(t)
		if _, err := s.Get(t.Context(), store.Key{Tenant: "ann", Kind: KindDigest, Stream: "c"}, digestID); what != "clear" && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: a digest is stored: %v", what, err)
		}
		if got := w.Summary(); strings.Contains(got, "secret") {
			t.Errorf("%s: summary %q", what, got)
		}
	}
}

// Windows of one conversation that are made anew for each build share their compactions.
func TestWindowsShareCompactions(t *testing.T) {
	log := NewLog(store.NewMemory(), "ann", "c")
	fill := newTalk(t, SlidingWindowConfig{MaxTokens: 100, Log: log})
	for range 10 {
		fill.say(t, 1)
	}
	c := newSlow()
	var began, ended atomic.Int32
	all := new(Compactions)
	cfg := SlidingWindowConfig{MaxTokens: 12, HighWater: 8, LowWater: 4, Compactor: c, Log: log, Compactions: all, Name: "c",
		OnCompact: func() func() { began.Add(1); return func() { ended.Add(1) } }}
	for range 50 {
		if err := log.Load(t.Context(), newTalk(t, cfg).SlidingWindow); err != nil {
			t.Fatal(err)
		}
	}
	close(c.release)
	if err := all.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for ended.Load() == 0 {
		runtime.Gosched()
	}
	w := newTalk(t, cfg)
	if err := log.Load(t.Context(), w.SlidingWindow); err != nil || len(c.seen) != 6 || len(w.Turns()) != 4 || began.Load() != 1 || ended.Load() != 1 {
		t.Errorf("%v, condensed %d turns, %d left, %d began and %d ended", err, len(c.seen), len(w.Turns()), began.Load(), ended.Load())
	}

}
