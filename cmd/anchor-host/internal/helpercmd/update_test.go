package helpercmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/authoring"
)

// run runs the command and returns what it prints.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	a := cli.New(t.Context(), strings.NewReader(""), &out, &err)
	cmd := Command(a)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	code = a.Finish(t.Context(), cmd, cmd.ExecuteContext(t.Context()))
	return code, out.String(), err.String()
}

func TestUpdateHelperCommand(t *testing.T) {
	dir, err := authoring.New(authoring.Project{Name: "tidy", Language: "js", Kind: "filter", Dir: filepath.Join(t.TempDir(), "tidy"), Version: cli.Release})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "anchor", "host.d.ts")
	if err := os.WriteFile(file, []byte("// mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := run(t, dir)
	if code != cli.CodeFailure || stdout != "" || !strings.Contains(stderr, "anchor/host.d.ts was edited (keep your change elsewhere, then use --force)") {
		t.Errorf("an edited file: code %d, %q, %q", code, stdout, stderr)
	}
	code, stdout, stderr = run(t, "--dry-run", "-o", "json", dir)
	var u authoring.HelperUpdate
	if err := json.Unmarshal([]byte(stdout), &u); err != nil || code != cli.CodeOK || u.Written || len(u.Files) != 1 || !u.Files[0].Edited || u.From != cli.Release {
		t.Errorf("a dry run: code %d, %q, %q, %v", code, stdout, stderr, err)
	}
	if b, _ := os.ReadFile(file); string(b) != "// mine" {
		t.Error("a dry run wrote a file")
	}
	code, stdout, stderr = run(t, "--force", dir)
	if code != cli.CodeOK || !strings.Contains(stdout, "changed  anchor/host.d.ts  yes") {
		t.Errorf("by force: code %d, %q, %q", code, stdout, stderr)
	}
	code, stdout, stderr = run(t, dir)
	if code != cli.CodeOK || stdout != "" || !strings.Contains(stderr, "no file changes") {
		t.Errorf("again: code %d, %q, %q", code, stdout, stderr)
	}
}
