package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/pipeline/providers"
)

// bodies are requests to the four APIs, written as people write them: with white space, members
// in any order, escapes, and members that nobody knows.
var bodies = map[string]string{
	"anthropic": `{
  "model": "claude-x", "max_tokens": 1024, "unknown": {"a": [1.0, "\u00e9"]},
  "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
  "tools": [{"name": "look", "input_schema": {"type": "object"}}],
  "messages": [
    {"role": "user", "content": "OLD"},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "tool_use", "id": "t1", "name": "look", "input": {"n": 1.50}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "LONG"}]},
    {"role": "user", "content": "NEW"}
  ], "stream": true
}
`,
	"openai": `{"model": "gpt-x", "messages": [
  {"role": "system", "content": "Be brief."}, {"role": "user", "content": "OLD"},
  {"role": "assistant", "content": null, "refusal": null, "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "look", "arguments": "{\"n\": 1.50}"}}]},
  {"role": "tool", "tool_call_id": "t1", "content": "LONG"},
  {"role": "user", "content": "NEW"}], "seed": 7}`,
	"openai-responses": `{"model": "gpt-x", "instructions": "Be brief.", "store": false, "input": [
  {"role": "user", "content": "OLD"},
  {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "x"},
  {"type": "function_call", "id": "f1", "call_id": "t1", "name": "look", "arguments": "{}"},
  {"type": "function_call_output", "call_id": "t1", "output": "LONG"},
  {"role": "user", "content": "NEW"}]}`,
	"gemini": `{"contents": [
  {"role": "user", "parts": [{"text": "OLD"}]},
  {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "s"}]},
  {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "LONG"}}}]},
  {"role": "user", "parts": [{"text": "NEW"}]}],
  "systemInstruction": {"parts": [{"text": "Be brief."}]}, "generationConfig": {"temperature": 1.0}}`,
}

// What fits comes out as it came in, to the last byte.
func TestAssembleReturnsBodies(t *testing.T) {
	t.Chdir(t.TempDir())
	for form, body := range bodies {
		for _, args := range [][]string{{"assemble", "--strict"}, {"assemble", "--strict", "--from", form}, {"assemble", "--to", form}} {
			if got := must(t, body, args...); strings.TrimSuffix(got, "\n") != strings.TrimSuffix(body, "\n") {
				t.Errorf("%s %q: %s", form, args, got)
			}
		}
		code, stdout, stderr := run(t, body, "assemble", "-o", "json")
		var doc struct {
			Body        json.RawMessage
			Diagnostics struct {
				Before struct{ Messages int }
			}
		}
		if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != codeOK || doc.Diagnostics.Before.Messages < 5 {
			t.Errorf("%s: code %d, %v, %s", form, code, err, stderr)
		}
		same(t, form, compacted(t, string(doc.Body)), compacted(t, body))
	}
	list := "[ {\"role\": \"user\",\n  \"content\": \"<hi>\"} ,{\"role\":\"assistant\",\"content\":[]} ]\n"
	if got := must(t, list, "assemble"); got != list {
		t.Errorf("a list: %q", got)
	}
}

// In a body that is too long messages are left out and results cut, and nothing else changes.
func TestAssembleShortensBodies(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\nagent: {compaction: {enabled: false}}"}))
	for form, body := range bodies {
		long := strings.Replace(body, "LONG", strings.TrimSpace(strings.Repeat("word ", 500)), 1)
		limit := 200
		if strings.Contains(body, `"tools"`) {
			limit += 530 // the upper end of what tools cost besides their definitions
		}
		code, stdout, stderr := run(t, long, "assemble", "--max-tokens", strconv.Itoa(limit), "--strict")
		if code != codeDegraded || !json.Valid([]byte(stdout)) || !strings.Contains(stdout, " of 5") || !strings.Contains(stdout, " tokens left out]") {
			t.Errorf("%s: code %d, %s, %s", form, code, stderr, stdout)
		}
		before, _, _ := strings.Cut(long, "word word")
		_, after, _ := strings.Cut(long, "word word\"")
		if !strings.HasPrefix(stdout, before) || !strings.HasSuffix(strings.TrimSpace(stdout), strings.TrimSpace(after)) {
			t.Errorf("%s: more than the result changed: %s", form, stdout)
		}
		old := strings.Replace(body, `"OLD"`, `"OLD `+strings.Repeat("word ", 500)+`"`, 1)
		stdout = must(t, old, "assemble", "--max-tokens", "60")
		if strings.Contains(stdout, "OLD") || !strings.Contains(stdout, "NEW") || strings.Contains(stdout, "t1") || !strings.Contains(stdout, "Be brief.") {
			t.Errorf("%s: %s", form, stdout)
		}
		if again := must(t, stdout, "assemble", "--max-tokens", "60"); again != stdout {
			t.Errorf("%s: once more: %s", form, again)
		}
	}
}

func TestAssembleConvertsBodies(t *testing.T) {
	t.Chdir(t.TempDir())
	code, stdout, stderr := run(t, bodies["anthropic"], "assemble", "--to", "openai")
	if code != codeInvalid || stdout != "" || !strings.Contains(stderr, "cannot be written without a loss") {
		t.Errorf("code %d, %s, %s", code, stdout, stderr)
	}
	for from, body := range bodies {
		for to := range bodies {
			code, stdout, stderr := run(t, body, "assemble", "--to", to, "--lossy")
			if code != codeOK || !json.Valid([]byte(stdout)) || !strings.Contains(stdout, "look") || !strings.Contains(stdout, "NEW") {
				t.Errorf("%s to %s: code %d, %s, %s", from, to, code, stdout, stderr)
			}
			if from == "anthropic" && to == "openai" && (!strings.Contains(stderr, "left out: ") || !strings.Contains(stdout, `"tool_call_id":"t1"`)) {
				t.Errorf("%s to %s: %s, %s", from, to, stdout, stderr)
			}
		}
	}
	list := `[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"7"}]`
	if got := must(t, list, "assemble", "--to", "anthropic"); !strings.Contains(got, `"tool_use_id":"a"`) {
		t.Errorf("a list: %s", got)
	}
}

// The tools of a body take their part of the budget, once.
func TestToolsOfABodyCount(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\nagent: {compaction: {enabled: false}}"}))
	body := fmt.Sprintf(`{"model":"m","max_tokens":5,"tools":[{"name":"f","description":%q,"input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"one two three"},{"role":"assistant","content":"four"},{"role":"user","content":"five"}]}`,
		strings.Repeat("word ", 100))
	for limit, fits := range map[string]bool{"90": false, "600": false, "660": true} {
		code, stdout, stderr := run(t, body, "assemble", "--max-tokens", limit, "-o", "json")
		var doc struct {
			Diagnostics struct {
				Tools int `json:"tool_tokens"`
				After struct{ Messages int }
			}
		}
		if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != codeOK || doc.Diagnostics.Tools < 100 || (doc.Diagnostics.After.Messages == 3) != fits {
			t.Errorf("%s tokens: code %d, %v, %+v, %s", limit, code, err, doc, stderr)
		}
	}
}

// growing returns the turns of a conversation, from one to another, as lists in each form.
func growing(from, to int) map[message.Form]string {
	turns := map[message.Form]string{
		message.FormAnthropic: `{"role":"user","content":[{"type":"text","text":"ask N TEXT"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"tN","name":"f","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"tN","content":"TEXT"}]},
			{"role":"assistant","content":[{"type":"text","text":"answer N"}]}`,
		message.FormOpenAI: `{"role":"user","content":"ask N TEXT"},
			{"role":"assistant","content":null,"tool_calls":[{"id":"tN","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"tN","content":"TEXT"},
			{"role":"assistant","content":"answer N"}`,
		message.FormResponses: `{"type":"message","role":"user","content":[{"type":"input_text","text":"ask N TEXT"}]},
			{"type":"function_call","call_id":"tN","name":"f","arguments":"{}"},
			{"type":"function_call_output","call_id":"tN","output":"TEXT"},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"answer N"}]}`,
		message.FormGemini: `{"role":"user","parts":[{"text":"ask N TEXT"}]},
			{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"TEXT"}}}]},
			{"role":"model","parts":[{"text":"answer N"}]}`,
	}
	for form, turn := range turns {
		list := make([]string, 0, to-from)
		for n := from; n < to; n++ {
			list = append(list, strings.NewReplacer("N", strconv.Itoa(n), "TEXT", strings.Repeat("word ", 30)).Replace(turn))
		}
		turns[form] = "[" + strings.Join(list, ",") + "]"
	}
	return turns
}

// A summary is written for every API without a loss, and the tokens that are stated are those of
// what is written.
func TestSummariesConvert(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\n"}))
	type result struct {
		Messages    json.RawMessage
		Diagnostics struct {
			After struct{ Tokens int }
		}
	}
	for from, list := range growing(0, 20) {
		for _, to := range message.Forms {
			var out, again result
			if err := json.Unmarshal([]byte(must(t, list, "assemble", "--max-tokens", "500", "--to", string(to), "-o", "json")), &out); err != nil {
				t.Fatal(err)
			}
			if text := string(out.Messages); !strings.Contains(text, providers.SummaryHeader) || strings.Contains(text, `"summary"`) {
				t.Errorf("%s to %s: %s", from, to, text)
			}
			if err := json.Unmarshal([]byte(must(t, string(out.Messages), "assemble", "-o", "json")), &again); err != nil {
				t.Fatal(err)
			}
			if stated, counted := out.Diagnostics.After.Tokens, again.Diagnostics.After.Tokens; stated != counted {
				t.Errorf("%s to %s: %d tokens stated, %d counted", from, to, stated, counted)
			}
		}
	}
}

// A run is written in the form of its messages, also after a compaction.
func TestRunsKeepTheirForm(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\n"}))
	for form, list := range growing(0, 20) {
		args := []string{"assemble", "--max-tokens", "500", "--store", "s.db", "--run", string(form)}
		for range 3 { // in the second and third call the summary is one of the state
			out := must(t, list, args...)
			messages, err := message.DecodeList([]byte(out))
			if err != nil {
				t.Fatal(err)
			}
			own := 0
			for i := range messages {
				switch other := messages[i].Form(); other {
				case form:
					own++
				case message.FormAny:
				default:
					t.Fatalf("%s: message %d is of %s: %s", form, i, other, out)
				}
			}
			if own == 0 {
				t.Errorf("no message is of the form %s: %s", form, out)
			}
			list = growing(20, 21)[form]
		}
	}
}

// Tools that alone exceed the budget are named, with the budget that was given.
func TestToolsOverTheBudget(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\n"}))
	body := fmt.Sprintf(`{"model":"m","max_tokens":5,"tools":[{"name":"f","description":%q,"input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"one two three"}]}`,
		strings.Repeat("word ", 100))
	code, stdout, stderr := run(t, body, "assemble", "--strict", "--max-tokens", "40", "-o", "json")
	var doc struct {
		Diagnostics struct {
			Tools int `json:"tool_tokens"`
			Over  int `json:"tokens_over"`
			After struct{ Tokens int }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatal(err, stdout)
	}
	d := doc.Diagnostics
	if code != codeDegraded || d.Tools < 100 || d.Over != d.Tools+d.After.Tokens-40 ||
		!strings.Contains(stderr, fmt.Sprintf("the messages and the tools exceed max_tokens 40 by %d (the tools take %d;", d.Over, d.Tools)) {
		t.Errorf("%d, %+v: %s", code, d, stderr)
	}
}

func TestAssembleRefusesBodies(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		doc  string
		args []string
		code int
		want string
	}{
		{`{"model":"m","messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":1}]}]}`, nil, codeInvalid, `stdin: body: messages[1].content[0].text: 1: invalid value (want a string)`},
		{`{"model":"m","contents":[{"role":"usr","parts":[]}]}`, nil, codeInvalid, `contents[0].role`},
		{`[{"role":"usr"}]`, nil, codeInvalid, `[0].role: "usr": invalid value`},
		{`{"messages":[],"budgte":{}}`, nil, codeInvalid, `budgte: unknown key (did you mean "budget"?)`},
		{bodies["openai"], []string{"--to", "bard"}, codeUsage, `flag --to: want one of anthropic, openai, openai-responses, gemini`},
		{`{"model":"m","messages":[`, nil, codeInvalid, `the document ends`},
	} {
		code, stdout, stderr := run(t, c.doc, append([]string{"assemble"}, c.args...)...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%.60s %q: code %d, %s\nwant %d, %s", c.doc, c.args, code, stderr, c.code, c.want)
		}
	}
}
