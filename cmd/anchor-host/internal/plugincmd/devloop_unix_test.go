//go:build unix

package plugincmd

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
)

// devRound is a line of "plugin dev -o json".
type devRound struct {
	Changed, Fixed []string
	Error          string
	Passed, Failed int
	Failures       []struct{ Case string }
}

// The loop builds and tests a project after each change, and names what changed.
func TestPluginDev(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "naïve plugin")
	if code, _, stderr := run(t, "", "plugin", "new", "keep-best", "--dir", dir); code != cli.CodeOK {
		t.Fatal(stderr)
	}
	source, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(source) == 0 {
		t.Fatal(source, err)
	}
	source = slices.DeleteFunc(source, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	right, err := os.ReadFile(source[0])
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "tests", "own.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	save := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save(file, `{"name": "wrong", "operation": "filter", "query": "q", "items": ["a"], "expect": {"error": "no such error"}}`)
	save(source[0], string(right)+"\nfunc broken( {\n")
	dev := program(t, "plugin", "dev", "-o", "json", dir)
	out, err := dev.StdoutPipe()
	if err == nil {
		err = dev.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	next := func(changed ...string) (r devRound) {
		t.Helper()
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &r) != nil {
			t.Fatalf("no round: %q", lines.Text())
		}
		if !slices.Equal(r.Changed, changed) {
			t.Errorf("changed %q, want %q", r.Changed, changed)
		}
		return r
	}
	if r := next(); !strings.Contains(r.Error, "go build") {
		t.Errorf("source that does not compile: %+v, want the error of go build", r)
	}
	save(source[0], string(right))
	if r := next(filepath.Base(source[0])); r.Error != "" || r.Passed == 0 || r.Failed == 0 || len(r.Failures) == 0 || r.Failures[0].Case != "own/wrong" {
		t.Errorf("mended, with a case that fails: %+v, want the failure of own/wrong alone", r)
	}
	save(file, `{"name": "right", "operation": "filter", "query": "q", "items": [{"content": "a fox", "score": 0.9}], "expect": {"texts": ["a fox"]}}`)
	if r := next("tests/own.json"); r.Failed != 0 || len(r.Fixed) == 0 || !strings.HasPrefix(r.Fixed[0], "own/wrong") {
		t.Errorf("the case is gone: %+v, want own/wrong among what is fixed", r)
	}
	if err := dev.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Error(err)
	}
	if err := dev.Wait(); err != nil {
		t.Errorf("it ends after an interrupt with %v, want code %d", err, cli.CodeOK)
	}
}

func TestPluginDevOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{filepath.Join(t.TempDir(), "none")}, cli.CodeNotFound, "none"},
		{[]string{"--once", t.TempDir()}, cli.CodeFailure, ""},
		{[]string{"--once", "-o", "yaml", t.TempDir()}, cli.CodeUsage, "yaml"},
	} {
		code, stdout, stderr := run(t, "", append([]string{"plugin", "dev"}, c.args...)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%v: %d %s %s", c.args, code, stdout, stderr)
		}
	}
}
