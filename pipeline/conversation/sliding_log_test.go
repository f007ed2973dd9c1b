package conversation

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// turnLog keeps a conversation in memory, and fails when told to.
type turnLog struct {
	turns   []pipeline.Turn
	digests []Digest
	fail    error
	skip    int64 // numbers another writer has taken

	failDigest error
}

func (l *turnLog) AppendTurn(_ context.Context, t pipeline.Turn) (int64, error) {
	if l.fail != nil {
		return 0, l.fail
	}
	t.Sequence = int64(len(l.turns)) + 1 + l.skip
	l.turns = append(l.turns, t)
	return t.Sequence, nil
}

func (l *turnLog) SaveDigest(_ context.Context, d Digest) error {
	if err := cmp.Or(l.fail, l.failDigest); err != nil {
		return err
	}
	l.digests = append(l.digests, d)
	return nil
}

func TestLogHasWholeTurnsAndTheirNumbers(t *testing.T) {
	log := &turnLog{skip: 40}
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 2, Log: log})
	mustAddTurn(t, s, pipeline.RoleUser, "a b c")
	if got := log.turns[0]; got.Content != "a b c" || got.TokenCount != 3 || got.Sequence != 41 || got.Metadata != nil || got.CreatedAt.IsZero() {
		t.Errorf("logged %+v", got)
	}
	if got := s.Turns()[0]; got.Content != "a b" || got.TokenCount != 2 || got.Sequence != 41 || got.Metadata["truncated"] != true {
		t.Errorf("window has %+v", got)
	}
}

func TestFailingLogKeepsTheConversation(t *testing.T) {
	full := errors.New("disk full")
	log := &turnLog{}
	told := 0
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 1, Log: log, OnEvict: func(context.Context, []pipeline.Turn) { told++ }})
	mustAddTurn(t, s, pipeline.RoleUser, "a")
	log.fail = full
	if err := s.Add(t.Context(), pipeline.RoleUser, "b"); !errors.Is(err, full) || err.Error() != "conversation: store turn: disk full" {
		t.Errorf("add: %v", err)
	}
	if err := s.Clear(t.Context()); !errors.Is(err, full) {
		t.Errorf("clear: %v", err)
	}
	if got := turnTexts(s.Turns()); !slices.Equal(got, []string{"a"}) || s.Summary() != "" || told != 0 {
		t.Errorf("turns %v, summary %q, told %d times", got, s.Summary(), told)
	}
	log.fail = nil
	mustAddTurn(t, s, pipeline.RoleUser, "c")
	if got := s.Turns(); got[0].Content != "c" || got[0].Sequence != 2 {
		t.Errorf("afterwards %+v", got)
	}
}

// A summary that cannot be stored must not take the place of turns that are in the log.
func TestSummaryThatIsNotStoredIsNotUsed(t *testing.T) {
	log := &turnLog{failDigest: errors.New("disk full")}
	now := epoch
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 2, HighWater: 1, LowWater: 1, Log: log, Now: func() time.Time { return now },
		Compactor: CompactFunc(func(context.Context, []pipeline.Turn) (string, error) { return "sum", nil })})
	mustAddTurn(t, s, pipeline.RoleUser, "a")
	mustAddTurn(t, s, pipeline.RoleUser, "b")
	if got := turnTexts(s.Turns()); !slices.Equal(got, []string{"a", "b"}) || s.Summary() != "" {
		t.Errorf("turns %v, summary %q", got, s.Summary())
	}
	log.failDigest, now = nil, now.Add(MinCompactPause)
	mustAddTurn(t, s, pipeline.RoleUser, "c")
	if got := turnTexts(s.Turns()); !slices.Equal(got, []string{"c"}) || s.Summary() != "sum" {
		t.Errorf("afterwards turns %v, summary %q", got, s.Summary())
	}
}

func TestLogThatGoesBackIsRefused(t *testing.T) {
	log := &turnLog{}
	s := newConversation(t, SlidingWindowConfig{Log: log})
	mustAddTurn(t, s, pipeline.RoleUser, "a")
	log.turns = nil
	if err := s.Add(t.Context(), pipeline.RoleUser, "b"); !errors.Is(err, pipeline.ErrInvalid) || len(s.Turns()) != 1 {
		t.Errorf("add: %v, turns %v", err, s.Turns())
	}
}

func TestDigestNamesWhatLeftAndWhatStayed(t *testing.T) {
	log := &turnLog{}
	longest := EvictLeastImportant(func(turn *pipeline.Turn) float64 { return float64(len(turn.Content)) })
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 3, Log: log, Eviction: longest, Compactor: ProgressiveCompactFunc(
		func(_ context.Context, turns []pipeline.Turn, previous string) (string, error) {
			return previous + joinTurns(turns), nil
		})})
	for _, text := range []string{"important", "b", "c", "dd"} {
		mustAddTurn(t, s, pipeline.RoleUser, text)
	}
	mustAddTurn(t, s, pipeline.RoleUser, "e")
	got := log.digests[len(log.digests)-1]
	want := Digest{Text: "bc", Count: 2, Through: 3, Kept: []int64{1}, Time: s.Turns()[0].CreatedAt}
	got.Time, want.Time = time.Time{}, time.Time{}
	if !reflect.DeepEqual(got, want) || len(log.digests) != 2 {
		t.Errorf("%d digests, the last %+v, want %+v", len(log.digests), got, want)
	}
	items, _ := s.Items(t.Context(), nil)
	slices.SortStableFunc(items, compareAge)
	if texts := contentsOf(items); !slices.Equal(texts, []string{"bc", "important", "dd", "e"}) {
		t.Errorf("items by age %q: the summary is not first", texts)
	}
}

func contentsOf(items []pipeline.Item) (out []string) {
	for i := range items {
		out = append(out, items[i].Content)
	}
	return out
}

func TestOldestFirstNeedsNoDigest(t *testing.T) {
	log := &turnLog{}
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 1, Log: log})
	mustAddTurn(t, s, pipeline.RoleUser, "a")
	mustAddTurn(t, s, pipeline.RoleUser, "b")
	if s.KeepsDigest() || len(log.digests) != 0 {
		t.Errorf("%d digests saved", len(log.digests))
	}
	if err := s.Clear(t.Context()); err != nil || len(log.digests) != 1 || log.digests[0].Through != 2 {
		t.Errorf("clear: %v, digests %+v", err, log.digests)
	}
}

func TestRestore(t *testing.T) {
	turns := []pipeline.Turn{{Role: pipeline.RoleUser, Content: "a b", Sequence: 3}, {Role: pipeline.RoleTool, Content: "c d", Sequence: 7}}
	var told []string
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 3, OnEvict: func(_ context.Context, evicted []pipeline.Turn) { told = append(told, turnTexts(evicted)...) }})
	mustAddTurn(t, s, pipeline.RoleUser, "before")
	if err := s.Restore(t.Context(), Digest{Text: "sum so far", Count: 2, Through: 2}, turns); err != nil {
		t.Fatal(err)
	}
	if got := s.Turns(); len(got) != 1 || got[0].Sequence != 7 || got[0].Role != pipeline.RoleTool || got[0].TokenCount != 2 {
		t.Errorf("turns %+v", got)
	}
	items, _ := s.Items(t.Context(), nil)
	if items[0].ID != "summary-2" || items[0].TokenCount != 3 || !slices.Equal(told, []string{"a b"}) {
		t.Errorf("summary %+v, told of %q", items[0], told)
	}
	mustAddTurn(t, s, pipeline.RoleUser, "e")
	if got := s.Turns()[1].Sequence; got != 8 {
		t.Errorf("sequence %d goes on after 7", got)
	}
}

func TestRestoreRefuses(t *testing.T) {
	s := newConversation(t, SlidingWindowConfig{})
	mustAddTurn(t, s, pipeline.RoleUser, "a")
	for name, turns := range map[string][]pipeline.Turn{
		"no number":  {{Role: pipeline.RoleUser, Content: "x"}},
		"descending": {{Role: pipeline.RoleUser, Sequence: 2}, {Role: pipeline.RoleUser, Sequence: 2}},
		"role":       {{Role: "bard", Sequence: 1}},
	} {
		if err := s.Restore(t.Context(), Digest{}, turns); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Restore(ended, Digest{Text: "x"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	if got := turnTexts(s.Turns()); !slices.Equal(got, []string{"a"}) || s.Summary() != "" {
		t.Errorf("turns %v, summary %q after failed restores", got, s.Summary())
	}
}

func TestMessagesKeepRoles(t *testing.T) {
	s := newConversation(t, SlidingWindowConfig{MaxTokens: 8, Compactor: CompactFunc(func(context.Context, []pipeline.Turn) (string, error) { return "sum", nil })})
	for _, turn := range []pipeline.Turn{
		{Role: pipeline.RoleUser, Content: "1 2 3 4 5 6"},
		{Role: pipeline.RoleSystem, Content: "be brief", Metadata: map[string]any{"role": "assistant"}},
		{Role: pipeline.RoleAssistant, Content: "call", Metadata: map[string]any{"tool_calls": []any{map[string]any{"id": "c1"}}}},
		{Role: pipeline.RoleTool, Content: "42", Metadata: map[string]any{"tool_call_id": "c1", "name": "add"}},
	} {
		if err := s.AddTurn(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Messages()
	want := []pipeline.Message{
		message.New(pipeline.RoleUser, "sum"),
		message.New(pipeline.RoleSystem, "be brief"),
		{Role: pipeline.RoleAssistant, Parts: []message.Part{{Kind: message.Text, Text: "call"}, {Kind: message.ToolCall, ID: "c1"}}},
		message.NewResult("c1", "add", "42"),
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("messages %+v, %v", got, err)
	}
	if err := s.AddTurn(t.Context(), pipeline.Turn{Role: pipeline.RoleUser, Metadata: map[string]any{"tool_calls": func() {}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Messages(); err == nil || !strings.HasPrefix(err.Error(), "turn 5: tool_calls: json: ") {
		t.Errorf("tool calls that JSON cannot hold: %v", err)
	}
}

func TestOrderDoesNotDependOnTimes(t *testing.T) {
	s := newConversation(t, SlidingWindowConfig{})
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, turn := range []struct {
		text  string
		hours int
	}{{"first", 5}, {"second", 1}, {"third", 1}, {"fourth", 9}} {
		if err := s.AddTurn(t.Context(), pipeline.Turn{Role: pipeline.RoleUser, Content: turn.text, CreatedAt: at.Add(time.Duration(turn.hours) * time.Hour)}); err != nil {
			t.Fatal(i, err)
		}
	}
	if got := s.Turns()[1].CreatedAt; !got.Equal(at.Add(time.Hour)) {
		t.Errorf("the turn itself has time %s", got)
	}
	items, _ := s.Items(t.Context(), nil)
	slices.Reverse(items)
	slices.SortStableFunc(items, compareAge)
	if got := contentsOf(items); !slices.Equal(got, []string{"first", "second", "third", "fourth"}) {
		t.Errorf("by age %q", got)
	}
}

func TestExchangesLeaveWhole(t *testing.T) {
	roles := []pipeline.Role{pipeline.RoleAssistant, pipeline.RoleUser, pipeline.RoleAssistant, pipeline.RoleTool, pipeline.RoleAssistant, pipeline.RoleUser, pipeline.RoleUser}
	turns := make([]pipeline.Turn, len(roles))
	for i, role := range roles {
		turns[i] = pipeline.Turn{Role: role, TokenCount: 1}
	}
	for _, tc := range []struct {
		free int
		want []int
	}{{0, nil}, {1, []int{0}}, {2, []int{0, 1, 2, 3, 4}}, {6, []int{0, 1, 2, 3, 4, 5}}, {9, []int{0, 1, 2, 3, 4, 5, 6}}} {
		if got := EvictExchanges(turns, tc.free); !slices.Equal(got, tc.want) {
			t.Errorf("free %d: %v, want %v", tc.free, got, tc.want)
		}
	}
}

// byteTokenizer counts bytes and cuts between any two of them.
type byteTokenizer struct{}

func (byteTokenizer) Name() string { return "bytes" }
func (byteTokenizer) Count(_ context.Context, texts ...string) ([]int, error) {
	counts := make([]int, len(texts))
	for i, text := range texts {
		counts[i] = len(text)
	}
	return counts, nil
}
func (byteTokenizer) Truncate(_ context.Context, text string, limit int) (string, error) {
	return text[:limit], nil
}

func TestOversizedTurnIsCutBetweenCharacters(t *testing.T) {
	for limit, want := range map[int]string{1: "a", 2: "a", 3: "aé", 4: "aé", 5: "aé", 6: "aé€", 7: "aé€", 9: "aé€", 10: "aé€𝄞"} {
		s, err := NewSlidingWindow(SlidingWindowConfig{MaxTokens: limit, Tokenizer: byteTokenizer{}})
		if err != nil {
			t.Fatal(err)
		}
		mustAddTurn(t, s, pipeline.RoleUser, "aé€𝄞!")
		if got := s.Turns()[0]; got.Content != want || got.TokenCount != len(want) || got.Metadata["truncated"] != true {
			t.Errorf("%d bytes: %+v, want %q", limit, got, want)
		}
	}
}

// stubborn does not cut.
type stubborn struct{ byteTokenizer }

func (stubborn) Truncate(_ context.Context, text string, _ int) (string, error) { return text, nil }

func TestTokenizerThatDoesNotCutIsRefused(t *testing.T) {
	s := newConversationWith(t, stubborn{})
	if err := s.Add(t.Context(), pipeline.RoleUser, "abc"); !errors.Is(err, pipeline.ErrInvalid) || len(s.Turns()) != 0 {
		t.Errorf("add: %v, turns %v", err, s.Turns())
	}
}

func TestTextIsRepaired(t *testing.T) {
	s := newConversation(t, SlidingWindowConfig{})
	mustAddTurn(t, s, pipeline.RoleUser, "a\xffb")
	if got := s.Turns()[0].Content; got != "a\uFFFDb" {
		t.Errorf("content %q", got)
	}
}

func TestRecencyOfExtremeRates(t *testing.T) {
	for _, tc := range []struct{ rate, middle float64 }{{0, 0.5}, {1e-9, 0.5}, {5000, 0}} {
		scorer := ExponentialRecency(tc.rate)
		if first, middle, last := scorer(0, 3), values.Round4(scorer(1, 3)), scorer(2, 3); first != 0 || middle != tc.middle || last != 1 {
			t.Errorf("rate %v: %v, %v, %v", tc.rate, first, middle, last)
		}
	}
}
