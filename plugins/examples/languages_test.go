package examples_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// otherLanguages are the examples in other languages than Go, with their language and the
// command that runs their native tests in their folder.
var otherLanguages = map[string]struct {
	language string
	native   []string
}{
	"citations":            {language: "ts"},
	"github-issues":        {language: "js", native: []string{"node", "--test"}},
	"neat-cut":             {language: "zig"},
	"opensearch-retriever": {language: "rust", native: []string{"cargo", "test", "--quiet"}},
}

// TestOtherLanguages does the same with the examples that make plugins-all builds. It tests
// the languages that ANCHOR_LANGUAGES names.
func TestOtherLanguages(t *testing.T) {
	if others := namesOfOthers(t); len(others) != len(otherLanguages) {
		t.Fatalf("the table of this test has %d examples, want %v", len(otherLanguages), others)
	}
	for name, other := range otherLanguages {
		t.Run(name, func(t *testing.T) {
			module := module(t, name)
			conform(t, "plugin", "test", module, "--short", "-o", "json", "--cases", filepath.Join(name, "tests"))
			if other.native == nil {
				return
			}
			cmd := exec.Command(other.native[0], other.native[1:]...)
			cmd.Dir = name
			cmd.Env = append(os.Environ(), "CARGO_TARGET_DIR="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", other.native, err, out)
			}
		})
	}
}

// module returns the module of an example, and skips the test if its language is not wanted.
func module(t *testing.T, name string) string {
	t.Helper()
	language := otherLanguages[name].language
	wanted := strings.Split(os.Getenv("ANCHOR_LANGUAGES"), ",")
	if !slices.Contains(wanted, language) && !slices.Contains(wanted, "all") {
		t.Skipf("make plugins-all test-languages runs it (or set ANCHOR_LANGUAGES=%s)", language)
	}
	path := filepath.Join("..", "..", "build", "languages", language, name+".wasm")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v (make plugins-all builds it)", err)
	}
	return path
}

// A server with the search of OpenSearch, a cut and citations: three languages in one build,
// over HTTP and with the permissions of a configuration. The key of the server is added by
// the host.
func TestOtherLanguagesTogether(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"opensearch-retriever", "neat-cut", "citations"} {
		data, err := os.ReadFile(module(t, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".wasm"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(search))
	defer server.Close()
	config := strings.ReplaceAll(`window: {max_tokens: 500}
counting: {tokenizer: words}
format: {use: citations, settings: {form: text, instruction: Cite.}}
plugins:
  instances:
    search:
      plugin: opensearch-retriever
      grants: {http: {hosts: ["URL"], methods: [POST], private: true, headers: {"URL": {Authorization: "${env:LOGIN}"}}}}
steps:
  - {name: docs, use: search, top_k: 2, must: true, settings: {url: "URL", index: docs, passages: 0}}
  - {name: short, use: neat-cut, must: true, settings: {max_chars: 40}}
`, "URL", server.URL)
	path := filepath.Join(folder, "anchor.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), testbuild.Command(t), "build", "--config", path, "--plugins", folder, "How much sun?")
	cmd.Env = append(os.Environ(), "LOGIN=Basic dTpw", "XDG_CACHE_HOME="+folder, "XDG_DATA_HOME="+folder)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	want := "Cite.\n\nSources:\n\n[1] Roses (https://garden.example/roses)\nRoses need six hours of sun. …\n\n[2]\nTulips.\n\nQuestion: How much sun?"
	if err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("%v\n%s\ngot\n%s\nwant\n%s", err, stderr.String(), out, want)
	}
}

// search answers a search in the form that OpenSearch documents. It refuses what a server would.
func search(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Size  int `json:"size"`
		Query struct {
			Bool struct {
				Must struct {
					MultiMatch struct {
						Query  string   `json:"query"`
						Fields []string `json:"fields"`
					} `json:"multi_match"`
				} `json:"must"`
			} `json:"bool"`
		} `json:"query"`
	}
	switch err := json.NewDecoder(r.Body).Decode(&body); {
	case r.Header.Get("Authorization") != "Basic dTpw":
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
	case r.Method != http.MethodPost || r.URL.Path != "/docs/_search":
		http.NotFound(w, r)
	case err != nil || body.Size != 2 || body.Query.Bool.Must.MultiMatch.Query != "How much sun?":
		http.Error(w, `{"error": {"reason": "parsing_exception"}, "status": 400}`, http.StatusBadRequest)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"took": 1, "timed_out": false, "_shards": {"total": 1, "successful": 1, "failed": 0},
			"hits": {"total": {"value": 2, "relation": "eq"}, "max_score": 3.5, "hits": [
			{"_index": "docs", "_id": "1", "_score": 3.5, "_source": {"title": "Roses", "url": "https://garden.example/roses",
			 "content": "Roses need six hours of sun. In the shade of trees they become ill, and they have few flowers."}},
			{"_index": "docs", "_id": "2", "_score": 1.0, "_source": {"content": "Tulips."}}]}}`))
	}
}
