package docs_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/authoring"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// What an author waits for. Machines that do other work are slower, so a test fails only at
// tolerance times as much; it prints the figure beside its target.
const (
	mostCommands = 10
	shortTest    = 2 * time.Second
	tolerance    = 10
)

// verdicts are the targets of "plugin dev": from an edit to the verdict, once it is warm.
var verdicts = map[string]time.Duration{
	"c": 500 * time.Millisecond, "cpp": 500 * time.Millisecond, "zig": 500 * time.Millisecond,
	"go": 1200 * time.Millisecond, "rust": 1200 * time.Millisecond,
	"js": 2500 * time.Millisecond, "ts": 2500 * time.Millisecond, "java": 3 * time.Second,
}

// edits change what the filter of a new project keeps: a condition is added to another one. A
// comment would not change the module, which would be compiled already.
var edits = map[string]struct{ file, old, add string }{
	"c":    {"plugin.c", "anchor_contains(anchor_at(&r->text, i), word)", " || anchor_at(&r->text, i).len == %d"},
	"cpp":  {"plugin.cpp", "anchor_contains(anchor_at(&r->text, i), word)", " || anchor_at(&r->text, i).len == %d"},
	"zig":  {"plugin.zig", "std.mem.indexOf(u8, r.text(row), word) != null", " or r.text(row).len == %d"},
	"go":   {"main.go", "strings.Contains(it.Text(), s.Word)", " || len(it.Text()) == %d"},
	"rust": {"src/lib.rs", "r.text(row).contains(word)", " || r.text(row).len() == %d"},
	"java": {"src/main/java/Plugin.java", "item.text().contains(word)", " || item.text().length() == %d"},
	"ts":   {"plugin.ts", "request.text(i).includes(word)", " || request.text(i).length == %d"},
	"js":   {"plugin.js", `(item.content ?? "").includes(word)`, " || item.content?.length === %d"},
}

// TestTargets makes a plugin in each language with the commands of its README, and edits it while
// "plugin dev" runs. ANCHOR_LANGUAGES names the languages.
func TestTargets(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it uses the commands of a Unix system")
	}
	wanted := strings.Split(os.Getenv("ANCHOR_LANGUAGES"), ",")
	for _, toolchain := range authoring.Toolchains {
		language := toolchain.Language
		t.Run(language, func(t *testing.T) {
			if !slices.Contains(wanted, language) && (language == "tinygo" || !slices.Contains(wanted, "all")) { // TinyGo has the README of Go
				t.Skipf("set ANCHOR_LANGUAGES=%s to run it", language)
			}
			bin := filepath.Dir(testbuild.Command(t))
			env := append(os.Environ(), "GOFLAGS=-buildvcs=false -trimpath", "GOWORK=", "PATH="+bin+string(os.PathListSeparator)+toolPath(t, language, nil))
			dir := fromNothing(t, language, env)
			if target, ok := verdicts[language]; ok {
				report(t, language+", from an edit to the verdict", editToVerdict(t, language, dir, env, target), target)
			}
		})
	}
	t.Run("a retriever over HTTP", func(t *testing.T) {
		if !slices.Contains(wanted, "go") && !slices.Contains(wanted, "all") {
			t.Skip("set ANCHOR_LANGUAGES=go to run it")
		}
		command, out := testbuild.Command(t), t.TempDir()
		folder := filepath.Join(root, "plugins", "examples", "web-search")
		runCommand(t, nil, command, "plugin", "build", folder, "-o", out+"/")
		best := time.Hour
		for try := 0; try < 3 && best > shortTest; try++ {
			began := time.Now()
			said := runCommand(t, nil, command, "plugin", "test", "--short", filepath.Join(out, "web-search.wasm"), "--cases", filepath.Join(folder, "tests"))
			if best = min(best, time.Since(began)); !strings.Contains(said, "\nown/") || !strings.Contains(said, " 0 failed") {
				t.Fatalf("no case of its own, or a failure:\n%s", said)
			}
		}
		report(t, "plugin test --short of a retriever over HTTP", best, shortTest)
	})
}

// report prints a figure beside its target.
func report(t *testing.T, what string, took, target time.Duration) {
	t.Helper()
	fmt.Printf("%s: %v (target: %v)\n", what, took.Round(time.Millisecond), target)
	if took > tolerance*target {
		t.Errorf("%s: %v, more than %d times the target %v", what, took, tolerance, target)
	}
}

// fromNothing makes a project, and runs the commands of its README up to the test that passes.
func fromNothing(t *testing.T, language string, env []string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "my-plugin")
	commands := 0
	shell := func(folder, command string) string {
		commands++
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", command)
		cmd.Dir, cmd.Env = folder, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	shell(filepath.Dir(dir), "anchor-host plugin new my-plugin --lang "+language)
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands++ // cd my-plugin
	_, block, _ := strings.Cut(string(readme), "```sh\n")
	block, _, _ = strings.Cut(block, "```")
	for command := range strings.Lines(block) {
		said := shell(dir, command)
		if !strings.Contains(command, "plugin test") {
			continue
		}
		if !strings.Contains(said, " 0 failed") {
			t.Errorf("the test is not green:\n%s", said)
		}
		fmt.Printf("%s, from nothing to a test that passes: %d commands (target: %d)\n", language, commands, mostCommands)
		if commands > mostCommands {
			t.Errorf("%d commands, want at most %d", commands, mostCommands)
		}
		return dir
	}
	t.Fatalf("the README has no command that tests the plugin:\n%s", readme)
	return ""
}

// editToVerdict edits the source of a project while "plugin dev" runs until the verdict meets the
// target, at most four times, and returns the shortest time.
func editToVerdict(t *testing.T, language, dir string, env []string, target time.Duration) time.Duration {
	t.Helper()
	how := edits[language]
	source := filepath.Join(dir, how.file)
	text, err := os.ReadFile(source)
	if err != nil || !strings.Contains(string(text), how.old) {
		t.Fatalf("%s has no %s: %v", source, how.old, err)
	}
	cmd := exec.CommandContext(t.Context(), "anchor-host", "plugin", "dev", "-o", "json", dir)
	cmd.Path, cmd.Env, cmd.Err = commandIn(env), env, nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("plugin dev, interrupted: %v", err)
		}
	}()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	best := time.Hour
	for edit := 0; edit < 5 && best > target; edit++ { // the first round is not one
		began := time.Now()
		if edit > 0 {
			changed := strings.Replace(string(text), how.old, how.old+fmt.Sprintf(how.add, 1_000_000+edit), 1)
			if err := os.WriteFile(source, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var r struct {
			Error          string
			Passed, Failed int
		}
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &r) != nil || r.Error != "" || r.Failed > 0 || r.Passed == 0 {
			t.Fatalf("edit %d: %s", edit, lines.Bytes())
		}
		if edit > 0 {
			best = min(best, time.Since(began))
		}
	}
	return best
}

// commandIn returns the path of the command on the first folder of PATH.
func commandIn(env []string) string {
	path := env[len(env)-1]
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "PATH="), string(os.PathListSeparator))
	return filepath.Join(first, "anchor-host")
}
