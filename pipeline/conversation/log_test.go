package conversation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

// flaky fails some writes, before or after they are done.
type flaky struct {
	store.Store
	mu   sync.Mutex // guards rng
	rng  *rand.Rand
	odds float64
}

func (f *flaky) happens() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.Float64() < f.odds
}

var errFlaky = errors.New("flaky")

func (f *flaky) fails(do func() error) error {
	if f.happens() {
		return errFlaky
	}
	if err := do(); err != nil {
		return err
	}
	if f.happens() {
		return errFlaky
	}
	return nil
}

func (f *flaky) Append(ctx context.Context, key store.Key, recs ...store.Record) (first int64, err error) {
	err = f.fails(func() (err error) { first, err = f.Store.Append(ctx, key, recs...); return err })
	return first, err
}

func (f *flaky) Put(ctx context.Context, key store.Key, rec store.Record) error {
	return f.fails(func() error { return f.Store.Put(ctx, key, rec) })
}

func (f *flaky) Apply(ctx context.Context, changes ...store.Change) error {
	return f.fails(func() error { return f.Store.Apply(ctx, changes...) })
}

// ledger condenses turns to the list of their contents.
var ledger = ProgressiveCompactFunc(func(_ context.Context, turns []pipeline.Turn, previous string) (string, error) {
	for _, turn := range turns {
		previous += ";" + turn.Content
	}
	return previous, nil
})

// windowKinds are the ways in which turns leave a window.
func windowKinds() map[string]SlidingWindowConfig {
	longest := EvictLeastImportant(func(turn *pipeline.Turn) float64 { return float64(len(turn.Content) % 5) })
	kinds := map[string]SlidingWindowConfig{
		"oldest": {}, "oldest, condensed": {Compactor: ledger},
		"pairs": {Eviction: EvictPairs}, "pairs, condensed": {Eviction: EvictPairs, Compactor: ledger},
		"important": {Eviction: longest}, "important, condensed": {Eviction: longest, Compactor: ledger},
	}
	for name, cfg := range kinds {
		cfg.MaxTokens, cfg.SummaryTokens, cfg.Tokenizer, cfg.Logger = 12, 10_000, pipeline.WordTokenizer(), quiet()
		var hours atomic.Int64
		cfg.Now = func() time.Time { return epoch.Add(time.Duration(hours.Add(1)) * time.Hour) }
		kinds[name] = inline(cfg)
	}
	return kinds
}

func loaded(t *testing.T, cfg SlidingWindowConfig, log *Log) *SlidingWindow {
	t.Helper()
	cfg.Log = log
	w, err := NewSlidingWindow(cfg)
	if err == nil {
		err = log.Load(t.Context(), w)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func randomTurn(rng *rand.Rand, i int) pipeline.Turn {
	roles := []pipeline.Role{pipeline.RoleUser, pipeline.RoleAssistant, pipeline.RoleTool, pipeline.RoleSystem}
	return pipeline.Turn{
		Role:    roles[rng.IntN(len(roles))],
		Content: fmt.Sprintf("t%d%s", i, strings.Repeat(" w", rng.IntN(7))),
	}
}

// TestLoadedWindowIsTheLiveOne compares, after every few turns, the window with one
// that is loaded from its log.
func TestLoadedWindowIsTheLiveOne(t *testing.T) {
	for name, cfg := range windowKinds() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 7))
			log := NewLog(store.NewMemory(), "ann", "c")
			live := loaded(t, cfg, log)
			for i := range 300 {
				turn := randomTurn(rng, i)
				if i%50 == 49 {
					turn.Content = strings.Repeat("long ", 20)
				}
				if err := live.AddTurn(t.Context(), turn); err != nil {
					t.Fatal(err)
				}
				if i == 200 {
					if err := live.Clear(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if rng.IntN(3) == 0 {
					sameWindow(t, i, loaded(t, cfg, log), live)
				}
			}
			all, err := log.Turns(t.Context(), 0, 0)
			if err != nil || len(all) != 300 {
				t.Errorf("%d turns in the log, %v", len(all), err)
			}
		})
	}
}

func sameWindow(t *testing.T, i int, got, want *SlidingWindow) {
	t.Helper()
	gotItems, _ := got.Items(t.Context(), nil)
	wantItems, _ := want.Items(t.Context(), nil)
	if !reflect.DeepEqual(gotItems, wantItems) || got.TotalTokens() != want.TotalTokens() || got.Summary() != want.Summary() {
		t.Fatalf("turn %d: loaded %d tokens, %q\n%+v\nwant %d tokens, %q\n%+v", i, got.TotalTokens(), got.Summary(), gotItems, want.TotalTokens(), want.Summary(), wantItems)
	}
}

// TestNoAcknowledgedTurnIsLost lets writes fail and the process restart at any point:
// every turn that was acknowledged is in the log once, and, where turns are condensed,
// in the window or the summary.
func TestNoAcknowledgedTurnIsLost(t *testing.T) {
	for name, cfg := range windowKinds() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 9))
			log := NewLog(&flaky{Store: store.NewMemory(), rng: rand.New(rand.NewPCG(4, 2)), odds: 0.1}, "ann", "c")
			w := loaded(t, cfg, log)
			acknowledged := make(map[string]bool)
			for i := range 400 {
				turn := randomTurn(rng, i)
				turn.Content = strings.ReplaceAll(turn.Content, ";", "")
				switch err := w.AddTurn(t.Context(), turn); {
				case err == nil:
					acknowledged[turn.Content] = true
				case !errors.Is(err, errFlaky):
					t.Fatal(err)
				}
				if rng.IntN(10) == 0 {
					w = reloaded(t, cfg, log)
				}
				if w.TotalTokens() > w.MaxTokens() {
					t.Fatalf("turn %d: %d tokens", i, w.TotalTokens())
				}
			}
			if err := w.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkAcknowledged(t, w, log, acknowledged, cfg.Compactor != nil)
		})
	}
}

// reloaded loads until it succeeds: loading may have to write.
func reloaded(t *testing.T, cfg SlidingWindowConfig, log *Log) *SlidingWindow {
	t.Helper()
	cfg.Log = log
	for range 100 {
		w, err := NewSlidingWindow(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err = log.Load(t.Context(), w); err == nil {
			return w
		}
		if !errors.Is(err, errFlaky) {
			t.Fatal(err)
		}
	}
	t.Fatal("not loaded in 100 tries")
	return nil
}

func checkAcknowledged(t *testing.T, w *SlidingWindow, log *Log, acknowledged map[string]bool, condensed bool) {
	t.Helper()
	all, err := log.Turns(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	logged := make(map[string]int)
	for _, turn := range all {
		logged[turn.Content]++
	}
	remembered := make(map[string]bool)
	for _, turn := range w.Turns() {
		remembered[turn.Content] = true
	}
	for content := range strings.FieldsFuncSeq(w.Summary(), func(r rune) bool { return r == ';' || r == '\n' }) {
		if _, listed, ok := strings.Cut(content, ": "); ok { // by the list that replaces a summary
			content = listed
		}
		remembered[content] = true
	}
	for content := range acknowledged {
		if logged[content] != 1 || condensed && !remembered[content] {
			t.Errorf("turn %q: %d times in the log, remembered %v", content, logged[content], remembered[content])
		}
	}
}

func TestTwoProcessesLoseNothing(t *testing.T) {
	log := NewLog(store.NewMemory(), "ann", "c")
	cfg := windowKinds()["oldest"]
	a, b := loaded(t, cfg, log), loaded(t, cfg, log)
	for i := range 3 {
		for _, w := range []*SlidingWindow{a, b} {
			if err := w.Add(t.Context(), pipeline.RoleUser, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	var numbers []int64
	for _, turn := range a.Turns() {
		numbers = append(numbers, turn.Sequence)
	}
	if !slices.Equal(numbers, []int64{1, 3, 5}) || len(loaded(t, cfg, log).Turns()) != 6 {
		t.Errorf("one sees %v", numbers)
	}
}

func TestDeletedConversation(t *testing.T) {
	s := store.NewMemory()
	log, other := NewLog(s, "ann", "c"), NewLog(s, "ann", "d")
	cfg := windowKinds()["oldest, condensed"]
	for _, l := range []*Log{log, other} {
		w := loaded(t, cfg, l)
		for range 20 {
			if err := w.Add(t.Context(), pipeline.RoleUser, "a b c"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n, err := log.Delete(t.Context()); n != 20 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	if w := loaded(t, cfg, log); len(w.Turns()) != 0 || w.Summary() != "" {
		t.Errorf("left %v, %q", w.Turns(), w.Summary())
	}
	if w := loaded(t, cfg, other); len(w.Turns()) != 4 || w.Summary() == "" {
		t.Errorf("the other has %v, %q", w.Turns(), w.Summary())
	}
}

func TestCorruptConversation(t *testing.T) {
	for kind, data := range map[string]string{
		KindTurn:   `{"role":"bard","content":"x"}`,
		KindDigest: `{"through":-1}`,
	} {
		s := store.NewMemory()
		if err := s.Put(t.Context(), store.Key{Tenant: "ann", Kind: kind, Stream: "c"}, store.Record{ID: "digest", Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
		w, err := NewSlidingWindow(windowKinds()["oldest"])
		if err != nil {
			t.Fatal(err)
		}
		if err := NewLog(s, "ann", "c").Load(t.Context(), w); !errors.Is(err, pipeline.ErrInvalid) || !strings.HasPrefix(err.Error(), "conversation: load: "+kind) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// FuzzLoad holds that whatever a store has for a conversation, loading it gives a
// valid window or an error that leaves the window empty.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"text":"sum","count":1,"through":1,"kept":[1],"time":"2026-01-01T00:00:00Z"}`), []byte(`{"role":"user","content":"a b c","created_at":"2026-01-01T00:00:00Z"}`), true)
	f.Add([]byte(`{"through":9,"kept":[3,2]}`), []byte(`{"role":"tool","content":"","token_count":9223372036854775807}`), false)
	f.Fuzz(func(t *testing.T, digest, turn []byte, condensed bool) {
		s := store.NewMemory()
		for kind, data := range map[string][]byte{KindDigest: digest, KindTurn: turn} {
			key := store.Key{Tenant: "ann", Kind: kind, Stream: "c"}
			if s.Put(t.Context(), key, store.Record{ID: "digest", Data: data}) != nil {
				t.Skip("no record")
			}
			if kind == KindTurn && s.Put(t.Context(), key, store.Record{ID: "2", Data: data}) != nil {
				t.Skip("no record")
			}
		}
		cfg := windowKinds()["oldest"]
		if condensed {
			cfg = windowKinds()["pairs, condensed"]
		}
		w, err := NewSlidingWindow(cfg)
		if err != nil {
			t.Fatal(err)
		}
		err = NewLog(s, "ann", "c").Load(t.Context(), w)
		items, _ := w.Items(t.Context(), nil)
		if err != nil && len(items) > 0 || w.TotalTokens() > w.MaxTokens() {
			t.Fatalf("%v, and %d tokens, %+v", err, w.TotalTokens(), items)
		}
		for i := range items {
			if err := items[i].Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
