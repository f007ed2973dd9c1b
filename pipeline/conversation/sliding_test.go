package conversation

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

func newConversation(t *testing.T, cfg SlidingWindowConfig) *SlidingWindow {
	t.Helper()
	return talkOf(t, cfg, nil)
}

func mustAddTurn(t *testing.T, s *SlidingWindow, role pipeline.Role, text string) {
	t.Helper()
	if err := s.Add(t.Context(), role, text); err != nil {
		t.Fatal(err)
	}
}

func turnTexts(turns []pipeline.Turn) []string {
	var out []string
	for _, turn := range turns {
		out = append(out, turn.Content)
	}
	return out
}

func TestEvictionCallbackMayUseTheConversation(t *testing.T) {
	var s *SlidingWindow
	var seen []string
	s = newConversation(t, SlidingWindowConfig{MaxTokens: 2, OnEvict: func(ctx context.Context, evicted []pipeline.Turn) {
		seen = append(seen, fmt.Sprintf("%v gone, %v left, %d tokens", turnTexts(evicted), turnTexts(s.Turns()), s.TotalTokens()))
		if len(seen) == 1 {
			if err := s.Add(ctx, pipeline.RoleUser, "note"); err != nil {
				t.Error(err)
			}
		}
	}})
	mustAddTurn(t, s, pipeline.RoleUser, "a")
	mustAddTurn(t, s, pipeline.RoleUser, "b")
	mustAddTurn(t, s, pipeline.RoleUser, "c")
	want := []string{"[a] gone, [b c] left, 2 tokens", "[b] gone, [c note] left, 2 tokens"}
	if !slices.Equal(seen, want) {
		t.Errorf("callback saw %q, want %q", seen, want)
	}
}

func TestEvictionCallbackMayPanic(t *testing.T) {
	var log bytes.Buffer
	s, err := NewSlidingWindow(SlidingWindowConfig{MaxTokens: 1, Tokenizer: pipeline.WordTokenizer(), Logger: textLogger(&log), OnEvict: func(context.Context, []pipeline.Turn) { panic("boom") }})
	if err != nil {
		t.Fatal(err)
	}
	mustAddTurn(t, s, pipeline.RoleUser, "a")
	mustAddTurn(t, s, pipeline.RoleUser, "b")
	if got := turnTexts(s.Turns()); !slices.Equal(got, []string{"b"}) || !strings.HasPrefix(log.String(), `level=WARN msg="eviction callback failed" error="panic: boom"`) {
		t.Errorf("turns %v, log %s", got, log.String())
	}
}

func TestPoliciesCannotBreakTheWindow(t *testing.T) {
	for name, tc := range map[string]struct {
		policy EvictionPolicy
		want   []string
	}{
		"too little":        {func([]pipeline.Turn, int) []int { return nil }, []string{"c", "d d"}},
		"duplicates":        {func([]pipeline.Turn, int) []int { return []int{2, 2, 2} }, []string{"b", "d d"}},
		"no such turn":      {func([]pipeline.Turn, int) []int { return []int{-1, 7, math.MaxInt, 1} }, []string{"c", "d d"}},
		"more than needed":  {func([]pipeline.Turn, int) []int { return []int{0, 1, 2} }, []string{"d d"}},
		"changes its input": {func(turns []pipeline.Turn, _ int) []int { turns[2].Content = "changed"; return nil }, []string{"c", "d d"}},
	} {
		s := newConversation(t, SlidingWindowConfig{MaxTokens: 3, Eviction: tc.policy})
		for _, text := range []string{"a", "b", "c", "d d"} {
			mustAddTurn(t, s, pipeline.RoleUser, text)
		}
		if got := turnTexts(s.Turns()); !slices.Equal(got, tc.want) || s.TotalTokens() > 3 {
			t.Errorf("%s: turns %v, want %v", name, got, tc.want)
		}
	}
}

func TestEvictionPolicies(t *testing.T) {
	turns := []pipeline.Turn{{Role: pipeline.RoleUser, TokenCount: 1, Content: "x"}, {Role: pipeline.RoleAssistant, TokenCount: 1}, {Role: pipeline.RoleAssistant, TokenCount: 1}, {Role: pipeline.RoleUser, TokenCount: 1, Content: "y"}}
	importance := EvictLeastImportant(func(turn *pipeline.Turn) float64 { return float64(len(turn.Content)) })
	for _, tc := range []struct {
		name   string
		policy EvictionPolicy
		free   int
		want   []int
	}{
		{"oldest", EvictOldest, 2, []int{0, 1}}, {"oldest nothing", EvictOldest, 0, nil}, {"oldest all", EvictOldest, 9, []int{0, 1, 2, 3}},
		{"pairs", EvictPairs, 1, []int{0, 1}}, {"pairs and a single", EvictPairs, 3, []int{0, 1, 2}}, {"pairs nothing", EvictPairs, 0, nil},
		{"importance", importance, 3, []int{1, 2, 0}}, {"importance nothing", importance, 0, []int{}},
	} {
		if got := tc.policy(turns, tc.free); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestPairedEviction(t *testing.T) {
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 5, Eviction: EvictPairs})
	for i, text := range []string{"q1", "a1", "q2", "a2", "one two three"} {
		mustAddTurn(t, s, []pipeline.Role{pipeline.RoleUser, pipeline.RoleAssistant}[i%2], text)
	}
	if got, want := turnTexts(s.Turns()), []string{"q2", "a2", "one two three"}; !slices.Equal(got, want) {
		t.Errorf("turns %v, want %v", got, want)
	}
}

func TestRecencyScorers(t *testing.T) {
	for _, tc := range []struct {
		name   string
		scorer RecencyScorer
		n      int
		want   []float64
	}{
		{"default", recencyFromHalf, 3, []float64{0.5, 0.75, 1}}, {"default single", recencyFromHalf, 1, []float64{0.5}},
		{"linear", LinearRecency(0.2), 3, []float64{0.2, 0.6, 1}}, {"linear single", LinearRecency(0.5), 1, []float64{1}},
		{"exponential", ExponentialRecency(2), 4, []float64{0, 0.1483, 0.4373, 1}}, {"exponential single", ExponentialRecency(2), 1, []float64{1}},
	} {
		for i, want := range tc.want {
			if got := values.Round4(tc.scorer(i, tc.n)); got != want {
				t.Errorf("%s: turn %d of %d scores %v, want %v", tc.name, i, tc.n, got, want)
			}
		}
	}
}

func TestScoresOfAScorerAreBounded(t *testing.T) {
	s := newConversation(t, SlidingWindowConfig{Recency: func(i, _ int) float64 { return []float64{math.NaN(), -3, 7}[i] }})
	for range 3 {
		mustAddTurn(t, s, pipeline.RoleUser, "x")
	}
	items, err := s.Items(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0, 0, 1} {
		if items[i].Score != want || items[i].Validate() != nil {
			t.Errorf("item %d scores %v, want %v", i, items[i].Score, want)
		}
	}
}

// A role in the metadata of a turn, where callers keep what a request said, must not make
// a user speak as the assistant in a build and as the user in an agent loop.
func TestMetadataDoNotChangeTheRoleOfATurn(t *testing.T) {
	s := newConversation(t, SlidingWindowConfig{})
	if err := s.AddTurn(t.Context(), pipeline.Turn{Role: pipeline.RoleUser, Content: "x", TokenCount: 99, Metadata: map[string]any{"role": "assistant"}}); err != nil {
		t.Fatal(err)
	}
	items, _ := s.Items(t.Context(), nil)
	if it := items[0]; it.Metadata["role"] != "user" || it.TokenCount != 1 || it.ID != "turn-1" || it.Sequence != 1 {
		t.Errorf("item %+v", it)
	}
}

// A full conversation must not call the compactor, which asks a model, for every turn: that
// is a call and a lost prompt cache each time.
func TestCompactionFreesMuchAtOnce(t *testing.T) {
	for low, want := range map[int]int{75: 13, 100: 50, 50: 9, 1: 5} {
		calls := 0
		s := newConversation(t, SlidingWindowConfig{MaxTokens: 100, LowWater: low, Compactor: CompactFunc(func(context.Context, []pipeline.Turn) (string, error) {
			calls++
			return "sum", nil
		})})
		for range 60 {
			mustAddTurn(t, s, pipeline.RoleUser, strings.Repeat("word ", 10))
		}
		t.Logf("low_water %d: %d calls", low, calls)
		if calls != want {
			t.Errorf("low_water %d: %d calls for 60 turns, want %d", low, calls, want)
		}
	}
}

// A compactor that fails for a while must not cost the summary of all that was before.
func TestSummaryOutlivesFailingCompactors(t *testing.T) {
	long := strings.Repeat("met ", 400)
	for name, summary := range map[string]string{"short": "They met\nin Rome.", "over its bound": long} {
		fail, now := false, epoch
		s := newConversation(t, SlidingWindowConfig{MaxTokens: 300, Now: func() time.Time { return now }, Compactor: ProgressiveCompactFunc(func(_ context.Context, turns []pipeline.Turn, previous string) (string, error) {
			if fail {
				return "", errors.New("boom")
			}
			return summary, nil
		})})
		say := func() {
			for range 100 {
				mustAddTurn(t, s, pipeline.RoleUser, strings.Repeat("word ", 12))
			}
		}
		say()
		want := summary
		if summary == long {
			want = strings.TrimSpace(strings.Repeat("met ", 256))
		}
		fail = true
		say()
		items, err := s.Items(t.Context(), nil)
		if it := items[0]; err != nil || !strings.HasPrefix(it.Content, want+"\nuser: word") || it.TokenCount > 256+256 || it.Metadata["listed"] != true {
			t.Errorf("%s: %d tokens, %v: %.100q", name, it.TokenCount, it.Metadata, it.Content)
		}
		fail, now = false, now.Add(MaxCompactPause)
		say()
		if items, _ = s.Items(t.Context(), nil); items[0].Content != want || items[0].Metadata["listed"] != nil {
			t.Errorf("%s: condensed again: %.100q", name, items[0].Content)
		}
	}
}

// The list that stands in for a compactor that fails must not grow beyond the conversation
// itself, or each window is filled by it and each turn counts it anew.
func TestListInsteadOfASummaryIsBounded(t *testing.T) {
	for name, text := range map[string]string{"short": "one two three four", "long": strings.Repeat("word ", 290)} {
		s := newConversation(t, SlidingWindowConfig{MaxTokens: 300, Compactor: CompactFunc(func(context.Context, []pipeline.Turn) (string, error) { return "", errors.New("boom") })})
		for i := range 200 {
			mustAddTurn(t, s, pipeline.RoleUser, fmt.Sprint(text, " number", i))
		}
		items, _ := s.Items(t.Context(), nil)
		if it := items[0]; it.TokenCount == 0 || it.TokenCount > 300 || it.Metadata["summary"] != true {
			t.Errorf("%s: summary of %d tokens: %.80s", name, it.TokenCount, it.Content)
		}
		if left := s.Turns()[0].Sequence; name == "short" && !strings.HasSuffix(s.Summary(), fmt.Sprint("number", left-2)) {
			t.Errorf("%s: the newest turn that left, number%d, is not in the summary: %s", name, left-2, s.Summary())
		}
	}
}

// A compactor that hangs must not keep everybody from adding turns.
func TestSlowCompactorIsLeftBehind(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 2, CompactTimeout: 10 * time.Millisecond,
		Compactor: CompactFunc(func(context.Context, []pipeline.Turn) (string, error) { <-release; return "late", nil })})
	for _, text := range []string{"a", "b", "c"} {
		mustAddTurn(t, s, pipeline.RoleUser, text)
	}
	if got := s.Summary(); got != "user: a" {
		t.Errorf("summary %q", got)
	}
}

// Rules that a system turn states before anybody speaks must not vanish.
func TestConversationBeginsWithItsRules(t *testing.T) {
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 9, BeginWithUser: true})
	for _, turn := range []pipeline.Turn{{Role: pipeline.RoleSystem, Content: "rule"}, {Role: pipeline.RoleAssistant, Content: "hello"}, {Role: pipeline.RoleUser, Content: "ask"}} {
		mustAddTurn(t, s, turn.Role, turn.Content)
	}
	items, _ := s.Items(t.Context(), nil)
	messages, err := s.Messages()
	if err != nil || len(items) != 2 || len(messages) != 2 || items[0].Content != "rule" || messages[0].Text() != "rule" {
		t.Errorf("items %v, messages %v, %v", items, messages, err)
	}
}

// Where turns leave one by one, the first message can be an answer, or the result of a
// tool whose call has left. Some APIs refuse the whole request then.
func TestConversationBeginsWithTheUser(t *testing.T) {
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 3, BeginWithUser: true})
	mustAddTurn(t, s, pipeline.RoleAssistant, "hello")
	if items, _ := s.Items(t.Context(), nil); len(items) != 0 {
		t.Errorf("a greeting alone is offered: %v", items)
	}
	for i, text := range []string{"ask", "answer", "more", "tail"} {
		mustAddTurn(t, s, []pipeline.Role{pipeline.RoleUser, pipeline.RoleAssistant}[i%2], text)
	}
	items, _ := s.Items(t.Context(), nil)
	messages, err := s.Messages()
	if err != nil || len(s.Turns()) != 3 || len(items) != 2 || items[0].Content != "more" || len(messages) != 2 || messages[0].Role != pipeline.RoleUser {
		t.Errorf("turns %v, items %v, messages %v, %v", s.Turns(), items, messages, err)
	}
}

func TestFailedAddChangesNothing(t *testing.T) {
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 1})
	mustAddTurn(t, s, pipeline.RoleUser, "a")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Add(ended, pipeline.RoleUser, "b"); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	if err := s.Add(t.Context(), "bard", "b"); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("unknown role: %v", err)
	}
	if err := newConversationWith(t, broken{}).Add(t.Context(), pipeline.RoleUser, "b"); !errors.Is(err, pipeline.ErrPanic) {
		t.Errorf("panicking tokenizer: %v", err)
	}
	if err := newConversationWith(t, untruncatable{}).Add(t.Context(), pipeline.RoleUser, "b"); !errors.Is(err, pipeline.ErrPanic) {
		t.Errorf("panicking tokenizer: %v", err)
	}
	panics := newConversation(t, SlidingWindowConfig{MaxTokens: 1, Eviction: func([]pipeline.Turn, int) []int { panic("boom") }})
	mustAddTurn(t, panics, pipeline.RoleUser, "a")
	if err := panics.Add(t.Context(), pipeline.RoleUser, "b"); !errors.Is(err, pipeline.ErrPanic) {
		t.Errorf("panicking policy: %v", err)
	}
	for _, c := range []*SlidingWindow{s, panics} {
		if got := turnTexts(c.Turns()); !slices.Equal(got, []string{"a"}) || c.Summary() != "" || c.TotalTokens() != 1 {
			t.Errorf("after failed adds: turns %v, summary %q", got, c.Summary())
		}
	}
}

func newConversationWith(t *testing.T, tokenizer pipeline.Tokenizer) *SlidingWindow {
	t.Helper()
	s, err := NewSlidingWindow(SlidingWindowConfig{MaxTokens: 1, Tokenizer: tokenizer})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// untruncatable counts everything as 9 and panics in Truncate.
type untruncatable struct{ broken }

func (untruncatable) Count(_ context.Context, texts ...string) ([]int, error) {
	return slices.Repeat([]int{9}, len(texts)), nil
}

func TestCompactorMayPanic(t *testing.T) {
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 1, Compactor: compactFunc(func([]pipeline.Turn, string) (string, error) { panic("boom") })})
	mustAddTurn(t, s, pipeline.RoleUser, "a")
	mustAddTurn(t, s, pipeline.RoleAssistant, "b")
	if got := s.Summary(); got != "user: a" {
		t.Errorf("summary %q", got)
	}
}

func TestClear(t *testing.T) {
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 1, Compactor: compactFunc(func([]pipeline.Turn, string) (string, error) { return "sum", nil })})
	mustAddTurn(t, s, pipeline.RoleUser, "a")
	mustAddTurn(t, s, pipeline.RoleUser, "b")
	if err := s.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	items, _ := s.Items(t.Context(), nil)
	if len(items) != 0 || s.Summary() != "" || s.TotalTokens() != 0 {
		t.Errorf("after Clear: %+v, %q", items, s.Summary())
	}
	mustAddTurn(t, s, pipeline.RoleUser, "c")
	if got := s.Turns()[0].Sequence; got != 3 {
		t.Errorf("sequence %d after Clear, want 3", got)
	}
}

func TestNewSlidingWindowRefuses(t *testing.T) {
	for _, cfg := range []SlidingWindowConfig{{MaxTokens: -1}, {Priority: 11}, {Priority: -1}} {
		if _, err := NewSlidingWindow(cfg); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	s, err := NewSlidingWindow(SlidingWindowConfig{})
	if err != nil || s.cfg.MaxTokens != 4096 || s.cfg.Priority != 7 {
		t.Errorf("defaults %+v, %v", s, err)
	}
}

func TestConversationUnderConcurrency(t *testing.T) {
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 20, Compactor: compactFunc(func(turns []pipeline.Turn, previous string) (string, error) {
		return previous + joinTurns(turns), nil
	}), OnEvict: func(context.Context, []pipeline.Turn) {}})
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 50 {
				if err := s.Add(t.Context(), pipeline.RoleUser, "one two three"); err != nil {
					t.Error(err)
				}
				items, _ := s.Items(t.Context(), nil)
				if err := validateItems(items); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	turns := s.Turns()
	if !slices.IsSortedFunc(turns, func(a, b pipeline.Turn) int { return int(a.Sequence - b.Sequence) }) || turns[len(turns)-1].Sequence != 400 || s.TotalTokens() > 20 || s.TotalTokens() != 3*len(turns) {
		t.Errorf("%d tokens, turns %+v", s.TotalTokens(), turns)
	}
}

// inline makes a conversation that is compacted as soon as it is over MaxTokens, to three
// quarters of it, where cfg says nothing else, and waits for its compactor.
func inline(cfg SlidingWindowConfig) SlidingWindowConfig {
	if cfg.Compactor != nil {
		cfg.CompactInline = true
		cfg.HighWater = cmp.Or(cfg.HighWater, cfg.MaxTokens)
		cfg.LowWater = cmp.Or(cfg.LowWater, cfg.MaxTokens-cfg.MaxTokens/4)
	}
	return cfg
}

// talkOf adds turns, counted in words.
func talkOf(t *testing.T, cfg SlidingWindowConfig, turns [][2]string) *SlidingWindow {
	t.Helper()
	cfg.Tokenizer, cfg.Logger = pipeline.WordTokenizer(), slog.New(slog.DiscardHandler)
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return epoch } // equal times: only numbers tell turns apart
	}
	s, err := NewSlidingWindow(inline(cfg))
	if err != nil {
		t.Fatal(err)
	}
	for _, turn := range turns {
		if err := s.Add(t.Context(), pipeline.Role(turn[0]), turn[1]); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

type compactFunc func(turns []pipeline.Turn, previous string) (string, error)

func (f compactFunc) Compact(_ context.Context, turns []pipeline.Turn, previous string) (string, error) {
	return f(turns, previous)
}

func joinTurns(turns []pipeline.Turn) string {
	var texts []string
	for _, turn := range turns {
		texts = append(texts, turn.Content)
	}
	return strings.Join(texts, "; ")
}
