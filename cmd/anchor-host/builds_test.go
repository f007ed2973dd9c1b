package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/builds"
)

// Records of builds are listed, shown, drawn, compared and removed. Without content no output has a
// text.
func TestBuildsCommands(t *testing.T) {
	for _, content := range []bool{false, true} {
		t.Run(fmt.Sprint("content ", content), func(t *testing.T) {
			t.Chdir(t.TempDir())
			yaml := fmt.Sprintf("builds: {records: {content: %t}}\nstore: {path: s.db}\ncounting: {tokenizer: words}\nwindow: {max_tokens: 10}\n", content)
			if err := os.WriteFile("anchor.yaml", []byte(yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"hidden one", "hidden two"} {
				doc := `{"query": "ask", "counting": {"tokenizer": "words"}, "items": [{"id": "a", "content": "` + text + `", "source": "user", "created_at": "2026-01-01T00:00:00Z"}]}`
				if code, _, stderr := run(t, doc, "build", "--config", "anchor.yaml", "--request", "-"); code != codeOK {
					t.Fatal(stderr)
				}
			}
			code, stdout, stderr := run(t, "", "builds", "list", "--since", "1h", "--outcome", "ok", "-o", "json")
			var page builds.Page
			if err := json.Unmarshal([]byte(stdout), &page); err != nil || code != codeOK || len(page.Builds) != 2 {
				t.Fatalf("code %d: %v\n%s%s", code, err, stdout, stderr)
			}
			b, a := page.Builds[0].ID, page.Builds[1].ID
			var all strings.Builder
			for _, tt := range []struct {
				args []string
				code int
				want string
			}{
				{[]string{"list"}, codeOK, a},
				{[]string{"list", "--limit", "1"}, codeOK, "more builds: --cursor "},
				{[]string{"list", "--user", "ann"}, codeOK, "no such builds of the tenant default (--tenant names another one)"},
				{[]string{"list", "--key", "k"}, codeOK, "no such builds"},
				{[]string{"list", "--request-id", "r"}, codeOK, "no such builds"},
				{[]string{"list", "--item", "a"}, codeOK, a},
				{[]string{"list", "--item", "b"}, codeOK, "no such builds"},
				{[]string{"list", "--query", "asked"}, codeOK, "no such builds"},
				{[]string{"explain", a}, codeOK, "items in the window  1 of 1"},
				{[]string{"explain", a, "-o", "json"}, codeOK, `"outcome": "ok"`},
				{[]string{"explain", a, "--svg", "-"}, codeOK, "<svg "},
				{[]string{"explain", a, b}, codeOK, "rewritten  a  user"},
				{[]string{"explain", a, b, "--svg", "-"}, codeOK, "a, user, 2 tokens: rewritten"},
				{[]string{"list", "--outcome", "good"}, codeUsage, "want ok, degraded or failed"},
				{[]string{"list", "--since", "yesterday"}, codeUsage, "want an age such as 24h or 7d"},
				{[]string{"list", "--cursor", "x"}, codeInvalid, "begin again without a cursor"},
				{[]string{"explain", "01a22706-84e0-7eb4-a01b-f0d10cfa9076"}, codeNotFound, `build "01a22706-84e0-7eb4-a01b-f0d10cfa9076": not found: the tenant "default" has no record`},
				{[]string{"remove"}, codeUsage, "name builds, or give --all"},
				{[]string{"remove", "none"}, codeNotFound, "none of these IDs"},
				{[]string{"list", "--tenant", "other", "-o", "json"}, codeOK, `"builds": []`},
			} {
				code, stdout, stderr := run(t, "", buildsLine(tt.args)...)
				if code != tt.code || !strings.Contains(stdout+stderr, tt.want) {
					t.Errorf("%q: code %d, want %d and %q: %s%s", tt.args, code, tt.code, tt.want, stdout, stderr)
				}
				all.WriteString(stdout)
			}
			code, stdout, stderr = run(t, "", "builds", "list", "--query", "ASK")
			if code != codeOK || strings.Contains(stdout, a) != content || content && !strings.HasSuffix(strings.TrimSpace(stdout), " ask") {
				t.Errorf("by the question: code %d: %s%s", code, stdout, stderr)
			}
			if strings.Contains(all.String(), "hidden") != content {
				t.Errorf("texts: %s", all.String())
			}
			code, stdout, stderr = run(t, "", "explain", a, "--as-request")
			if content {
				if code != codeOK {
					t.Fatal(stderr)
				}
				code, stdout, stderr = run(t, stdout, "build", "--request", "-")
				if code != codeOK || !strings.Contains(stdout, "hidden one") {
					t.Errorf("code %d: %s%s", code, stdout, stderr)
				}
			} else if code != codeNotFound || !strings.Contains(stderr, "records keep it with content: true") {
				t.Errorf("code %d: %s", code, stderr)
			}
			if code, stdout, _ := run(t, "", "builds", "remove", "--all"); code != codeOK || stdout != "removed: 2\n" {
				t.Errorf("code %d: %s", code, stdout)
			}
		})
	}
}

// buildsLine is a command line under builds, or that of explain.
func buildsLine(args []string) []string {
	if args[0] == "explain" {
		return args
	}
	return append([]string{"builds"}, args...)
}

// A build says who asked for it and what, so that the build of a complaint is found without the console.
func TestBuildOfAUserIsShown(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("anchor.yaml", []byte("builds: {records: {content: true}}\nstore: {path: s.db}\ncounting: {tokenizer: words}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run(t, "", "build", "--user", "ann", "Where is my refund?"); code != codeOK {
		t.Fatal(stderr)
	}
	code, stdout, stderr := run(t, "", "builds", "list", "--user", "ann", "--query", "refund where")
	if code != codeOK || !strings.Contains(stdout, " ann ") || !strings.Contains(stdout, "Where is my refund?") {
		t.Fatalf("code %d: %s%s", code, stdout, stderr)
	}
	id, _, _ := strings.Cut(strings.Split(stdout, "\n")[1], " ")
	code, stdout, stderr = run(t, "", "explain", id)
	for _, want := range []string{"user                 ann\n", "question             Where is my refund?\n", "key                  -\n", "request id           -\n", "cost                 -\n"} {
		if code != codeOK || !strings.Contains(stdout, want) {
			t.Errorf("code %d, want %q: %s%s", code, want, stdout, stderr)
		}
	}
}
