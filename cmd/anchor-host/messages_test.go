package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// histories are conversations as the APIs of model makers write them. An agent loop passes
// what it was sent: if one of its messages is refused, or comes out as another, the loop
// ends there.
var histories = map[string]string{
	"parts":                `[{"role":"user","content":[{"type":"text","text":"What is on it?"},{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}}]}]`,
	"developer":            `[{"role":"developer","content":"Be brief."},{"role":"user","content":"hi"}]`,
	"echo of an assistant": `[{"role":"user","content":"hi"},{"role":"assistant","content":"Hello!","refusal":null,"annotations":[]},{"role":"user","content":"so?"}]`,
	"refusal":              `[{"role":"user","content":"hi"},{"role":"assistant","content":null,"refusal":"No <b> & no."},{"role":"user","content":"so?"}]`,
	"tools of openai": `[{"role":"user","content":"hi"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"<a&b>"}}],"refusal":null},` +
		`{"role":"tool","content":[{"type":"text","text":"7"}],"tool_call_id":"c1"}]`,
	"tools of anthropic": `[{"role":"user","content":"hi"},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"t1","name":"f","input":{"big":9007199254740993}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"<7>","is_error":false}]}]`,
}

func TestAssembleTakesRealHistories(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, history := range histories {
		code, stdout, stderr := run(t, history, "assemble", "--strict")
		var out []json.RawMessage
		if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != codeOK {
			t.Errorf("%s: code %d, %v, %s", name, code, err, stderr)
			continue
		}
		same(t, name, compacted(t, stdout), history)
	}
}

func compacted(t *testing.T, doc string) string {
	t.Helper()
	var out strings.Builder
	var v json.RawMessage
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatal(err)
	}
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

// What the run of an agent keeps in the store is what it was sent.
func TestRunsKeepRealHistories(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, history := range histories {
		args := []string{"assemble", "--store", "s.db", "--run", strings.ReplaceAll(name, " ", "-")}
		must(t, history, args...)
		code, stdout, stderr := run(t, "", args...)
		if code != codeOK {
			t.Fatalf("%s: code %d, %s", name, code, stderr)
		}
		same(t, name, compacted(t, stdout), history)
	}
}

// What build prints for an API, assemble takes.
func TestAssembleTakesTheOutputOfBuild(t *testing.T) {
	t.Chdir(t.TempDir())
	request := `{"query": "q", "counting": {"tokenizer": "words"}, "format": "%s", "format_options": {"caching": true}, "items": [{"content": "found", "source": "retrieval"}], "conversation": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}`
	for _, format := range []string{"anthropic", "openai"} {
		if format == "openai" {
			request = strings.Replace(request, `"format_options": {"caching": true}, `, "", 1)
		}
		stdout := must(t, fmt.Sprintf(request, format), "build", "--request", "-")
		var result struct {
			Output struct{ Messages json.RawMessage } `json:"formatted_output"`
		}
		if err := json.Unmarshal([]byte(stdout), &result); err != nil || len(result.Output.Messages) == 0 {
			t.Fatalf("%s: %v, %s", format, err, stdout)
		}
		same(t, format, compacted(t, must(t, string(result.Output.Messages), "assemble", "--strict")), compacted(t, string(result.Output.Messages)))
	}
}

// Calls and results in parts stay or go together, as no API takes one half.
func TestAssembleKeepsPairsOfParts(t *testing.T) {
	t.Chdir(t.TempDir())
	var history []string
	for i := range 20 {
		history = append(history,
			fmt.Sprintf(`{"role":"user","content":"question %d"}`, i),
			fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"f","input":{}}]}`, i),
			fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"some words of a result"}]}`, i),
			`{"role":"assistant","content":"so it is"}`)
	}
	for room := 60; room < 400; room += 7 {
		var out []pipeline.Message
		stdout := must(t, "["+strings.Join(history, ",")+"]", "assemble", "--max-tokens", fmt.Sprint(room), "--set", "counting.tokenizer=words")
		if err := json.Unmarshal([]byte(stdout), &out); err != nil {
			t.Fatal(err)
		}
		calls, results := 0, 0
		for i := range out {
			if len(out[i].Calls()) > 0 {
				calls++
			}
			results += len(out[i].Results())
		}
		if calls != results || len(out) == 0 {
			t.Errorf("room %d: %d calls, %d results of %d messages", room, calls, results, len(out))
		}
	}
}

// The result of a tool that is larger than the budget must not vanish with its call: the
// model would ask for it again, and the loop would never end.
func TestLargeResultIsCut(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "agent: {compaction: {enabled: false}}"}))
	text := strings.TrimSpace(strings.Repeat("word ", 500))
	openAI := `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
		`{"role":"tool","content":"%s","tool_call_id":"c1"}`
	anthropic := `{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"%s"}]}`
	inner := `{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"%s"}]}]}`
	for name, pair := range map[string]string{"openai": openAI, "anthropic": anthropic, "anthropic, parts": inner} {
		for after, tail := range map[string]string{"at the end": "", "before an answer": `,{"role":"assistant","content":"so it is"}`} {
			for _, room := range []int{40, 200} {
				history := `[{"role":"user","content":"how many?"},` + fmt.Sprintf(pair, text) + tail + `]`
				code, stdout, stderr := run(t, history, "assemble", "--set", "counting.tokenizer=words", "--max-tokens", fmt.Sprint(room), "-o", "json")
				var result agent.Assembly
				if err := json.Unmarshal([]byte(stdout), &result); err != nil || code != codeOK {
					t.Fatalf("%s %s: code %d, %v, %s", name, after, code, err, stderr)
				}
				if room == 40 && after != "at the end" {
					continue // it may leave, there is hardly any room
				}
				if got := len(result.Messages); got != 3+strings.Count(tail, "role") {
					t.Errorf("%s %s, %d tokens: %d messages left", name, after, room, got)
					continue
				}
				cut := result.Messages[2].Text()
				if !strings.HasPrefix(cut, "word") || !strings.HasSuffix(cut, "word") || !strings.Contains(cut, "of 500 tokens left out]") || len(result.Messages[2].Results()) != 1 {
					t.Errorf("%s %s, %d tokens: result %q", name, after, room, cut)
				}
				if room == 200 && (result.Diagnostics.TokensOver > 0 || *result.Diagnostics.After.Tokens < 80) {
					t.Errorf("%s %s: %d of 200 tokens", name, after, *result.Diagnostics.After.Tokens)
				}
				if !strings.Contains(stderr, `cut the results of tool calls that do not fit: c1`) {
					t.Errorf("%s %s: nothing says that a result was cut: %s", name, after, stderr)
				}
			}
		}
	}
}

// A conversation can begin with the user, where an API refuses one that does not.
func TestConversationBegin(t *testing.T) {
	for begin, want := range map[string]string{"": `[{"role":"assistant","content":"hello"},{"role":"user","content":"hi"}]`, "begin: user, ": `[{"role":"user","content":"hi"}]`} {
		t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\nformat: openai\nmemory: {conversation: {" + begin +
			"turns: [{role: assistant, content: hello}, {role: user, content: hi}]}}\n"}))
		var out struct{ Messages json.RawMessage }
		if err := json.Unmarshal([]byte(must(t, "", "build", "--set", "window.include_query=false", "q")), &out); err != nil {
			t.Fatal(err)
		}
		same(t, begin, compacted(t, string(out.Messages)), want)
	}
}

// Lists that were compacted or truncated begin with the user, whatever the setting is.
func TestAgentBegin(t *testing.T) {
	history := []string{`{"role":"system","content":"be brief"}`}
	for i := range 10 {
		history = append(history, fmt.Sprintf(`{"role":"user","content":"question %d"},{"role":"assistant","content":"answer %d"}`, i, i))
	}
	for _, compaction := range []string{"true", "false"} {
		answers := map[string]int{}
		for _, begin := range []string{"any", "user"} {
			t.Chdir(write(t, map[string]string{"anchor.yaml": fmt.Sprintf("counting: {tokenizer: words}\nagent: {begin: %s, compaction: {enabled: %s}}\n", begin, compaction)}))
			for most := 2; most < 20; most++ {
				stdout := must(t, "["+strings.Join(history, ",")+"]", "assemble", "--max-messages", fmt.Sprint(most))
				var out []pipeline.Message
				if err := json.Unmarshal([]byte(stdout), &out); err != nil {
					t.Fatalf("%v, %s", err, stdout)
				}
				first := slices.IndexFunc(out, func(m pipeline.Message) bool { return !m.Instructs() })
				if first < 1 {
					t.Fatalf("%d messages: %s", most, stdout)
				}
				if out[first].Role == pipeline.RoleAssistant {
					answers[begin]++
				}
			}
		}
		if len(answers) > 0 {
			t.Errorf("compaction %s: lists that begin with an answer: %v", compaction, answers)
		}
	}
}
