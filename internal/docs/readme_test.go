package docs_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const root = "../.."

// The commands of each page run in order, in one shell, in a copy of what a clone holds.
func TestCommands(t *testing.T) {
	for page, want := range map[string]struct {
		commands int      // at least
		prints   []string // among other things
	}{
		"README.md": {15, []string{
			"Limits of plugins > Limit a plugin's memory", // the first answer
			"encoding/json.Unmarshal",                     // the demo
			"operations",                                  // inspect
			"dedupe/README.md",                            // the site's build, explained
			`"used_tokens": 2`,                            // the request
			"event: result",                               // the service
			`"generation":2`,                              // its reload
			"a window of 1275 tokens",                     // the embedded App
		}},
		"docs/operate.md": {20, []string{
			"of 425 tokens",                     // the flag counts before the environment
			"Find out what happened in a build", // what was found
			"2     assistant  ",                 // the conversation
			"sha256:",                           // the pin
		}},
		"docs/operate-service.md": {10, []string{
			"event: result",         // the service
			`"brought_by":"search"`, // why an item of a record is there
			`"equal":true`,          // the replay of a record
			`"ok":true`,             // its reload
		}},
		"docs/operate-backup.md": {25, []string{
			"backups/before-upgrade.db",
			"The customer prefers short answers.", // what was restored, twice
			`"status":"ready","generation":1`,     // the upgraded service
		}},
		"docs/distribute.md": {4, []string{
			"acme.pub",           // the key
			"keep-best.wasm  ok", // the signature
		}},
		"docs/operate-sizing.md": {4, []string{
			"anchor_plugin_memory_bytes{", // what a plugin has
			"ulimit -n",                   // the open files
		}},
		"docs/operate-alerts.md": {25, []string{
			"anchor_builds_total{", "anchor_store_duration_seconds_count{", // what was asked for
			"folder-search", // the plugin
		}},
		"docs/embed.md": {11, []string{
			"Limits of plugins > Limit a plugin's memory",
			"used: 2 tokens",
		}},
	} {
		t.Run(page, func(t *testing.T) { runPage(t, page, want.commands, want.prints) })
	}
}

// A site as the first commands of docs/operate.md make it.
const site = `make build
export PATH=$PWD/build:$PATH
mkdir ../site && cd ../site
anchor-host init
echo 'pipelines: {main: {}, short: {max_tokens: 600}}' >> anchor.yaml
trap 'kill -9 ${service:-} || true' EXIT
`

// A service of the site, after its first build.
const serving = `anchor-host serve --store service.db 2>service.log & service=$!
until curl -sf localhost:8790/readyz; do sleep 0.1; done
curl -sSf localhost:8790/v1/builds -H 'content-type: application/json' -d '{"pipeline": "main", "query": "Which exit codes are there?"}'
curl -sSf localhost:8790/v1/memory/facts -H 'content-type: application/json' -d '{"content": "Ann prefers the night train"}'
`

// before has the commands that come before those of a page, on other pages.
var before = map[string]string{
	"docs/distribute.md": site, "docs/operate-service.md": site, "docs/operate-backup.md": site, "docs/operate-sizing.md": site + serving, "docs/operate-alerts.md": site + serving,
}

func runPage(t *testing.T, page string, least int, prints []string) {
	if testing.Short() {
		t.Skip("short: the commands build the command and plugins")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a Unix shell")
	}
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	script, commands := shellBlocks(string(text))
	if commands < least {
		t.Fatalf("%s: found %d commands in sh blocks, want the documented ones", page, commands)
	}
	clone := filepath.Join(t.TempDir(), "anchor-host")
	copyTracked(t, clone)

	cmd := exec.Command("bash", "-euxo", "pipefail", "-c", before[page]+script)
	cmd.Dir = clone
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false -trimpath", "GOWORK=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", page, err, out)
	}
	for _, want := range prints {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("%s: the commands do not print %q\n%s", page, want, out)
		}
	}
}

// TestMakeTest holds the test command of CONTRIBUTING.md against the Makefile, without the
// flags that a make which runs this test was given for it.
func TestMakeTest(t *testing.T) {
	out, err := exec.Command("make", "-C", root, "-n", "test", "TEST=").CombinedOutput()
	if err != nil {
		t.Fatalf("make -n test: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "go test ./...") {
		t.Errorf("make test runs %s, want all tests", out)
	}
}

// shellBlocks joins the ```sh blocks.
func shellBlocks(text string) (script string, commands int) {
	var b strings.Builder
	inside, heredoc := false, false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "```sh"):
			inside = true
		case strings.HasPrefix(line, "```"):
			inside = false
		case inside:
			b.WriteString(line)
			if !heredoc && strings.TrimSpace(line) != "" {
				commands++
			}
			heredoc = strings.Contains(line, "<<'EOF'") || heredoc && line != "EOF\n"
		}
	}
	return b.String(), commands
}

// copyTracked copies what git knows, or would add, so that the commands meet
// what a fresh clone holds and not what the working tree has built.
func copyTracked(t *testing.T, dst string) {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	names, err := cmd.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		src := filepath.Join(root, name)
		info, err := os.Lstat(src)
		if os.IsNotExist(err) {
			continue // deleted, not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode()&os.ModeSymlink != 0 {
			copyLink(t, src, filepath.Join(dst, name))
			continue
		}
		copyFile(t, src, filepath.Join(dst, name), info.Mode().Perm())
	}
}

func copyLink(t *testing.T, src, dst string) {
	t.Helper()
	target, err := os.Readlink(src)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, dst); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, src, dst string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(src)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(dst, os.O_CREATE|os.O_WRONLY, mode)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
