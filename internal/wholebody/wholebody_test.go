package wholebody_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/wholebody"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/store"
)

func load(t *testing.T, more string) *anchor.App {
	t.Helper()
	path := filepath.Join(t.TempDir(), "anchor.yaml")
	if err := os.WriteFile(path, []byte("counting: {tokenizer: words}\n"+more), 0o600); err != nil {
		t.Fatal(err)
	}
	app, err := anchor.Load(path, anchor.Options{Store: store.NewMemory(), CacheDir: "off"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(t.Context()) })
	return app
}

// api is how a loop writes the bodies of an API.
type api struct {
	list, before, after string
	turn                func(n int, result string) []string
}

var apis = map[string]api{
	"anthropic": {
		"messages", `{"model": "claude-x",  "max_tokens":1.0e2, "system": [{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}], "messages": `, `, "tools": [ {"name":"read","description":"reads a page", "input_schema":{"type":"object"}} ], "x_new": {"b":1,"a":2} }`,
		func(n int, result string) []string {
			return []string{
				fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"read","input":{"page":%d}}]}`, n, n),
				fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":%q}]}`, n, result),
			}
		},
	},
	"openai": {
		"messages", `{"model": "gpt-x", "max_completion_tokens":100, "messages": `, `, "tools": [{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}], "seed": 7}`,
		func(n int, result string) []string {
			return []string{
				fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"read","arguments":"{\"page\":%d}"}}]}`, n, n),
				fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":%q}`, n, result),
			}
		},
	},
	"openai-responses": {
		"input", `{"model": "gpt-x", "instructions": "Be brief.", "input": `, `, "tools": [{"type":"function","name":"read","parameters":{"type":"object"}}], "store": false}`,
		func(n int, result string) []string {
			return []string{
				fmt.Sprintf(`{"type":"function_call","call_id":"c%d","name":"read","arguments":"{\"page\":%d}"}`, n, n),
				fmt.Sprintf(`{"type":"function_call_output","call_id":"c%d","output":%q}`, n, result),
			}
		},
	},
}

func page(n int) string {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "page %d line %d is here\n", n, i)
	}
	return b.String()
}

var handles = regexp.MustCompile(`cut-[0-9a-f]{20}`)

// In the loop of an agent, body = assemble(body) is enough, whether the loop keeps its own list or the answer.
func TestALoopSendsWholeBodies(t *testing.T) {
	for name, a := range apis {
		for _, keeps := range []string{"its list", "the answer"} {
			t.Run(name+", "+keeps, func(t *testing.T) {
				app := load(t, "")
				list := []string{`{"role":"user","content":"Which requests failed?"}`}
				var last []json.RawMessage
				for n := range 6 {
					body := a.before + "[" + strings.Join(list, ", ") + "]" + a.after
					out, err := app.AssembleBody(t.Context(), []byte(body), anchor.BodyOptions{AssembleOptions: anchor.AssembleOptions{Run: "r", MaxTokens: 700}})
					if err != nil {
						t.Fatal(err)
					}
					if n == 0 && string(out.Body) != body {
						t.Errorf("a body that fits changed:\n%s", out.Body)
					}
					// All but the list is as it came.
					if got := string(out.Body); !strings.HasPrefix(got, a.before+"[") || !strings.HasSuffix(got, "]"+a.after) {
						t.Fatalf("turn %d: the members changed:\n%s", n, got)
					}
					if tokens := *out.Diagnostics.After.Tokens; tokens > 700 || n > 0 && out.Diagnostics.ToolTokens == 0 {
						t.Errorf("turn %d: %d tokens, %d of tools", n, tokens, out.Diagnostics.ToolTokens)
					}
					members := map[string]json.RawMessage{}
					var now []json.RawMessage
					if json.Unmarshal(out.Body, &members) != nil || json.Unmarshal(members[a.list], &now) != nil {
						t.Fatalf("%s", out.Body)
					}
					if found := handles.FindAllString(string(out.Body), -1); n > 0 && len(found) == 0 {
						t.Errorf("turn %d: no handle", n)
					}
					for id := range n {
						if seen := strings.Count(string(out.Body), fmt.Sprintf(`"page %d line 0`, id)); seen > 1 || id == n-1 && seen != 1 {
							t.Errorf("turn %d: result %d is there %d times", n, id, seen)
						}
					}
					if stored := len(out.State.Messages); stored > 2+2*n {
						t.Errorf("turn %d: the state has %d messages", n, stored)
					}
					if n == 1 && (len(now) < 1 || string(now[0]) != list[0]) {
						t.Errorf("the beginning changed: %s", now)
					}
					if last = now; keeps == "the answer" {
						list = nil
						for _, m := range last {
							list = append(list, string(m))
						}
					}
					list = append(list, a.turn(n, page(n))...)
				}
			})
		}
	}
}

// What providers put into the instructions does not pile up when the answer comes back, and the instructions of the
// caller stay.
func TestInstructionsDoNotPileUp(t *testing.T) {
	app, a := load(t, ""), apis["anthropic"]
	state := &agent.State{Observations: []string{"saw a lamp"}}
	body := a.before + `[{"role":"user","content":"go"}]` + a.after
	for n := range 4 {
		out, err := app.AssembleBody(t.Context(), []byte(body), anchor.BodyOptions{AssembleOptions: anchor.AssembleOptions{Run: "r", State: state}})
		if err != nil {
			t.Fatal(err)
		}
		state = nil // it is stored
		body = string(out.Body)
		var doc struct{ System []struct{ Text string } }
		if err := json.Unmarshal(out.Body, &doc); err != nil {
			t.Fatal(err)
		}
		if len(doc.System) != 2 || doc.System[0].Text != "Be brief." || strings.Count(body, "saw a lamp") != 1 || !strings.Contains(body, "cache_control") {
			t.Fatalf("turn %d: %s", n, body)
		}
		body = strings.Replace(body, `"go"}]`, `"go"},{"role":"assistant","content":"ok"},{"role":"user","content":"go"}]`, 1)
	}
	// A caller that changes its instructions is listened to.
	body = strings.Replace(body, "Be brief.", "Be long.", 1)
	out, err := app.AssembleBody(t.Context(), []byte(body), anchor.BodyOptions{AssembleOptions: anchor.AssembleOptions{Run: "r"}})
	if err != nil || !strings.Contains(string(out.Body), "Be long.") {
		t.Errorf("%v: %s", err, out.Body)
	}
}

// A list that is another one than the last begins anew, and one that was sent before adds nothing. A broken mark, a run
// that went on with lists and SDKs that spell JSON otherwise are all the same.
func TestOtherListsBeginAnew(t *testing.T) {
	app := load(t, "")
	send := func(doc, run string) *anchor.AssembledBody {
		t.Helper()
		out, err := app.AssembleBody(t.Context(), []byte(doc), anchor.BodyOptions{AssembleOptions: anchor.AssembleOptions{Run: run}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	body := func(messages string) string { return `{"model":"gpt-x","messages":` + messages + `}` }
	for _, c := range []struct {
		doc  string
		want int
	}{
		{body(`[{"role":"user","content":"a"}]`), 1},
		{body(`[{"content": "\u0061", "role": "user"}, {"role":"assistant","content":"b"}]`), 2}, // spelled otherwise
		{body(`[{"role":"user","content":"a"}, {"role":"assistant","content":"b"}]`), 2},         // once more
		{body(`[{"role":"user","content":"A"}, {"role":"assistant","content":"b"}, {"role":"user","content":"c"}]`), 3},
		{body(`[{"role":"user","content":"c"}]`), 1},
		{`[{"role":"assistant","content":"d"}]`, 2}, // new messages alone
		{body(`[{"role":"user","content":"c"}]`), 1},
		{body(`[]`), 0},
		{body(`[{"role":"user","content":"x"}]`), 1},
	} {
		if out := send(c.doc, "r"); len(out.State.Messages) != c.want {
			t.Errorf("%s: the state has %d messages, want %d", c.doc, len(out.State.Messages), c.want)
		}
	}
	none := sha256.Sum256([]byte("{}"))
	for _, mark := range []any{
		"{", `{"Form":"openai","Sent":{"N":-1},"Kept":0}`, int64(7), `{"Form":"openai","Sent":{"N":9000000000},"Kept":0}`,
		fmt.Sprintf(`{"Form":"openai","Instructions":"{","Instructed":"%x"}`, none[:16]),
		fmt.Sprintf(`{"Form":"openai","Instructions":"{\"system\":5}","Instructed":"%x"}`, none[:16]),
	} {
		state := &agent.State{Data: map[string]any{wholebody.Key: mark}}
		doc := []byte(body(`[{"role":"user","content":"a"}]`))
		out, err := app.AssembleBody(t.Context(), doc, anchor.BodyOptions{AssembleOptions: anchor.AssembleOptions{Run: "other", State: state}})
		if err != nil || len(out.State.Messages) != 1 {
			t.Errorf("%v: %v", mark, err)
		}
	}
}

// Callers move the mark of what an API caches to the last message. Their list goes on, so nothing is observed twice, and
// no mark stays where the caller has taken it away.
func TestMarksOfCachesMove(t *testing.T) {
	for _, more := range []string{"", "agent: {observation: {make: builtin}}\n"} {
		app, a := load(t, more), apis["anthropic"]
		list := []string{`{"role":"user","content":[{"type":"text","text":"Which requests failed?"}]}`}
		for n := range 8 {
			sent, last := slices.Clone(list), len(list)-1
			at := strings.LastIndex(sent[last], "}]")
			sent[last] = sent[last][:at] + `,"cache_control":{"type":"ephemeral"}` + sent[last][at:]
			body := a.before + "[" + strings.Join(sent, ",") + "]" + a.after
			out, err := app.AssembleBody(t.Context(), []byte(body), anchor.BodyOptions{AssembleOptions: anchor.AssembleOptions{Run: "r", MaxTokens: 3000}})
			if err != nil {
				t.Fatal(err)
			}
			if marks := strings.Count(string(out.Body), "cache_control"); marks != 2 {
				t.Errorf("%q, turn %d: %d marks, want 2 as in the body", more, n, marks)
			}
			if noted := len(out.State.Observations); noted > 2*n {
				t.Errorf("%q, turn %d: %d observations: %q", more, n, noted, out.State.Observations)
			}
			list = append(list, a.turn(n, page(n))...)
		}
	}
}

// An answer in another form comes back. It gets no member of the form that it had before.
func TestAnswersInAnotherFormComeBack(t *testing.T) {
	for _, to := range []message.Form{message.FormOpenAI, message.FormResponses, message.FormGemini} {
		app := load(t, "")
		doc := `{"model":"claude-x","system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"go"}]}`
		o := anchor.BodyOptions{AssembleOptions: anchor.AssembleOptions{Run: "r"}, To: to, Lossy: true}
		for n := range 3 {
			out, err := app.AssembleBody(t.Context(), []byte(doc), o)
			if err != nil {
				t.Fatalf("%s, turn %d: %v", to, n, err)
			}
			members := map[string]any{}
			doc = string(out.Body)
			if err := json.Unmarshal(out.Body, &members); err != nil || members["system"] != nil || strings.Count(doc, "Be brief.") != 1 {
				t.Errorf("%s, turn %d: %v: %s", to, n, err, doc)
			}
			o.To, o.Lossy = message.FormAny, false
		}
	}
}

// What is said of the given messages names their place in the body, wherever the run has them.
func TestRefusedMessagesAreNamedAsInTheBody(t *testing.T) {
	app := load(t, "")
	list := `{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]}`
	for n, want := range []string{"messages[1].content", "messages[1].content"} {
		list += `,{"role":"user","content":"b"}`
		doc := `{"model":"claude-x","max_tokens":5,"system":"Be brief.","messages":[` + list + `]}`
		out, err := app.AssembleBody(t.Context(), []byte(doc), anchor.BodyOptions{AssembleOptions: anchor.AssembleOptions{Run: "r"}})
		if err != nil || !strings.Contains(out.Refused, want) {
			t.Errorf("%d: %v: %q", n, err, out.Refused)
		}
	}
}
