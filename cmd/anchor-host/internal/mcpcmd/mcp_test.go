package mcpcmd

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/registry/lock"
)

// runCommand runs the command with an input, in the current folder.
func runCommand(t *testing.T, in string, args ...string) (out string, err error) {
	t.Helper()
	var stderr bytes.Buffer
	r, w := io.Pipe()
	stdout := closing{end: w}
	go func() { _, _ = io.WriteString(w, in) }()
	a := cli.New(t.Context(), r, &stdout, &stderr)
	cmd := Command(a)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), err
}

// closing closes the input of the command after its last answer, as a client does.
type closing struct {
	bytes.Buffer
	end io.Closer
}

// Write implements [io.Writer].
func (c *closing) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"id":2`)) {
		_ = c.end.Close()
	}
	return c.Buffer.Write(p)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The command answers until its input ends. Its memory is that of the folder: a folder elsewhere does not have it.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "anchor.yaml"), "counting: {tokenizer: words}\nstore: {path: s.db}\n")
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	for _, folder := range []string{one, two} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(folder, name, arguments string) string {
		t.Chdir(folder)
		out, err := runCommand(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}
`, "--config", filepath.Join(dir, "anchor.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		return lines[len(lines)-1]
	}
	if got := ask(one, "save_fact", `{"text":"The tests of this project run with make test."}`); !strings.Contains(got, `"added":true`) {
		t.Fatal(got)
	}
	if got := ask(one, "search_memory", `{"query":"how do the tests run"}`); !strings.Contains(got, "make test") {
		t.Error(got)
	}
	if got := ask(two, "search_memory", `{"query":"how do the tests run"}`); strings.Contains(got, "make test") {
		t.Errorf("another project has it: %s", got)
	}
}

// A server that is not there cannot be approved, and one that no step names does not exist.
func TestApproveRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "anchor.yaml")
	write(t, path, "steps: [{name: a, use: mcp, settings: {server: gone, command: ["+filepath.Join(dir, "no-such")+"], tool: t}}]\n")
	for _, name := range []string{"gone", "other"} {
		if _, err := runCommand(t, "", "approve", "--config", path, name, "--yes"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, lock.Name)); err == nil {
		t.Error("it is approved")
	}
}

// What is shown cannot hide anything from who approves.
func TestReport(t *testing.T) {
	r := report{Server: "x", At: "https://x.example", Changes: []string{`~ "a"`}}
	if err := json.Unmarshal([]byte(`[{"name": "a", "description": "Search.\n\u001b[2K\u202e approved"}]`), &r.Tools); err != nil {
		t.Fatal(err)
	}
	text := r.text().String()
	if strings.ContainsAny(text, "\x1b\u202e") || !strings.Contains(text, `~ "a"`) || !strings.Contains(text, "--yes") {
		t.Errorf("%q", text)
	}
}
