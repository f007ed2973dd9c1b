package memory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/anchor-host/anchor-host/store"
)

func TestAddRecognizesContent(t *testing.T) {
	eachFacts(t, func(t *testing.T, f Facts) {
		now := epoch
		m := newManager(t, Config{Facts: f, Now: func() time.Time { return now }})
		first := mustAdd(t, m, Entry{Content: "tea", UserID: "ann", ExpiresAt: epoch.Add(time.Hour)})
		if first.ID == "" || first.Relevance != 0.5 || first.Type != Semantic || !first.CreatedAt.Equal(epoch) || !first.LastAccessed.Equal(epoch) || !first.UpdatedAt.Equal(epoch) {
			t.Errorf("completed to %+v", first)
		}
		again, added, err := m.Add(t.Context(), Entry{Content: "tea", UserID: "ann", Tags: []string{"new"}})
		if err != nil || added || again.ID != first.ID || len(again.Tags) != 0 {
			t.Errorf("again: %+v, %v, %v", again, added, err)
		}
		mustAdd(t, m, Entry{Content: "tea", UserID: "bob"})
		mustAdd(t, m, Entry{Content: "tea", UserID: "ann", SessionID: "s"})
		now = now.Add(time.Hour)
		mustAdd(t, m, Entry{Content: "tea", UserID: "ann"}) // the first has expired
		if _, _, err := m.Add(t.Context(), Entry{ID: first.ID, Content: "other"}); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("an id that is taken: %v", err)
		}
		for _, e := range []Entry{{UserID: "a\nb"}, {SessionID: strings.Repeat("s", store.MaxName+1)}} {
			e.Content = "of nobody that a build may have"
			if _, _, err := m.Add(t.Context(), e); !errors.Is(err, pipeline.ErrInvalid) || !strings.Contains(err.Error(), "want a name of at most") {
				t.Errorf("%+v: %v", e, err)
			}
		}
		if got := listed(t, f); len(got) != 4 {
			t.Errorf("stored %q", got)
		}
	})
}

func TestUpdateAndTouch(t *testing.T) {
	eachFacts(t, func(t *testing.T, f Facts) {
		now := epoch
		m := newManager(t, Config{Facts: f, Now: func() time.Time { return now }})
		e := mustAdd(t, m, Entry{Content: "tea", Tags: []string{"drink"}})
		gone := mustAdd(t, m, Entry{Content: "old", ExpiresAt: epoch.Add(time.Minute)})
		now = now.Add(time.Hour)
		got, err := m.Update(t.Context(), e.ID, "coffee\xff")
		if err != nil || got.Content != "coffee\uFFFD" || got.ContentHash != ContentHash("coffee\uFFFD") || !got.UpdatedAt.Equal(now) || !got.CreatedAt.Equal(epoch) || got.Tags[0] != "drink" {
			t.Errorf("updated to %+v, %v", got, err)
		}
		for _, id := range []string{gone.ID, "nobody"} {
			if _, err := m.Update(t.Context(), id, "x"); !errors.Is(err, ErrNotFound) {
				t.Errorf("update %s: %v", id, err)
			}
			if _, err := m.Get(t.Context(), id); !errors.Is(err, ErrNotFound) {
				t.Errorf("get %s: %v", id, err)
			}
		}
		if err := m.Touch(t.Context(), e.ID, "nobody", gone.ID, e.ID); err != nil {
			t.Fatal(err)
		}
		if got, err = m.Get(t.Context(), e.ID); err != nil || got.AccessCount != 1 || !got.LastAccessed.Equal(now) {
			t.Errorf("touched %+v, %v", got, err)
		}
		uses := map[string]Use{e.ID: {Times: 3, Last: now.Add(time.Minute)}, "nobody": {Times: 1, Last: now}, gone.ID: {Times: 1, Last: now}}
		if err := m.Used(t.Context(), uses); err != nil {
			t.Fatal(err)
		}
		if err := m.Used(t.Context(), map[string]Use{e.ID: {Times: math.MaxInt, Last: now}}); err != nil {
			t.Fatal(err)
		}
		if got, err = m.Get(t.Context(), e.ID); err != nil || got.AccessCount != math.MaxInt || !got.LastAccessed.Equal(now.Add(time.Minute)) {
			t.Errorf("used %+v, %v", got, err)
		}
		if e, err := f.Get(t.Context(), gone.ID); err != nil || e.AccessCount != 0 {
			t.Errorf("the expired one %+v, %v", e, err)
		}
	})
}

func TestSearchAndFilters(t *testing.T) {
	eachFacts(t, func(t *testing.T, f Facts) {
		m := newManager(t, Config{Facts: f})
		for i, e := range []Entry{
			{Content: "Tea at five", Relevance: 0.4, UserID: "ann", Tags: []string{"drink", "daily"}},
			{Content: "green TEA", Relevance: 0.9, UserID: "ann", SessionID: "s1", Type: Episodic},
			{Content: "no tea", Relevance: 0.4, UserID: "bob", Tags: []string{"drink"}},
			{Content: "stale tea", ExpiresAt: epoch},
			{Content: "ÄRGER", Relevance: 0.1},
		} {
			e.CreatedAt = epoch.Add(time.Duration(i) * time.Hour)
			mustAdd(t, m, e)
		}
		hour := func(n int) time.Time { return epoch.Add(time.Duration(n) * time.Hour) }
		for _, tc := range []struct {
			query  string
			topK   int
			filter Filter
			want   []string
		}{
			{"tea", 0, Filter{}, []string{"green TEA", "no tea", "Tea at five"}},
			{"TEA", 1, Filter{}, []string{"green TEA"}},
			{"ärg", 0, Filter{}, []string{"ÄRGER"}},
			{"", 0, Filter{}, []string{"green TEA", "no tea", "Tea at five", "ÄRGER"}},
			{"tea", 9, Filter{Expired: true}, []string{"green TEA", "stale tea", "no tea", "Tea at five"}},
			{"", 0, Filter{UserID: "ann"}, []string{"green TEA", "Tea at five"}},
			{"", 0, Filter{SessionID: "s1"}, []string{"green TEA"}},
			{"", 0, Filter{Type: Semantic}, []string{"no tea", "Tea at five", "ÄRGER"}},
			{"", 0, Filter{Tags: []string{"drink"}}, []string{"no tea", "Tea at five"}},
			{"", 0, Filter{Tags: []string{"daily", "drink"}}, []string{"Tea at five"}},
			{"", 0, Filter{CreatedAfter: hour(1)}, []string{"no tea", "ÄRGER"}},
			{"", 0, Filter{CreatedBefore: hour(1)}, []string{"Tea at five"}},
			{"coffee", 0, Filter{}, []string{}},
		} {
			got, err := m.Search(t.Context(), tc.query, tc.topK, tc.filter)
			if err != nil || !slices.Equal(contents(got), tc.want) {
				t.Errorf("search %q %+v: %q, %v, want %q", tc.query, tc.filter, contents(got), err, tc.want)
			}
		}
		if n, err := m.Forget(t.Context(), Filter{UserID: "ann"}); n != 2 || err != nil {
			t.Errorf("forgot %d of ann, %v", n, err)
		}
		if got, err := m.List(t.Context(), Filter{}); err != nil || !slices.Equal(contents(got), []string{"no tea", "ÄRGER"}) {
			t.Errorf("left %q, %v", contents(got), err)
		}
		if err := m.Clear(t.Context()); err != nil || len(listed(t, f)) != 0 {
			t.Errorf("clear: %v, %q left", err, listed(t, f))
		}
	})
}

// A manager made for one user must not delete what the others of the same store have said
// to be remembered, nor may one that serves all users, query by query.
func TestClearLeavesTheFactsOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		left []string
	}{
		"one user":        {Config{Filter: Filter{UserID: "ann"}}, []string{"b=of bob"}},
		"user of a query": {Config{FilterBy: func(*pipeline.Query) Filter { return Filter{UserID: "ann"} }}, []string{"a=of ann", "b=of bob"}},
		"everything":      {Config{}, nil},
	} {
		f := NewFacts()
		c.cfg.Facts = f
		m := newManager(t, c.cfg)
		mustAdd(t, m, Entry{ID: "a", Content: "of ann", UserID: "ann"})
		mustAdd(t, m, Entry{ID: "b", Content: "of bob", UserID: "bob"})
		if err := m.Clear(t.Context()); err != nil || !slices.Equal(listed(t, f), c.left) {
			t.Errorf("%s: %q left, %v", name, listed(t, f), err)
		}
	}
}

func TestDefaultTopK(t *testing.T) {
	m := newManager(t, Config{})
	for i := range 7 {
		mustAdd(t, m, Entry{Content: fmt.Sprint("x", i)})
	}
	if got, err := m.Search(t.Context(), "x", 0, Filter{}); err != nil || len(got) != 5 {
		t.Errorf("%d found, %v", len(got), err)
	}
}

func TestManagerWithoutFacts(t *testing.T) {
	m, err := New(Config{Tokenizer: pipeline.WordTokenizer()})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Add(t.Context(), Entry{Content: "x"}); !errors.Is(err, ErrNoFacts) || err.Error() != "memory: add: no facts configured (set Config.Facts)" {
		t.Errorf("add: %v", err)
	}
	if _, err := m.Update(t.Context(), "x", "y"); !errors.Is(err, ErrNoFacts) {
		t.Errorf("update: %v", err)
	}
	if _, err := m.Remember(t.Context(), Entry{Content: "x"}); !errors.Is(err, ErrNoFacts) {
		t.Errorf("remember: %v", err)
	}
	if _, err := m.Get(t.Context(), "x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	found, err := m.Search(t.Context(), "", 0, Filter{})
	n, err2 := m.Delete(t.Context(), "x")
	forgot, err3 := m.Forget(t.Context(), Filter{})
	collected, err4 := m.Collect(t.Context(), Collector{}, false)
	if len(found) != 0 || n != 0 || forgot != 0 || collected != (Collection{}) || errors.Join(err, err2, err3, err4, m.Clear(t.Context()), m.Load(t.Context())) != nil {
		t.Errorf("found %v, deleted %d, forgot %d, collected %+v, %v", found, n, forgot, collected, errors.Join(err, err2, err3, err4))
	}
}

func TestNewRefuses(t *testing.T) {
	window, err := conversation.NewSlidingWindow(conversation.SlidingWindowConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]Config{
		"max_facts -1":   {MaxFacts: -1},
		"min_score 0.5":  {MinScore: 0.5},
		"min_score NaN":  {MinScore: math.NaN(), MaxFacts: 1},
		"min_score 2":    {MinScore: 2, MaxFacts: 1},
		"weight -1":      {Scorer: &Scorer{Recency: -1}},
		"weight NaN":     {Scorer: &Scorer{Relevance: math.NaN()}},
		"priority 11":    {Window: conversation.SlidingWindowConfig{Priority: 11}},
		"log: invalid":   {Conversation: window, Log: conversation.NewLog(store.NewMemory(), "t", "c")},
		"max_tokens -1:": {Window: conversation.SlidingWindowConfig{MaxTokens: -1}},
	} {
		if _, err := New(cfg); !errors.Is(err, pipeline.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, err := New(Config{})
	if err != nil || m.cfg.Tokenizer.Name() != pipeline.DefaultEncoding || m.Conversation() == nil {
		t.Errorf("the zero Config: %+v, %v", m, err)
	}
	if m, err = New(Config{Conversation: window}); err != nil || m.Conversation() != Dialogue(window) {
		t.Errorf("a given conversation: %v, %v", m.Conversation(), err)
	}
}

func TestItemsByQuery(t *testing.T) {
	m := newManager(t, Config{MaxFacts: 2, MinScore: 0.5, FilterBy: func(q *pipeline.Query) Filter {
		user, _ := q.Metadata["user"].(string)
		return Filter{UserID: user, Expired: true}
	}})
	for _, e := range []Entry{
		{Content: "Ann drinks green tea", UserID: "ann"},
		{Content: "Ann has a cat", UserID: "ann"},
		{Content: "Ann drinks coffee", UserID: "ann"},
		{Content: "Bob drinks green tea", UserID: "bob"},
		{Content: "Ann drinks stale green tea", UserID: "ann", ExpiresAt: epoch},
	} {
		mustAdd(t, m, e)
	}
	for _, tc := range []struct {
		query, user string
		want        []string
	}{
		{"Which tea does she drink? Green?", "ann", []string{"Ann drinks green tea 0.65"}}, // 0.3 + 0.5*3/6 + 0.1
		{"cat, coffee", "ann", []string{"Ann has a cat 0.65", "Ann drinks coffee 0.65"}},
		{"drinks", "", []string{"Ann drinks green tea 0.90", "Ann drinks coffee 0.90"}},
	} {
		items, err := m.Items(t.Context(), &pipeline.Query{Text: tc.query, Metadata: map[string]any{"user": tc.user}})
		var got []string
		for _, it := range items {
			got = append(got, fmt.Sprintf("%s %.2f", it.Content, it.Score))
		}
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%q of %q: %q, %v, want %q", tc.query, tc.user, got, err, tc.want)
		}
	}
}

func TestItemsAreValid(t *testing.T) {
	m := newManager(t, Config{Window: conversation.SlidingWindowConfig{Priority: 9}})
	e := mustAdd(t, m, Entry{Content: "tea", Relevance: 1, Tags: []string{"a"}})
	if err := m.AddMessage(t.Context(), pipeline.RoleTool, "42"); err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.New(pipeline.Config{Memory: m, Tokenizer: pipeline.WordTokenizer(), Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Build(t.Context(), pipeline.Query{Text: "q"})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Window.Items; len(got) != 2 || got[0].Content != "42" || got[1].ID != "fact-"+e.ID || got[1].Metadata["tags"].([]any)[0] != "a" {
		t.Errorf("window %+v", got)
	}
}

func TestFactsFirst(t *testing.T) {
	for _, first := range []bool{false, true} {
		now := epoch
		m := newManager(t, Config{FactsFirst: first, Now: func() time.Time { return now }})
		mustAdd(t, m, Entry{Content: "old fact"})
		now = epoch.Add(time.Hour)
		if err := m.AddMessage(t.Context(), pipeline.RoleUser, "question"); err != nil {
			t.Fatal(err)
		}
		now = epoch.Add(2 * time.Hour)
		mustAdd(t, m, Entry{Content: "new fact"})
		items, err := m.Items(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		out, err := format.Generic{}.Format(t.Context(), &pipeline.Window{Items: items})
		want := "=== MEMORY ===\nold fact\nquestion\nnew fact"
		if first {
			want = "=== MEMORY ===\nold fact\nnew fact\nquestion"
		}
		if err != nil || out != want {
			t.Errorf("facts first %v: %q, %v", first, out, err)
		}
	}
}

// counter counts what it was asked to count.
type counter struct {
	pipeline.Tokenizer
	asked atomic.Int64
}

func (c *counter) Count(ctx context.Context, texts ...string) ([]int, error) {
	c.asked.Add(int64(len(texts)))
	return c.Tokenizer.Count(ctx, texts...)
}

func TestFactsAreCountedOnce(t *testing.T) {
	c := &counter{Tokenizer: pipeline.WordTokenizer()}
	m := newManager(t, Config{Tokenizer: c})
	e := mustAdd(t, m, Entry{Content: "a b"})
	mustAdd(t, m, Entry{Content: "c"})
	for range 3 {
		items, err := m.Items(t.Context(), nil)
		if err != nil || items[0].TokenCount != 2 || items[1].TokenCount != 1 {
			t.Fatal(items, err)
		}
	}
	if _, err := m.Update(t.Context(), e.ID, "d e f"); err != nil {
		t.Fatal(err)
	}
	items, err := m.Items(t.Context(), nil)
	if err != nil || items[0].TokenCount != 3 || c.asked.Load() != 3 {
		t.Errorf("%d texts counted, items %+v, %v", c.asked.Load(), items, err)
	}
}

func TestWhatPanicsIsAnError(t *testing.T) {
	boom := func() { panic("boom") }
	decay := DecayFunc(func(*Entry, time.Time) float64 { boom(); return 0 })
	embedder := embedFunc(func(context.Context, []string) ([][]float32, error) { boom(); return nil, nil })
	for name, cfg := range map[string]Config{
		"tokenizer": {Tokenizer: broken{}},
		"filter":    {FilterBy: func(*pipeline.Query) Filter { boom(); return Filter{} }},
		"decay":     {MaxFacts: 1, Scorer: &Scorer{Decay: decay}},
		"embedder":  {MaxFacts: 1, Scorer: &Scorer{Embedder: embedder}},
	} {
		m := newManager(t, cfg)
		mustAdd(t, m, Entry{Content: "x"})
		if _, err := m.Items(t.Context(), nil); !errors.Is(err, pipeline.ErrPanic) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := newManager(t, Config{})
	mustAdd(t, m, Entry{Content: "x"})
	if _, err := m.Collect(t.Context(), Collector{Decay: decay}, false); !errors.Is(err, pipeline.ErrPanic) {
		t.Errorf("collect: %v", err)
	}
}

func TestCollectCallbacksMayUseTheManager(t *testing.T) {
	m := newManager(t, Config{})
	mustAdd(t, m, Entry{Content: "x", ExpiresAt: epoch})
	seen := -1
	out, err := m.Collect(t.Context(), Collector{OnExpired: func(ctx context.Context, entries []Entry) {
		mustAdd(t, m, Entry{Content: "note: " + entries[0].Content})
		left, err := m.List(ctx, Filter{Expired: true})
		if err != nil {
			t.Error(err)
		}
		seen = len(left)
		panic("boom")
	}}, false)
	if err != nil || out.Expired != 1 || seen != 1 {
		t.Errorf("%+v, %v, callback saw %d", out, err, seen)
	}
	for _, threshold := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := m.Collect(t.Context(), Collector{Threshold: threshold}, false); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("threshold %v: %v", threshold, err)
		}
	}
}

// TestManagerUnderConcurrency adds the same facts from many goroutines: each is there
// once, and every use of it is counted.
func TestManagerUnderConcurrency(t *testing.T) {
	eachFacts(t, func(t *testing.T, f Facts) {
		m := newManager(t, Config{Facts: f, Window: conversation.SlidingWindowConfig{MaxTokens: 8}, MaxFacts: 3,
			Extractor: ExtractFunc(func(_ context.Context, turns []pipeline.Turn, _ []Entry) (Extraction, error) {
				return Extraction{Add: []Entry{{Content: "said " + turns[0].Content}}}, nil
			})})
		var running sync.WaitGroup
		for range 8 {
			running.Go(func() {
				for i := range 25 {
					e, _, err := m.Add(t.Context(), Entry{Content: fmt.Sprint("fact ", i)})
					if err == nil {
						err = m.Touch(t.Context(), e.ID)
					}
					if err == nil {
						err = m.AddMessage(t.Context(), pipeline.RoleUser, fmt.Sprint("turn ", i))
					}
					if err == nil {
						_, err = m.Promote(t.Context(), []pipeline.Turn{{Role: pipeline.RoleUser, Content: fmt.Sprint("turn ", i)}})
					}
					if err == nil {
						_, err = m.Items(t.Context(), &pipeline.Query{Text: "fact"})
					}
					if err == nil {
						_, err = m.Collect(t.Context(), Collector{Decay: DefaultEbbinghaus}, i%2 == 0)
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		running.Wait()
		facts, err := m.Search(t.Context(), "fact ", 1000, Filter{})
		used := 0
		for _, e := range facts {
			used += e.AccessCount
		}
		if err != nil || len(facts) != 25 || used != 200 {
			t.Errorf("%d facts, %d uses, %v", len(facts), used, err)
		}
		if said, err := m.Search(t.Context(), "said ", 1000, Filter{}); err != nil || len(said) != 25 {
			t.Errorf("%d promoted, %v: %q", len(said), err, contents(said))
		}
	})
}

func TestManagerLoadsItsConversation(t *testing.T) {
	s := store.NewMemory()
	for i := range 3 {
		m := newManager(t, Config{Log: conversation.NewLog(s, "ann", "c"), Facts: NewStoreFacts(s, "ann")})
		if err := m.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if items, err := m.Items(t.Context(), nil); err != nil || len(items) != 2*i {
			t.Errorf("run %d: %d items, %v", i, len(items), err)
		}
		mustAdd(t, m, Entry{Content: fmt.Sprint("fact ", i)})
		if err := m.AddMessage(t.Context(), pipeline.RoleUser, fmt.Sprint("turn ", i)); err != nil {
			t.Fatal(err)
		}
	}
}
