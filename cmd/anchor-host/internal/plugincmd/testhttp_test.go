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
)

// webNotes is a plugin that asks a server of the operator's choice. Its setting server names it.
const webNotes = `package main

import (
	"encoding/json"
	"net/url"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/retrieve"
)

type settings struct {
	Server string ` + "`json:\"server\"`" + `
}

func init() {
	retrieve.Handle(func(r *pdk.Request, s *settings) ([]pdk.NewItem, error) {
		answers, err := pdk.HTTPBatch([]pdk.HTTPRequest{{URL: s.Server + "/notes?q=" + url.QueryEscape(r.Query().Text)}, {URL: s.Server + "/news"}})
		if err != nil {
			return nil, err
		}
		var items []pdk.NewItem
		for _, a := range answers {
			var texts []string
			if a.Status != 200 || json.Unmarshal(a.Body, &texts) != nil {
				return nil, pdk.Errorf("no notes: %d %s", a.Status, a.Error)
			}
			for i, text := range texts {
				items = append(items, pdk.NewItem{Content: text, Score: 1 / float64(i+1)})
			}
		}
		return items[:min(len(items), r.TopK)], nil
	})
}

func main() {}
`

// webNotesProject builds the plugin. It returns its project, which has an empty folder for cases, and
// its module.
func webNotesProject(t *testing.T) (dir, module string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "web-notes")
	must(t, "", "plugin", "new", "web-notes", "--kind", "retrieve", "--dir", dir)
	saveAll(t, dir, map[string]string{
		"main.go": webNotes, "main_test.go": "package main\n",
		"plugin.yaml": `abi: 1
name: web-notes
version: 0.1.0
operations:
  retrieve:
    settings: {type: object, properties: {server: {type: string, default: "https://notes.test"}}}
permissions: [{kind: http, hosts: from_grant, reason: asks your server for notes}]
`,
	})
	must(t, "", "plugin", "build", dir)
	err := os.RemoveAll(filepath.Join(dir, "tests"))
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "tests"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(dir, "build", "web-notes.wasm")
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
	code, stdout, _ := runProgram(t, "plugin", "test", "--short", module)
	if !strings.Contains(stdout, "note: the plugin sent GET https://notes.test/news, for which tests/http.json lists no response") || strings.Contains(stdout, "FAIL own/any server") {
		t.Errorf("without a list and without a server: exit code %d: %s", code, stdout)
	}
	if err := os.Remove(filepath.Join(dir, "tests/any.json")); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ = runProgram(t, flags...)
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
	code, stdout, stderr := runProgram(t, append(flags, "-o", "json")...)
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
	code, stdout, _ = runProgram(t, flags...)
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
	code, stdout, stderr := runProgram(t, "plugin", "test", "--short", module, "--live", "--set", "server="+s.URL, "--allow-host", s.URL, "--allow-private")
	if n := sent.Load(); code != 0 || n == 0 || n > 300 {
		t.Errorf("exit code %d, %d requests: %s%s", code, n, stdout, stderr)
	}
	if code, _, stderr := runProgram(t, "plugin", "test", "--short", module, "--live"); code == 0 {
		t.Errorf("without a grant: exit code %d: %s", code, stderr)
	}
	saveAll(t, dir, map[string]string{"tests/cases.json": `{"name": "listed", "query": "a", "http": [], "expect": {"no_change": true}}`})
	if code, _, stderr := runProgram(t, "plugin", "test", "--short", module, "--live"); code == 0 || !strings.Contains(stderr, `flag --live: the case "listed" lists its requests`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
