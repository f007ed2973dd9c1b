package providers

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/pipeline/promptcache"
)

// writers write the turns of an agent in the forms of the four APIs: a question, a call with
// its result, several calls with theirs, and an answer.
var writers = map[message.Form]func(n int, text string) []string{
	message.FormOpenAI: func(n int, text string) []string {
		return []string{
			fmt.Sprintf(`{"role":"user","content":%s}`, text),
			fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"a%d","type":"function","function":{"name":"f","arguments":"{}"}}]}`, n),
			fmt.Sprintf(`{"role":"tool","tool_call_id":"a%d","content":%s}`, n, text),
			fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"b%d","type":"function","function":{"name":"f","arguments":"{}"}},`+
				`{"id":"c%d","type":"function","function":{"name":"g","arguments":"{}"}}]}`, n, n),
			fmt.Sprintf(`{"role":"tool","tool_call_id":"b%d","content":%s}`, n, text),
			fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":%s}`, n, text),
			fmt.Sprintf(`{"role":"assistant","content":%s}`, text),
		}
	},
	message.FormAnthropic: func(n int, text string) []string {
		return []string{
			fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":%s}]}`, text),
			fmt.Sprintf(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"a%d","name":"f","input":{}}]}`, n),
			fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a%d","content":%s}]}`, n, text),
			fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"b%d","name":"f","input":{}},{"type":"tool_use","id":"c%d","name":"g","input":{}}]}`, n, n),
			fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"b%d","content":[{"type":"text","text":%s}]},{"type":"tool_result","tool_use_id":"c%d","content":%s}]}`, n, text, n, text),
			fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":%s}]}`, text),
		}
	},
	message.FormResponses: func(n int, text string) []string {
		return []string{
			fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":%s}]}`, text),
			fmt.Sprintf(`{"type":"reasoning","id":"r%d","summary":[],"encrypted_content":"x"}`, n),
			fmt.Sprintf(`{"type":"function_call","call_id":"a%d","name":"f","arguments":"{}"}`, n),
			fmt.Sprintf(`{"type":"function_call_output","call_id":"a%d","output":%s}`, n, text),
			fmt.Sprintf(`{"type":"function_call","call_id":"b%d","name":"f","arguments":"{}"}`, n),
			fmt.Sprintf(`{"type":"function_call","call_id":"c%d","name":"g","arguments":"{}"}`, n),
			fmt.Sprintf(`{"type":"function_call_output","call_id":"b%d","output":%s}`, n, text),
			fmt.Sprintf(`{"type":"function_call_output","call_id":"c%d","output":%s}`, n, text),
			fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":%s}]}`, text),
		}
	},
	message.FormGemini: func(_ int, text string) []string {
		return []string{
			fmt.Sprintf(`{"role":"user","parts":[{"text":%s}]}`, text),
			`{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"s"}]}`,
			fmt.Sprintf(`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":%s}}}]}`, text),
			`{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g","args":{}}}]}`,
			fmt.Sprintf(`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":%s}}},{"functionResponse":{"name":"g","response":{"output":%s}}}]}`, text, text),
			fmt.Sprintf(`{"role":"model","parts":[{"text":%s}]}`, text),
		}
	},
}

// history writes turns with texts of random lengths.
func history(t *testing.T, r *rand.Rand, form message.Form, turns int) []pipeline.Message {
	t.Helper()
	var all []string
	for n := range turns {
		text, err := json.Marshal(fmt.Sprintf("text %d\n%s", n, strings.Repeat("word\n", r.IntN(80)*r.IntN(3))))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, writers[form](n, string(text))...)
	}
	list, err := message.DecodeList([]byte("[" + strings.Join(all, ",") + "]"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Nothing is left that an API refuses, wherever a list ends and whatever the budget is.
func TestWhatStaysIsValid(t *testing.T) {
	for form := range writers {
		truncated := 0
		for seed := range uint64(60) {
			r := rand.New(rand.NewPCG(seed, 7))
			list := history(t, r, form, 1+r.IntN(6))
			list = list[:1+r.IntN(len(list))]
			if message.Check(list, form) != nil {
				continue // it ends between a call and its result
			}
			for _, b := range []agent.Budget{{MaxTokens: 40 + r.IntN(400)}, {MaxMessages: 1 + r.IntN(12)}, {MaxTokens: 100, MaxMessages: 8}} {
				out := apply(t, truncation(t, TruncationConfig{}), &agent.State{}, list, b)
				if out == nil {
					continue
				}
				truncated++
				err := message.Check(out, form)
				if err != nil || len(out) == 0 || out[0].Role != pipeline.RoleUser {
					t.Fatalf("%s, seed %d, %+v: %v\nlist %q\nout  %q", form, seed, b, err, show(list), show(out))
				}
				data, err := message.AppendList(nil, out, form)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := message.DecodeList(data); err != nil {
					t.Fatalf("%s: %v", data, err)
				}
			}
		}
		if truncated < 20 {
			t.Errorf("%s: %d lists truncated", form, truncated)
		}
	}
}

// listNames are the members with the messages of a request.
var listNames = map[message.Form]string{
	message.FormAnthropic: "messages", message.FormOpenAI: "messages", message.FormResponses: "input", message.FormGemini: "contents",
}

// A prompt keeps its beginning from turn to turn: it never changes while the list fits, and
// then once for each step, because a step leaves room for several turns.
func TestPromptKeepsItsBeginning(t *testing.T) {
	t.Parallel()
	rounds := 50
	if os.Getenv("ANCHOR_THOROUGH") == "" {
		rounds = 20
	}
	for _, form := range message.Forms {
		cut := truncation(t, TruncationConfig{Keep: func(string, string) {}})
		whole := chain(t, Config{Enforce: true})
		for name, c := range map[string]struct {
			budget  int
			prepare func(list []pipeline.Message, b agent.Budget) []pipeline.Message
		}{
			"fits": {1 << 20, nil}, "over": {1200, nil},
			"compacted": {1200, func(list []pipeline.Message, b agent.Budget) []pipeline.Message {
				a, err := whole.Assemble(t.Context(), &agent.State{Messages: list}, list, b)
				if err != nil {
					t.Fatal(err)
				}
				return a.Messages
			}},
		} {
			prepare := c.prepare
			if prepare == nil {
				prepare = func(list []pipeline.Message, b agent.Budget) []pipeline.Message {
					if out := apply(t, cut, &agent.State{}, list, b); out != nil {
						return out
					}
					return list
				}
			}
			r := rand.New(rand.NewPCG(5, 9))
			all := history(t, r, form, rounds)
			most := grown(t, all, c.budget)
			tracker, err := promptcache.NewTracker(promptcache.Options{Tokenizer: pipeline.WordTokenizer()})
			if err != nil {
				t.Fatal(err)
			}
			broken, turns := 0, 0
			for n := range all {
				list := all[:n+1]
				if message.Check(list, form) != nil {
					continue
				}
				list = prepare(slices.Clone(list), agent.Budget{MaxTokens: c.budget})
				data, err := message.AppendList([]byte(`{"`+listNames[form]+`":`), list, form)
				if err != nil {
					t.Fatal(err)
				}
				prompt, err := promptcache.NewSnapshot(json.RawMessage(append(data, '}')), nil)
				if err != nil {
					t.Fatal(err)
				}
				report, err := tracker.Observe(t.Context(), "c", prompt, nil)
				if err != nil {
					t.Fatal(err)
				}
				if turns++; report != nil && report.BrokenBy != nil {
					broken++
				}
			}
			if turns < rounds || broken > most || name != "fits" && broken == 0 {
				t.Errorf("%s, %s: the beginning changed %d times in %d turns, want at most %d in %d turns or more", form, name, broken, turns, most, rounds)
			}
		}
	}
}

// grown returns how often the beginning of a list that grows may change: when it first exceeds
// the budget, and then each time that it has grown by three eighths of the budget.
func grown(t *testing.T, list []pipeline.Message, budget int) int {
	t.Helper()
	n, err := words(t).Total(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	if n <= budget {
		return 0
	}
	return (n-budget)/(budget*3/8) + 2
}

func TestCutText(t *testing.T) {
	lines := func(n int, line string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, line+"\n", i)
		}
		return b.String()
	}
	var list []string
	for i := range 900 {
		list = append(list, fmt.Sprintf(`{"id":%d,"name":"item %d"}`, i, i))
	}
	family := strings.Repeat("👨‍👩‍👧‍👦", 2000)
	for name, c := range map[string]struct {
		text  string
		piece func(kept string) bool // whether a half has only whole pieces
	}{
		"log":  {lines(800, "line %d ok"), func(s string) bool { return strings.Count(s, "line ") == strings.Count(s, " ok") }},
		"diff": {lines(800, "+added %d words"), func(s string) bool { return strings.HasPrefix(s, "+") && strings.HasSuffix(s, "words") }},
		"one line of JSON": {"[" + strings.Join(list, ",") + "]", func(s string) bool {
			return strings.Count(s, "{") == strings.Count(s, "}") || strings.Count(s, `"id"`)-strings.Count(s, `"name"`) <= 1
		}},
		"emoji":   {family, func(s string) bool { return strings.Count(s, "👨")*len("👨‍👩‍👧‍👦") == len(s) }},
		"accents": {strings.Repeat("e\u0301", 4000), func(s string) bool { return len(s)%3 == 0 && strings.HasPrefix(s, "e") }},
	} {
		tokenizer, err := pipeline.EncodingTokenizer(pipeline.DefaultEncoding)
		if err != nil {
			t.Fatal(err)
		}
		counts, err := tokenizer.Count(t.Context(), c.text)
		if err != nil {
			t.Fatal(err)
		}
		kept := map[string]string{}
		cut := &cutter{keep: func(handle, text string) { kept[handle] = text }}
		short, err := cut.text(t.Context(), tokenizer, c.text, counts[0], 500)
		if err != nil {
			t.Fatal(err)
		}
		again, err := (&cutter{keep: cut.keep}).text(t.Context(), tokenizer, c.text, counts[0], 500)
		if err != nil || again != short {
			t.Errorf("%s: another cut of the same text, %v", name, err)
		}
		took, err := tokenizer.Count(t.Context(), short)
		head, rest, _ := strings.Cut(short, "\n[about ")
		_, tail, found := strings.Cut(rest, "]\n")
		if err != nil || !found || took[0] > 500 || took[0] < 350 || !utf8.ValidString(short) {
			t.Errorf("%s: %d tokens, %v: %.300q", name, took[0], err, short)
		}
		tail = strings.TrimSuffix(tail, "\n")
		if !strings.HasPrefix(c.text, head) || !strings.HasSuffix(strings.TrimSuffix(c.text, "\n"), tail) || len(head) < len(tail) || len(tail) < 100 {
			t.Errorf("%s: %d bytes of the beginning, %d of the end", name, len(head), len(tail))
		}
		if !c.piece(head) || !c.piece(tail) {
			t.Errorf("%s: cut inside of a piece: %q … %q", name, head[max(0, len(head)-60):], tail[:60])
		}
		if !strings.Contains(short, Handle(c.text)) || len(cut.done) != 1 {
			t.Errorf("%s: no handle", name)
		}
	}
}

// Each text that is cut in the end is kept under its handle, and no other.
func TestKeptTexts(t *testing.T) {
	kept := map[string]string{}
	text := strings.Repeat("w ", 900)
	msgs := script("u:old", "c1:", "r1:"+strings.Repeat("x ", 900), "a:"+strings.Repeat("so ", 90), "u:q", "c2:", "r2:"+text)
	p := truncation(t, TruncationConfig{Keep: func(handle, text string) { kept[handle] = text }})
	out := apply(t, p, &agent.State{}, msgs, agent.Budget{MaxTokens: 400})
	if last := out[len(out)-1].Text(); len(kept) != 1 || kept[Handle(text)] != text || !strings.Contains(last, cutCommand+Handle(text)) {
		t.Errorf("%d texts kept, %q", len(kept), last)
	}
}

// BenchmarkAssembleHistory answers what a call costs for a history of 200 messages and half a
// megabyte that exceeds 100,000 tokens. A warm counter has counted the messages in an earlier call.
func BenchmarkAssembleHistory(b *testing.B) {
	var all []string
	r, some := rand.New(rand.NewPCG(1, 2)), strings.Fields("context cancelled before deadline returned error handler request server timeout retry index of the query that a client sends again")
	for n := range 40 {
		var prose strings.Builder
		for i := range 280 {
			fmt.Fprintf(&prose, "%s %d ", some[r.IntN(len(some))], i*n)
		}
		text, err := json.Marshal(prose.String())
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, writers[message.FormAnthropic](n, string(text))[:5]...)
	}
	doc := []byte("[" + strings.Join(all, ",") + "]")
	run := func(b *testing.B, c *agent.Counter) {
		chain, err := New(Config{Counter: c, Compaction: CompactionConfig{Disabled: true}, Enforce: true, Logger: quiet()})
		if err != nil {
			b.Fatal(err)
		}
		list, err := message.DecodeList(doc)
		if err != nil {
			b.Fatal(err)
		}
		a, err := chain.Assemble(b.Context(), &agent.State{}, list, agent.Budget{MaxTokens: 100_000})
		if err != nil || len(a.Messages) >= len(list) || *a.Diagnostics.After.Tokens > 100_000 {
			b.Fatal(err, len(a.Messages), a.Diagnostics)
		}
		if _, err := message.AppendList(nil, a.Messages, message.FormAny); err != nil {
			b.Fatal(err)
		}
	}
	counter := func() *agent.Counter {
		c, err := agent.NewCounter(agent.CounterConfig{})
		if err != nil {
			b.Fatal(err)
		}
		return c
	}
	b.Run("cold", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			run(b, counter())
		}
	})
	b.Run("warm", func(b *testing.B) {
		c := counter()
		run(b, c)
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			run(b, c)
		}
	})
}

// The memory that truncation takes grows with the list, even if every result in it is cut. At the
// square of its length, a long list ran into the time limit of a provider and stayed as it was.
func TestCutsOfALongList(t *testing.T) {
	cut := truncation(t, TruncationConfig{})
	took := func(turns int) uint64 {
		var msgs []pipeline.Message
		for i := range turns {
			id := fmt.Sprint("c", i)
			msgs = append(msgs, message.New(pipeline.RoleUser, "q"),
				pipeline.Message{Role: pipeline.RoleAssistant, Parts: []message.Part{message.NewCall(id, "f", "{}")}}, message.NewResult(id, "f", strings.Repeat("r ", 90)))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out := apply(t, cut, &agent.State{}, msgs, agent.Budget{MaxTokens: 100})
		runtime.ReadMemStats(&after)
		if len(out) == 0 || len(out) > 6 {
			t.Errorf("%d of %d messages stay", len(out), len(msgs))
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	took(10)
	if few, many := took(1000), took(4000); many > 6*few {
		t.Errorf("%d bytes for a list, %d for one that is four times as long", few, many)
	}
}

// An item in which the API keeps the earlier history stays as it is.
func TestCompactionItemStays(t *testing.T) {
	const item = `{"type":"compaction","id":"k","encrypted_content":"sealed"}`
	items := []string{`{"type":"message","role":"user","content":[{"type":"input_text","text":"old"}]}`, item}
	for n := range 20 {
		items = append(items, writers[message.FormResponses](n, `"some words that take room in the list"`)...)
	}
	list, err := message.DecodeList([]byte("[" + strings.Join(items, ",") + "]"))
	if err != nil {
		t.Fatal(err)
	}
	out := apply(t, truncation(t, TruncationConfig{}), &agent.State{}, list, agent.Budget{MaxTokens: 300})
	data, err := message.AppendList(nil, out, message.FormResponses)
	if err != nil || len(out) == 0 || len(out) >= len(list) || strings.Count(string(data), item) != 1 || message.Check(out, message.FormResponses) != nil {
		t.Errorf("%v, %d of %d messages: %s", err, len(out), len(list), data)
	}
}
