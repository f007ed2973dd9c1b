package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

var cutHandle = regexp.MustCompile(`anchor-host memory get (cut-[0-9a-f]{20})\]`)

// What is missing of a result can be read again, in a run of the store, and only there.
func TestCutResultCanBeRead(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\nagent: {compaction: {enabled: false}}"}))
	text := "first line\n" + strings.Repeat("a <b> & é word\n", 300) + "last line\n"
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	history := `[{"role":"user","content":"how many?"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":` + string(quoted) + `,"cache_control":{"type":"ephemeral"}}]}]`
	code, stdout, stderr := run(t, history, "assemble", "--store", "s.db", "--run", "r", "--max-tokens", "400", "--strict")
	if code != codeDegraded || !strings.Contains(stderr, "cut the results of tool calls that do not fit: c1") || !strings.Contains(stderr, "1 results cut, 0 messages left out (--strict)") {
		t.Errorf("code %d, %s", code, stderr)
	}
	found := cutHandle.FindStringSubmatch(stdout)
	if found == nil || !strings.Contains(stdout, `first line\na <b> & é word`) || !strings.Contains(stdout, `last line\n`) || !strings.Contains(stdout, `"cache_control":{"type":"ephemeral"}`) {
		t.Fatalf("output %s", stdout)
	}
	if again := must(t, "", "assemble", "--store", "s.db", "--run", "r", "--max-tokens", "400"); again != stdout {
		t.Errorf("the next call prints\n%s\nwant\n%s", again, stdout)
	}
	for _, args := range [][]string{{found[1]}, {"--run", "r", found[1]}} {
		if got := must(t, "", append([]string{"memory", "get", "--store", "s.db"}, args...)...); got != text {
			t.Errorf("%q: %.80q …", args, got)
		}
	}
	for _, args := range [][]string{{"cut-0"}, {"--run", "other", found[1]}, {"--tenant", "other", found[1]}} {
		if code, stdout, stderr := run(t, "", append([]string{"memory", "get", "--store", "s.db"}, args...)...); code != codeNotFound || stdout != "" {
			t.Errorf("%q: code %d, %q, %s", args, code, stdout, stderr)
		}
	}
	copied := must(t, must(t, "", "memory", "export", "--store", "s.db"), "memory", "import", "--store", "t.db", "-")
	if got := must(t, "", "memory", "get", "--store", "t.db", found[1]); got != text {
		t.Errorf("after export and import: %.80q …, %s", got, copied)
	}
	if alone := must(t, history, "assemble", "--max-tokens", "400"); cutHandle.MatchString(alone) || !strings.Contains(alone, "tokens left out]") {
		t.Errorf("without a run: %s", alone)
	}
}

// Messages that do not fit are a loss that a caller can ask to hear of.
func TestLeftOutMessagesAreReported(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\nagent: {compaction: {enabled: false}}"}))
	history := `[{"role":"user","content":"a b c d"},{"role":"assistant","content":"e f g h"},{"role":"user","content":"i"}]`
	code, stdout, stderr := run(t, history, "assemble", "--max-tokens", "9", "--strict", "-o", "json")
	if code != codeDegraded || !strings.Contains(stderr, `provider "truncation" left out 2 of 3 messages`) || !strings.Contains(stdout, `"left_out": 2`) {
		t.Errorf("code %d, %s\n%s", code, stderr, stdout)
	}
	if code, _, stderr := run(t, history, "assemble", "--max-tokens", "90", "--strict"); code != codeOK || strings.Contains(stderr, "left out") {
		t.Errorf("code %d, %s", code, stderr)
	}
}

// What a form has no place for is a loss, too.
func TestLossyConversionIsReported(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}"}))
	body := `{"model":"claude-1","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"b","signature":"c"},{"type":"text","text":"d"}]},{"role":"user","content":"e"}]}`
	args := []string{"assemble", "--to", "openai", "--lossy"}
	if code, _, stderr := run(t, body, args...); code != codeOK || !strings.Contains(stderr, "left out: ") {
		t.Errorf("code %d, %s", code, stderr)
	}
	if code, _, stderr := run(t, body, append(args, "--strict")...); code != codeDegraded {
		t.Errorf("code %d, %s", code, stderr)
	}
}

// A text that is not UTF-8 is refused, because another text would be sent in its place.
func TestBodyThatIsNotUTF8IsRefused(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}"}))
	code, stdout, stderr := run(t, "[{\"role\":\"user\",\"content\":\"a\xff\"}]", "assemble")
	if code == codeOK || stdout != "" || !strings.Contains(stderr, "[0].content") || !strings.Contains(stderr, "UTF-8") {
		t.Errorf("code %d, %q, %s", code, stdout, stderr)
	}
}

// A summary that names old messages is no loss. Lines that it drops are.
func TestDroppedLinesAreReported(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}"}))
	var list []string
	for range 40 {
		list = append(list, `{"role":"user","content":"please count a b c d e f"}`, `{"role":"assistant","content":"one two three four five six"}`)
	}
	history := "[" + strings.Join(list, ",") + `,{"role":"user","content":"go on"}]`
	code, stdout, stderr := run(t, history, "assemble", "--max-tokens", "200", "--strict", "-o", "json")
	if code != codeDegraded || !strings.Contains(stderr, `provider "compaction" dropped or shortened`) || !strings.Contains(stdout, `"dropped_lines": `) {
		t.Errorf("code %d, %s\n%s", code, stderr, stdout)
	}
	long := make([]string, 5)
	for i := range long {
		long[i] = `{"role":"user","content":"please count ` + strings.Repeat("word ", 250) + `"}`
	}
	code, stdout, stderr = run(t, "["+strings.Join(long, ",")+"]", "assemble", "--max-tokens", "800", "--strict")
	if code != codeOK || !strings.Contains(stdout, "user: please") || strings.Contains(stderr, "warning") {
		t.Errorf("code %d, %s\n%s", code, stderr, stdout)
	}
}

// A warning names what the API refuses, and the output is printed all the same.
func TestInputThatTheAPIRefuses(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}"}))
	const (
		use    = `{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]}`
		result = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]}`
		call   = `{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}`
	)
	for input, want := range map[string]string{
		`[` + use + `,{"role":"user","content":"b"}]`:                                                                     `messages[1].content: the call "c" has no result`,
		`[{"role":"user","content":"a"},` + result + `]`:                                                                  `messages[1].content[0].tool_use_id: no call before has the id "c"`,
		`[` + use + `,` + result + `,` + use + `,` + result + `]`:                                                         `messages[4].content[0].id: "c"`,
		`{"model":"claude-1","max_tokens":9,"messages":[{"role":"user","content":""}]}`:                                   `messages[0].content`,
		`{"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[` + call + `,` + call + `]}]}`:      `messages[1].tool_calls[1].id: "c"`,
		`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"tool","content":"r"}]}`:           `messages[1].tool_call_id: no call`,
		`[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%%%"}}]}]`: `messages[0].content[0].data: "%%%"`,
		`[` + use + `,` + result + `]`:                                                                                    "",
		`{"model":"m","previous_response_id":"x","input":[{"type":"function_call_output","call_id":"c","output":"r"}]}`:   "",
		`{"system":"s","messages":[` + use + `,{"role":"user","content":"b"}]}`:                                           `messages[1].content: the call "c" has no result`,
		`{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[]}]}`:                          `contents[0].parts: empty`,
		`[{"role":"user","content":""}]`:                                                                                  "",
	} {
		code, stdout, stderr := run(t, input, "assemble", "-o", "json")
		warned := strings.Contains(stderr, "refuses the given messages: "+want) && strings.Contains(stdout, "refuses the given messages")
		if code != codeOK || stdout == "" || warned != (want != "") {
			t.Errorf("%s: code %d, %s", input, code, stderr)
		}
		code, _, stderr = run(t, input, "assemble", "--strict")
		if (code == codeDegraded) != (want != "") || (code == codeOK) != (want == "") {
			t.Errorf("%s: code %d, %s", input, code, stderr)
		}
	}
}

// The result of a call of an earlier assembly of the run has its call in the state.
func TestResultsOfARunHaveTheirCalls(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}"}))
	args := []string{"assemble", "--store", "s.db", "--run", "r"}
	run(t, `[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]}]`, args...)
	code, _, stderr := run(t, `[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]}]`, append(args, "--strict")...)
	if code != codeOK || strings.Contains(stderr, "warning") {
		t.Errorf("code %d, %s", code, stderr)
	}
}
