package providers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

func truncation(t *testing.T, cfg TruncationConfig) *Truncation {
	t.Helper()
	cfg.Counter = words(t)
	p, err := NewTruncation(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTruncation(t *testing.T) {
	chat := []string{"s:one two", "u:first question", "a:an answer", "u:what now", "c1,c2:", "r1:x", "r2:y z", "a:so"}
	for name, c := range map[string]struct {
		msgs   []string
		cfg    TruncationConfig
		budget agent.Budget
		want   []string // nil for no change
	}{
		"no bound":             {msgs: chat},
		"fits":                 {msgs: chat, budget: agent.Budget{MaxTokens: 1000, MaxMessages: 8}},
		"messages":             {msgs: chat, budget: agent.Budget{MaxMessages: 7}, want: append(chat[:1:1], chat[3:]...)},
		"pair goes as a whole": {msgs: chat, budget: agent.Budget{MaxMessages: 5}, want: []string{"s:one two", "u:what now", "a:so"}},
		"pair as a whole fits": {msgs: chat, budget: agent.Budget{MaxMessages: 6}, want: append(chat[:1:1], chat[3:]...)},
		"tighter config":       {msgs: chat, cfg: TruncationConfig{MaxMessages: 3}, budget: agent.Budget{MaxMessages: 7}, want: []string{"s:one two", "u:what now", "a:so"}},
		"the question stays with its answer": {
			msgs: []string{"u:a", "a:b", "a:c d e f g", "a:h", "u:i"}, budget: agent.Budget{MaxTokens: 4},
			want: []string{"u:a", "a:h", "u:i"},
		},
		"what must stay exceeds": {
			msgs: []string{"s:one two three", "a:x", "u:four", "a:y", "s:five"}, budget: agent.Budget{MaxTokens: 2},
			want: []string{"s:one two three", "u:four", "s:five"},
		},
		"nothing must stay": {
			msgs: []string{"a:x", "c1:", "r1:long result", "r1:again"}, budget: agent.Budget{MaxTokens: 1},
			want: []string{"c1:", "r1:long result", "r1:again"},
		},
		"results apart from their call": {
			msgs: []string{"u:q", "c1:", "u:wait", "a:yes", "r1:late", "u:now"}, budget: agent.Budget{MaxMessages: 3},
			want: []string{"u:wait", "a:yes", "u:now"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			msgs := script(c.msgs...)
			s := agent.State{Messages: msgs}
			got := apply(t, truncation(t, c.cfg), &s, msgs, c.budget)
			if c.want == nil && got != nil {
				t.Errorf("messages %q, want no change", show(got))
			} else if c.want != nil {
				wantList(t, got, c.want...)
			}
			wantList(t, s.Messages, c.msgs...)
		})
	}
}

func TestTruncationRefuses(t *testing.T) {
	if _, err := NewTruncation(TruncationConfig{MaxTokens: -1}); err == nil || err.Error() != "truncation: max_tokens -1: invalid value (want 0 or more)" {
		t.Error(err)
	}
	counter, err := agent.NewCounter(agent.CounterConfig{Tokenizer: failingTokenizer{}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewTruncation(TruncationConfig{Counter: counter})
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Apply(t.Context(), nil, script("u:q"), agent.Budget{MaxTokens: 1})
	if out != nil || err == nil || err.Error() != `tokenizer "failing": count 1 texts: no vocabulary` {
		t.Errorf("%v, %v", out, err)
	}
	if out, err := p.Apply(t.Context(), nil, script("u:q", "u:r"), agent.Budget{MaxMessages: 1}); len(out) != 1 || err != nil {
		t.Errorf("messages are counted in tokens: %v, %v", out, err)
	}
}

// randomChat makes a list with tool calls, some answered late, not at all, or without a
// call. Every content is different.
func randomChat(r *rand.Rand) []pipeline.Message {
	var lines, late []string
	next := 0
	text := func() string {
		next++
		return fmt.Sprintf("%d %s", next, strings.Repeat("w ", r.IntN(6)))
	}
	for range r.IntN(25) {
		switch r.IntN(8) {
		case 0:
			lines = append(lines, "s:"+text())
		case 1, 2:
			lines = append(lines, "u:"+text())
		case 3, 4:
			lines = append(lines, "a:"+text())
		case 5, 6:
			var ids, results []string
			for range 1 + r.IntN(3) {
				number := fmt.Sprint(next, "x", len(ids))
				ids, results = append(ids, "c"+number), append(results, "r"+number+":"+text())
			}
			lines = append(lines, strings.Join(ids, ",")+":"+text())
			if r.IntN(4) == 0 {
				late = append(late, results...)
			} else {
				lines = append(lines, results[:r.IntN(len(results)+1)]...)
			}
		case 7:
			lines, late = append(lines, late...), nil
			if r.IntN(5) == 0 {
				lines = append(lines, "rnone:"+text())
			}
		}
	}
	return script(lines...)
}

// places returns where the messages of out stand in msgs, and fails the test when they
// are not there in the same order.
func places(t *testing.T, msgs, out []pipeline.Message) (at []int) {
	t.Helper()
	i := 0
	for j := range out {
		for i < len(msgs) && !msgs[i].Equal(&out[j]) {
			i++
		}
		if i == len(msgs) {
			t.Fatalf("message %q is new, or not in its place", out[j].Text())
		}
		at = append(at, i)
		i++
	}
	return at
}

// checkWhole fails the test when a call is kept without a result it has in msgs, or the
// other way round. It looks for pairs by their ids alone.
func checkWhole(t *testing.T, msgs []pipeline.Message, at []int) {
	t.Helper()
	for i, call := range msgs {
		for j, result := range msgs {
			if answers(&call, &result) && slices.Contains(at, i) != slices.Contains(at, j) {
				t.Errorf("result %+v at %d is parted from its call at %d", result, j, i)
			}
		}
	}
}

// answers reports whether a message has a result of a call in another.
func answers(call, result *pipeline.Message) bool {
	for _, c := range call.Calls() {
		for _, r := range result.Results() {
			if r.ID == c.ID && r.ID != "" {
				return true
			}
		}
	}
	return false
}

// lastUser returns the place of the newest message of the user, or -1.
func lastUser(msgs []pipeline.Message) int {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == pipeline.RoleUser {
			return i
		}
	}
	return -1
}

// mustStay returns the places of the messages that always stay.
func mustStay(msgs []pipeline.Message) (at []int) {
	user := lastUser(msgs)
	for i := range msgs {
		if msgs[i].Role == pipeline.RoleSystem || i == user {
			at = append(at, i)
		}
	}
	return at
}

// withNewestResult adds the call of a tool that ends a list, with its results.
func withNewestResult(msgs []pipeline.Message, must []int) []int {
	if len(msgs) == 0 {
		return must
	}
	units := agent.Units(msgs)
	unit, results := units[len(units)-1], false
	var at []int
	for i := range units {
		if units[i] == unit {
			at, results = append(at, i), results || len(msgs[i].Results()) > 0
		}
	}
	if !results {
		return must
	}
	must = append(must, at...)
	if user := lastUser(msgs[:at[0]]); user >= 0 && msgs[at[0]].Role == pipeline.RoleAssistant {
		must = append(must, user) // an API wants the user first
	}
	slices.Sort(must)
	return slices.Compact(must)
}

func TestTruncationProperties(t *testing.T) {
	counter, truncated := words(t), 0
	p := truncation(t, TruncationConfig{})
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		msgs := randomChat(r)
		b := agent.Budget{MaxTokens: r.IntN(60), MaxMessages: r.IntN(20)}
		out := apply(t, p, &agent.State{}, msgs, b)
		if out == nil {
			out = msgs
		} else {
			truncated++
		}
		at, must := places(t, msgs, out), withNewestResult(msgs, mustStay(msgs))
		checkWhole(t, msgs, at)
		for _, i := range must {
			if !slices.Contains(at, i) {
				t.Errorf("message %d must stay", i)
			}
		}
		n, err := counter.Total(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		// With nothing that must stay, the newest unit does.
		least := len(must) > 0 && len(out) == len(must) || len(must) == 0 && sameUnit(out)
		if (size{n, len(out)}).exceeds(size{b.MaxTokens, b.MaxMessages}) && !least {
			t.Errorf("%d messages of %d tokens", len(out), n)
		}
		if t.Failed() {
			t.Fatalf("seed %d, budget %+v\nlist %q\nout  %q", seed, b, show(msgs), show(out))
		}
	}
	if truncated < 1000 {
		t.Errorf("%d lists truncated, want 1000 or more", truncated)
	}
}

// sameUnit reports whether all messages belong to one call, or there is only one.
func sameUnit(msgs []pipeline.Message) bool {
	for _, unit := range agent.Units(msgs) {
		if unit != 0 {
			return false
		}
	}
	return true
}

// A result that is cut takes what the other messages leave of the budget, whatever its text: quotes, line ends and HTML
// are longer in JSON than in what is counted.
func TestCutResultsFillTheRoom(t *testing.T) {
	counter, err := agent.NewCounter(agent.CounterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewTruncation(TruncationConfig{Counter: counter})
	if err != nil {
		t.Fatal(err)
	}
	call := fromJSON(pipeline.RoleAssistant, `"content":[{"type":"tool_use","id":"t","name":"f","input":{}}]`)
	for name, text := range map[string]string{
		"quotes": `she said "yes" to "no", `, "lines": "a\nb\n\tc\n", "html": `<a href="x">&amp;</a>`,
	} {
		content := strings.NewReplacer("\n", `\n`, "\t", `\t`, `"`, `\"`).Replace(strings.Repeat(text, 4000))
		for form, parts := range map[string]string{
			"string": `[{"type":"tool_result","tool_use_id":"t","content":"%s"}]`,
			"parts":  `[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"%s"}]}]`,
		} {
			result := fromJSON(pipeline.RoleUser, `"content":`+fmt.Sprintf(parts, content))
			msgs := append(script("u:q"), call, result)
			if strings.HasPrefix(form, "s") { // not only the newest
				msgs = append(msgs, script("a:so it is")...)
			}
			out := apply(t, p, &agent.State{}, msgs, agent.Budget{MaxTokens: 2000})
			n, err := counter.Total(t.Context(), out)
			if err != nil || n > 2000 || n < 1960 || len(out) != len(msgs) {
				t.Errorf("%s in %s: %d messages of %d tokens, %v", name, form, len(out), n, err)
			}
			if len(out) > 2 && strings.Contains(string(compactJSON(&out[2])), `\u003c`) {
				t.Errorf("%s in %s: HTML is escaped", name, form)
			}
		}
	}
}

// Where the summary leaves no room for the newest result, the result takes its place.
func TestResultGoesBeforeTheSummary(t *testing.T) {
	summary := summaryMessage(strings.Repeat("then ", 180))
	counter := words(t)
	for room, want := range map[int]int{200: 4, 300: 5} { // without the summary, and with it
		msgs := append([]pipeline.Message{summary}, script("s:S", "u:q", "c1:", "r1:"+strings.Repeat("w ", 900))...)
		out := apply(t, truncation(t, TruncationConfig{}), &agent.State{}, msgs, agent.Budget{MaxTokens: room})
		if n, err := counter.Total(t.Context(), out); err != nil || len(out) != want || n > room {
			t.Errorf("room %d: %d messages of %d tokens, %v", room, len(out), n, err)
		}
	}
}

// What the user says beside the result of a tool is the newest message of the user.
func TestWordsBesideAResultStay(t *testing.T) {
	stop := fromJSON(pipeline.RoleUser, `"content":[{"type":"tool_result","tool_use_id":"t","content":"`+strings.Repeat("w ", 500)+`"},{"type":"text","text":"stop, do X instead"}]`)
	use := fromJSON(pipeline.RoleAssistant, `"content":[{"type":"tool_use","id":"t","name":"f","input":{}}]`)
	msgs := append(script("u:do it", "a:so"), use, stop)
	msgs = append(msgs, script("a:one", "a:"+strings.Repeat("w ", 90), "c1:", "r1:x")...)
	out := apply(t, truncation(t, TruncationConfig{}), &agent.State{}, msgs, agent.Budget{MaxTokens: 80})
	n, err := words(t).Total(t.Context(), out)
	if err != nil || n > 80 || len(out) != 5 || !strings.HasSuffix(out[2].Text(), "stop, do X instead") {
		t.Errorf("%d tokens, %v, %q", n, err, show(out))
	}
}

// The newest words of the user can stand beside results. Then the message before the call stays,
// because an API refuses a list that begins with the assistant.
func TestWordsBesideAResultKeepTheirQuestion(t *testing.T) {
	for _, kinds := range []string{`{"type":"text","text":"Go on."}`, `{"type":"image","source":{"type":"url","url":"u"}}`} {
		list, err := message.DecodeList([]byte(`[{"role":"user","content":"old"},{"role":"assistant","content":"old"},{"role":"user","content":"q"},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"` + strings.Repeat("w ", 300) + `"},` + kinds + `]}]`))
		if err != nil {
			t.Fatal(err)
		}
		for _, room := range []int{20, 60, 200} {
			out := apply(t, truncation(t, TruncationConfig{}), &agent.State{}, list, agent.Budget{MaxTokens: room})
			if !strings.Contains(strings.Join(show(out), "\n"), "u:q\nc:") || out[0].Role != pipeline.RoleUser || message.Check(out, message.FormAnthropic) != nil {
				t.Errorf("%d tokens: %q", room, show(out))
			}
		}
		s := agent.State{Messages: list}
		if out := apply(t, compaction(t, CompactionConfig{TriggerTokens: 60}), &s, list, agent.Budget{}); out != nil && (len(out) != 4 || out[1].Text() != "q") {
			t.Errorf("compacted: %q", show(out))
		}
	}
}
