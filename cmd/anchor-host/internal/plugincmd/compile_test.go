package plugincmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
)

// TestPluginCompile compiles a module into a cache, says which cannot be compiled, and refuses a name that
// is not there.
func TestPluginCompile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "anchor.yaml")
	write := func(cache string) {
		text := "plugins: {dir: " + clitest.FixtureDir + ", cache_dir: " + cache + "}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("cache")
	code, stdout, stderr := run(t, "", "plugin", "compile", "keep-first", "--config", file, "-o", "json")
	var lines []compiled
	if err := json.Unmarshal([]byte(stdout), &lines); err != nil || code != cli.CodeOK {
		t.Fatalf("code %d, %v: %s\n%s", code, err, stdout, stderr)
	}
	if len(lines) != 1 || lines[0].Name != "keep-first" || lines[0].Error != "" {
		t.Errorf("the report is %+v", lines)
	}
	if kept, err := filepath.Glob(filepath.Join(dir, "cache", "*", "*", "*")); err != nil || len(kept) == 0 {
		t.Errorf("the cache has no machine code: %v", err)
	}
	code, stdout, stderr = run(t, "", "plugin", "compile", "keep-first", "empty", "--config", file)
	if code == cli.CodeOK || !strings.Contains(stdout, "failed") || !strings.Contains(stdout, "ok") || !strings.Contains(stderr, "the file is empty") {
		t.Errorf("a broken plugin: code %d\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr = run(t, "", "plugin", "compile", "keep-frist", "--config", file); code == cli.CodeOK || !strings.Contains(stderr, `did you mean "keep-first"?`) {
		t.Errorf("an unknown plugin: code %d, %s", code, stderr)
	}
	write("off")
	if code, _, stderr = run(t, "", "plugin", "compile", "--config", file); code == cli.CodeOK || !strings.Contains(stderr, "name a folder") {
		t.Errorf("without a cache: code %d, %s", code, stderr)
	}
	write("cache")
	if err := os.Chmod(filepath.Join(dir, "cache"), 0o777); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		if code, stdout, stderr = run(t, "", "plugin", "compile", "keep-first", "--config", file); code == cli.CodeOK || stdout != "" || !strings.Contains(stderr, "nothing would be kept") {
			t.Errorf("a cache that others may write: code %d, %s%s", code, stdout, stderr)
		}
	}
	if err := os.WriteFile(file, []byte("plugins: {dir: "+t.TempDir()+", cache_dir: other}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr = run(t, "", "plugin", "compile", "--config", file, "-o", "json"); code != cli.CodeOK || strings.TrimSpace(stdout) != "[]" {
		t.Errorf("an empty folder: code %d, %q %s", code, stdout, stderr)
	}
}
