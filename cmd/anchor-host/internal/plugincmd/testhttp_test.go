package plugincmd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// webNotesProject returns a folder with the plugin web-notes and an empty folder for cases, and its module.
func webNotesProject(t *testing.T) (dir, module string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "web-notes")
	err := os.CopyFS(dir, os.DirFS(testbuild.Guest(t, "testdata/guests/web-notes")))
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "tests"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(dir, "plugin.wasm")
}

func saveAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// plugin test sends no request: it answers those of the plugin with the lists of its author,
// and says what is not listed.
func TestPluginTestSendsNoRequest(t *testing.T) {
	t.Parallel()
	dir, module := webNotesProject(t)
	var sent atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sent.Add(1)
		fmt.Fprint(w, `["from the world"]`)
	}))
	t.Cleanup(s.Close)
	flags := []string{"plugin", "test", "--short", module, "--set", "server=" + s.URL, "--allow-host", s.URL, "--allow-private"}

	saveAll(t, dir, map[string]string{"tests/any.json": `{"name": "any server", "query": "a", "settings": {"server": "https://never.test"},
	  "http": [{"request": {"url": "*"}, "response": {"status": 503}}], "expect": {"error": "no notes: 503"}}`})
	code, stdout, _ := runCached(t, "plugin", "test", "--short", module)
	if !strings.Contains(stdout, "note: the plugin sent GET https://notes.test/news, for which tests/http.json lists no response") || strings.Contains(stdout, "FAIL own/any server") {
		t.Errorf("without a list and without a server: exit code %d: %s", code, stdout)
	}
	if err := os.Remove(filepath.Join(dir, "tests/any.json")); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ = runCached(t, flags...)
	if code == 0 || !strings.Contains(stdout, "note: the plugin sent GET "+s.URL+"/news, for which tests/http.json lists no response") {
		t.Errorf("without a list: exit code %d: %s", code, stdout)
	}

	saveAll(t, dir, map[string]string{"tests/http.json": `[{"request": {"url": "https://notes.test/notes?q=*"}, "response": {"body": ["one", "two"]}}, {"request": {"url": "https://notes.test/news"}, "response": {"body": []}}]`})
	saveAll(t, dir, map[string]string{"tests/cases.json": `[
	  {"name": "asks for the query", "query": "a b", "top_k": 5, "settings": {"server": "https://other.test"},
	   "http": [{"request": {"url": "https://other.test/notes?q=a+b"}, "response": {"body": ["x"]}}, {"request": {"url": "https://other.test/news"}, "response": {"body": ["y"]}}],
	   "expect": {"texts": ["x", "y"]}},
	  {"name": "says what the server said", "query": "a", "settings": {"server": "https://other.test"},
	   "http": [{"request": {"url": "https://other.test/*"}, "response": {"status": 503}}], "expect": {"error": "no notes: 503"}},
	  {"name": "knows why", "query": "a", "settings": {"server": "https://other.test"},
	   "http": [{"request": {"url": "https://other.test/*"}, "response": {"error": "dns"}}], "expect": {"error": "no notes: 0 dns"}},
	  {"name": "from the list of all", "query": "a", "expect": {"texts": ["one", "two"]}}]`})
	flags = []string{"plugin", "test", "--short", module}
	code, stdout, stderr := runCached(t, append(flags, "-o", "json")...)
	var tested struct{ Report conformance.Report }
	if err := json.Unmarshal([]byte(stdout), &tested); err != nil || code != 0 || len(tested.Report.Notes) > 0 {
		t.Fatalf("with lists: exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	own := 0
	for _, r := range tested.Report.Results {
		if strings.HasPrefix(r.Case, "own/") {
			own++
		}
	}
	if own != 8 {
		t.Errorf("%d results of the author's cases, want 8: %s", own, stdout)
	}

	saveAll(t, dir, map[string]string{"tests/cases.json": `[
	  {"name": "unlisted", "query": "a", "settings": {"server": "https://other.test"}, "http": [{"request": {"url": "https://other.test/news"}, "response": {"body": []}}],
	   "expect": {"error": "no notes"}},
	  {"name": "unsent", "query": "a", "http": [{"request": {"url": "https://notes.test/*"}, "response": {"body": []}}, {"request": {"url": "https://third.test/", "method": "POST"}, "response": {}}],
	   "expect": {"no_change": true}}]`})
	code, stdout, _ = runCached(t, flags...)
	for _, want := range []string{"sent GET https://other.test/notes?q=a, which the case does not list in http", "did not send POST https://third.test/, which the case expects (http[1])"} {
		if code != 1 || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, lacks %q: %s", code, want, stdout)
		}
	}
	if n := sent.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// With --live requests are sent, few enough for a server that charges for them.
func TestPluginTestLive(t *testing.T) {
	t.Parallel()
	dir, module := webNotesProject(t)
	var sent atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sent.Add(1)
		fmt.Fprint(w, `["from the world"]`)
	}))
	t.Cleanup(s.Close)
	code, stdout, stderr := runCached(t, "plugin", "test", "--short", module, "--live", "--set", "server="+s.URL, "--allow-host", s.URL, "--allow-private")
	if n := sent.Load(); code != 0 || n == 0 || n > 300 {
		t.Errorf("exit code %d, %d requests: %s%s", code, n, stdout, stderr)
	}
	if code, _, stderr := runCached(t, "plugin", "test", "--short", module, "--live"); code == 0 {
		t.Errorf("without a grant: exit code %d: %s", code, stderr)
	}
	saveAll(t, dir, map[string]string{"tests/cases.json": `{"name": "listed", "query": "a", "http": [], "expect": {"no_change": true}}`})
	if code, _, stderr := runCached(t, "plugin", "test", "--short", module, "--live"); code == 0 || !strings.Contains(stderr, `flag --live: the case "listed" lists its requests`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
