package docs_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/anchor-host/anchor-host/internal/testkit/pgtest"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

const (
	root   = "../.."
	readme = "README.md"
)

func TestMain(m *testing.M) {
	testbuild.SetConfigDir()
	os.Exit(m.Run())
}

// A page has commands, and prints what they are to do.
type page struct {
	name     string
	commands int      // at least
	prints   []string // among other things
	before   string   // commands of other pages that come before
	database bool     // they need a server of PostgreSQL
}

// pages run apart from each other.
var pages = []page{
	{name: "docs/embed.md", commands: 11, prints: []string{
		"wiki:1 What en says of otters",
		"Limits of plugins > Limit a plugin's memory",
		"used: 2 tokens",
	}},
	{name: "docs/operate.md", commands: 20, prints: []string{
		"of 425 tokens",                     // the flag counts before the environment
		"Find out what happened in a build", // what was found
		"2     assistant  ",                 // the conversation
		"sha256:",                           // the pin
		`"used_tokens": 2`,                  // the request
	}},
	{name: "docs/agents.md", commands: 12, before: site, prints: []string{
		"The customer prefers short answers.", // the fact
		`"max_output_tokens"`,                 // the body for another API
		"UserPromptSubmit",                    // the log of hooks
		"claude: removed, 2 files changed",
	}},
	{name: "docs/operate-postgres.md", commands: 12, before: site, database: true, prints: []string{
		"The customer prefers short answers.", // what was restored
		`"copied": 1`,                         // into another database
		"backup successfully verified",        // the base backup
	}},
	{name: "docs/distribute.md", commands: 4, before: site, prints: []string{
		"acme.pub",           // the key
		"keep-best.wasm  ok", // the signature
	}},
}

// servingPages start a service at the default ports, so one waits for the other.
var servingPages = []page{
	{name: readme, commands: 15, before: cloned, prints: []string{
		"Limits of plugins > Limit a plugin's memory", // the first answer
		"encoding/json.Unmarshal",                     // the demo
		"operations",                                  // inspect
		"dedupe/README.md",                            // the site's build, explained
		"event: result",                               // the service
		`"generation":2`,                              // its reload
		"a window of 1275 tokens",                     // the embedded App
	}},
	{name: "docs/operate-service.md", commands: 10, before: site, prints: []string{
		"event: result",         // the service
		`"brought_by":"search"`, // why an item of a record is there
		`"equal":true`,          // the replay of a record
		`"ok":true`,             // its reload
	}},
	{name: "docs/rollout.md", commands: 13, before: site, prints: []string{
		"generation 1: version", "for all conversations", // the first version
		"smaller windows", `"phase":"running"`, // the candidate
		"the last rollout was aborted",
	}},
	{name: "docs/operate-backup.md", commands: 25, before: site, prints: []string{
		"backups/before-upgrade.db",
		"The customer prefers short answers.", // what was restored, twice
		`"status":"ready","generation":1`,     // the upgraded service
	}},
	{name: "docs/operate-sizing.md", commands: 4, before: site + serving, prints: []string{
		"anchor_plugin_memory_bytes{", // what a plugin has
		"ulimit -n",                   // the open files
	}},
	{name: "docs/operate-alerts.md", commands: 25, before: site + serving, prints: []string{
		"anchor_builds_total{", "anchor_store_duration_seconds_count{", // what was asked for
		"folder-search", // the plugin
	}},
}

// The commands of each page run in order, in one shell, in a copy of what a clone holds.
func TestCommands(t *testing.T) {
	needPages(t)
	t.Parallel()
	for _, p := range pages {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			runPage(t, p)
		})
	}
}

// The same of the pages that start a service. Another checkout may run them at the same time,
// so a lock of the machine keeps the ports.
func TestServingCommands(t *testing.T) {
	needPages(t)
	t.Parallel()
	lock := flock.New(filepath.Join(os.TempDir(), "anchor-host-default-ports.lock"))
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }() // the end of the process frees it, too
	for _, p := range servingPages {
		t.Run(p.name, func(t *testing.T) {
			for _, port := range []string{"127.0.0.1:8790", "127.0.0.1:8791"} {
				l, err := net.Listen("tcp", port)
				if err != nil {
					t.Fatalf("the commands start a service there: %v", err)
				}
				_ = l.Close() // nothing was sent
			}
			runPage(t, p)
		})
	}
}

// needPages skips a test of the commands of pages, unless it is wanted.
func needPages(t *testing.T) {
	t.Helper()
	if os.Getenv("ANCHOR_DOCS") == "" && os.Getenv("ANCHOR_LANGUAGES") == "" {
		t.Skip("make test-docs runs the commands of the pages (ANCHOR_DOCS=1)")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a Unix shell")
	}
}

// A site as the first commands of docs/operate.md make it.
const site = `make build
export PATH=$PWD/build:$PATH
mkdir ../site && cd ../site
anchor-host init
echo 'pipelines: {main: {}, short: {window: {max_tokens: 600}}}' >> anchor.yaml
trap 'kill -9 ${service:-} || true' EXIT
`

// The clone that README.md begins with is the one of the test.
const cloned = `cd ..
git() { [ "$*" = "clone https://github.com/anchor-host/anchor-host" ]; }
`

// A service of the site, after its first build.
const serving = `anchor-host serve --store service.db 2>service.log & service=$!
until curl -sf localhost:8790/readyz; do sleep 0.1; done
curl -sSf localhost:8790/v1/builds -H 'content-type: application/json' -d '{"pipeline": "main", "query": "Which exit codes are there?"}'
curl -sSf localhost:8790/v1/memory/facts -H 'content-type: application/json' -d '{"content": "Ann prefers the night train"}'
`

func runPage(t *testing.T, p page) {
	text, err := os.ReadFile(filepath.Join(root, p.name))
	if err != nil {
		t.Fatal(err)
	}
	script, commands := shellBlocks(string(text))
	if commands < p.commands {
		t.Fatalf("%s: found %d commands in sh blocks, want at least %d", p.name, commands, p.commands)
	}
	dir := clone(t)
	if p.name != readme { // whose `make build` has all to do
		copyFile(t, testbuild.Command(t), filepath.Join(dir, "build", "anchor-host"), 0o755)
	}
	env := caches(t)
	if p.database {
		pgtest.Skip(t)
		server, err := pgtest.Start(pgtest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		env = append(env, server.Env()...)
	}
	out := runScript(t, dir, p.before+script, env...)
	for _, want := range p.prints {
		if !strings.Contains(out, want) {
			t.Errorf("%s: the commands do not print %q\n%s", p.name, want, out)
		}
	}
	if p.name != readme { // other pages show outputs in part, and texts that no command prints
		return
	}
	if missing := firstMissing(textBlocks(string(text)), out); missing != "" {
		t.Errorf("%s: the commands do not print, in this order,\n%s\nbut\n%s", p.name, missing, out)
	}
}

// textBlocks returns the outputs that a page shows in ```text blocks. A line with an ellipsis
// alone divides a block, because it stands for lines that the page leaves out.
func textBlocks(text string) (parts []string) {
	inside := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = strings.HasPrefix(line, "```text")
			parts = append(parts, "")
		case line == "…\n":
			parts = append(parts, "")
		case inside:
			parts[len(parts)-1] += line
		}
	}
	return parts
}

// firstMissing returns the first part that is not in what commands print, after the parts
// before it. Times and the widths of columns do not count.
func firstMissing(parts []string, printed string) string {
	printed = normal(printed)
	for _, part := range parts {
		_, after, found := strings.Cut(printed, normal(part))
		if !found {
			return part
		}
		printed = after
	}
	return ""
}

var timesAndGaps = regexp.MustCompile(`[0-9.]+ ms|  +`)

func normal(text string) string {
	return timesAndGaps.ReplaceAllStringFunc(text, func(s string) string {
		if s[0] == ' ' {
			return " "
		}
		return "ms"
	})
}

func TestShownOutputs(t *testing.T) {
	parts := textBlocks("```sh\nx\n```\n```text\na  1.5 ms\nb\n…\nc\n```\n")
	for printed, missing := range map[string]string{
		"a 20 ms\nb\nx\nc\n": "", "a 20 ms\nx\nb\nc\n": "a  1.5 ms\nb\n", "c\na 20 ms\nb\n": "c\n",
	} {
		if got := firstMissing(parts, printed); got != missing {
			t.Errorf("%q: %q is missing, want %q", printed, got, missing)
		}
	}
}

// runScript runs commands in a folder, and returns what they print. The store is not that of the
// person who runs the tests.
func runScript(t *testing.T, dir, script string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euxo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false -trimpath", "GOWORK=", "XDG_DATA_HOME="+t.TempDir())
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	t.Logf("%v of a processor", used.Round(100*time.Millisecond))
	return string(out)
}

// caches are the variables for a cache of compiled plugins that later runs find. Go keeps its own.
func caches(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatalf("go env GOCACHE: %v", err)
	}
	return []string{"GOCACHE=" + strings.TrimSpace(string(out)), "XDG_CACHE_HOME=" + filepath.Dir(testbuild.CacheDir(t))}
}

// TestMakeTest: "make test" runs all tests. It is tried without the flags that a make which runs this test was given for it.
func TestMakeTest(t *testing.T) {
	out, err := exec.Command("make", "-C", root, "-n", "test", "TEST=").CombinedOutput()
	if err != nil {
		t.Fatalf("make -n test: %v\n%s", err, out)
	}
	if !regexp.MustCompile(`go test( .*)? \./\.\.\.`).Match(out) {
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

// clone copies what git knows, or would add, so that the commands meet
// what a fresh clone holds and not what the working tree has built.
func clone(t *testing.T) (dst string) {
	t.Helper()
	dst = filepath.Join(t.TempDir(), "anchor-host")
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
	return dst
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
