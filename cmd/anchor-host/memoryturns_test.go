package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/message"
)

// The messages of a file become turns, which a build writes in the form of each API.
func TestMessagesBecomeTurns(t *testing.T) {
	for from, talk := range talks {
		t.Chdir(t.TempDir())
		t.Setenv("XDG_DATA_HOME", t.TempDir())
		if from == message.FormGemini || from == message.FormAnthropic {
			talk = strings.ReplaceAll(talk, `"role": "tool"`, `"role": "user"`)
		}
		if from == message.FormGemini {
			talk = strings.ReplaceAll(strings.ReplaceAll(talk, `"content"`, `"parts"`), `"role": "assistant"`, `"role": "model"`)
		}
		if err := os.WriteFile("talk.json", []byte(talk), 0o600); err != nil {
			t.Fatal(err)
		}
		var turns []struct{ Role, Content string }
		if err := json.Unmarshal([]byte(must(t, "", "memory", "add", "--conversation", "c", "--messages", "talk.json", "-o", "json")), &turns); err != nil || len(turns) != 3 {
			t.Fatalf("%s: %v, %v", from, turns, err)
		}
		must(t, `{"role": "user", "content": "one more"}`, "memory", "add", "--conversation", "c", "--messages", "-")
		for _, to := range message.Forms {
			out := outputOf(t, must(t, "", "build", "--conversation", "c", "--format", string(to), "-o", "json", "and now?"))
			checkTalk(t, string(from)+" to "+string(to), out, to)
			if !strings.Contains(out, "one more") {
				t.Errorf("%s: %s", to, out)
			}
		}
		exported := must(t, "", "memory", "export")
		t.Setenv("XDG_DATA_HOME", t.TempDir())
		must(t, exported, "memory", "import", "-")
		checkTalk(t, "imported", outputOf(t, must(t, "", "build", "--conversation", "c", "--format", string(from), "-o", "json", "and now?")), from)
	}
}

// Input that is no message is refused by its place, and nothing is added.
func TestMessagesThatAreNoTurns(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	for in, want := range map[string]string{
		``:                                     "stdin",
		`7`:                                    "stdin",
		`{"role": "user"}`:                     "[0].content",
		`[{"role": "nobody", "content": "x"}]`: "[0].role",
		`[{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]`: "messages[0].content[0]",
		strings.Repeat("[", 20000): "stdin",
		"[" + strings.Repeat(`{"role": "user", "content": "x"},`, 10000) + `{"role": "user", "content": "x"}]`: "stdin: 10001 messages (want at most 10000: divide the file)",
	} {
		code, _, stderr := run(t, in, "memory", "add", "--conversation", "c", "--messages", "-")
		if code == codeOK || !strings.Contains(stderr, want) {
			t.Errorf("%.60s: %d %s", in, code, stderr)
		}
	}
	for _, args := range [][]string{{"--messages", "-"}, {"--conversation", "c", "--messages", "-", "text"}, {"--conversation", "c", "--messages", "-", "--role", "user"}} {
		if code, _, _ := run(t, `[]`, append([]string{"memory", "add"}, args...)...); code != codeUsage {
			t.Errorf("%v: %d", args, code)
		}
	}
	if out := must(t, "", "memory", "list", "--conversation", "c", "-o", "json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("turns were added: %s", out)
	}
}
