package registrytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIndex makes an index of two repositories, serves it, and finds what it lists.
func TestIndex(t *testing.T) {
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			w := newTeam(t, s)
			push := func(name, more string) {
				t.Helper()
				for _, version := range []string{"1.0.0", "1.10.0", "1.9.0", "2.0.0-rc.1"} {
					w.write("p.wasm", string(module(t, fmt.Sprintf("abi: 1\nname: %s\nversion: %s\noperations: {filter: {reads: [score]}}\n%s", name, version, more), 0)))
					w.ok("plugin", "publish", "--unchecked", "--unsigned", "p.wasm", "oci://"+s.host+"/acme/"+name)
				}
			}
			push("keep-first", "description: Keeps what comes first.\nlicense: MIT\n")
			push("keep-old", "deprecated: use keep-first\n")
			repositories := []string{"oci://" + s.host + "/acme/keep-old", "oci://" + s.host + "/acme/keep-first"}
			w.ok(append([]string{"plugin", "index", "--file", "index.json"}, repositories...)...)
			first := w.read("index.json")
			w.ok("plugin", "index", "--file", "index.json", repositories[1], repositories[0])
			if w.read("index.json") != first {
				t.Errorf("another order gives another file:\n%s\n%s", first, w.read("index.json"))
			}
			asked := 0
			web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				asked++
				rw.Header().Set("ETag", `"1"`)
				if r.Header.Get("If-None-Match") == `"1"` {
					rw.WriteHeader(http.StatusNotModified)
					return
				}
				fmt.Fprint(rw, first)
			}))
			defer web.Close()
			w.write("anchor.yaml", fmt.Sprintf("registries: {indexes: [%q]}\nsteps: [{name: a, use: keep-first}]"+turn, web.URL+"/index.json"))
			w.ok("plugin", "install", repositories[1]+":1.9.0")
			type hit struct{ Name, Version, Reference, Description, License, Installed, Deprecated string }
			find := func(args ...string) (hits []hit) {
				t.Helper()
				if err := json.Unmarshal([]byte(w.ok(append([]string{"plugin", "search", "-o", "json"}, args...)...)), &hits); err != nil {
					t.Fatal(err)
				}
				return hits
			}
			want := hit{"keep-first", "1.10.0", repositories[1] + ":1.10.0", "Keeps what comes first.", "MIT", "1.9.0", ""}
			if hits := find("keep"); len(hits) != 2 || hits[0] != want || hits[1].Deprecated != "use keep-first" {
				t.Errorf("search: %+v", hits)
			}
			if hits := find("keep", "--operation", "rerank"); len(hits) != 0 {
				t.Errorf("search for another operation: %+v", hits)
			}
			if asked != 2 {
				t.Errorf("two searches sent %d requests", asked)
			}
			web.Close()
			if hits := find("first", "--offline"); len(hits) != 1 {
				t.Errorf("search offline: %+v", hits)
			}
			w.ok("plugin", "install", find("first", "--offline")[0].Reference)
			w.locked("1.10.0")
			w.refused(3, "plugin search keep-first", "plugin", "install", "keep-first")
			w.refused(3, "name it once", "plugin", "index", repositories[1], repositories[1]+":1.0.0")
			w.refused(6, "check repository and version", "plugin", "index", "oci://"+s.host+"/acme/none")
		})
	}
}

// TestBadIndexes searches indexes that somebody broke, beside one that is right.
func TestBadIndexes(t *testing.T) {
	const good = `{"version": 1, "plugins": [{"name": "keep-first", "reference": "oci://ghcr.io/acme/keep-first:1.0.0", "version": "1.0.0"}]}`
	answer := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); fmt.Fprint(w, text) }
	}
	away := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	for _, each := range []struct {
		name, want string
		code       int
		answer     http.HandlerFunc
	}{
		{"not there", "404", 6, answer(404, "")},
		{"denied", "403", 5, answer(403, "")},
		{"a login page", "not a valid index", 3, answer(200, "<html>log in</html>")},
		{"a newer one", "use a newer anchor-host", 3, answer(200, `{"version": 2, "plugins": []}`)},
		{"names alike", `"keep-first" (oci://ghcr.io/acme/keep-first:1.0.0) and "keepfirst" (oci://ghcr.io/evil/keep:1.0.0)`, 3,
			answer(200, strings.Replace(good, `[{`, `[{"name": "keepfirst", "reference": "oci://ghcr.io/evil/keep:1.0.0", "version": "1.0.0"}, {`, 1))},
		{"without an end", "sends more than 8388608 bytes", 7, func(w http.ResponseWriter, _ *http.Request) {
			for range 2000 {
				if _, err := w.Write(bytes.Repeat([]byte(" "), 64<<10)); err != nil {
					return
				}
			}
		}},
		{"4 GB announced", "announces 4294967296 bytes", 7, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "4294967296") }},
		{"a private address", "169.254.169.254", 1, away("http://169.254.169.254/index.json")},
		{"redirects without an end", "more than 5 times", 1, away("/again")},
	} {
		t.Run(each.name, func(t *testing.T) {
			web := httptest.NewServer(each.answer)
			defer web.Close()
			w := newTeam(t, server{})
			w.write("good.json", good)
			w.write("anchor.yaml", fmt.Sprintf("registries: {indexes: [%q, good.json]}", web.URL))
			code, stdout, stderr := w.try("plugin", "search", "keep")
			if code != each.code || !strings.Contains(stderr, each.want) || !strings.Contains(stderr, web.URL) {
				t.Errorf("exit code %d, want %d and %q: %s", code, each.code, each.want, stderr)
			}
			if !strings.Contains(stdout, "oci://ghcr.io/acme/keep-first:1.0.0") || strings.Contains(stdout, "evil") {
				t.Errorf("what the other index says: %s", stdout)
			}
			if kept, _ := filepath.Glob(filepath.Join(w.dir, "cache/anchor-host/oci/documents/*")); len(kept) > 0 {
				t.Errorf("the cache keeps %v", kept)
			}
		})
	}
	t.Run("a login page in its place", func(t *testing.T) {
		page := answer(200, good)
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { page(w, r) }))
		defer web.Close()
		w := newTeam(t, server{})
		w.ok("plugin", "search", "--index", web.URL)
		page = answer(200, "<html>log in</html>")
		w.refused(3, "not a valid index", "plugin", "search", "--index", web.URL)
		if out := w.ok("plugin", "search", "--offline", "--index", web.URL); !strings.Contains(out, "keep-first") {
			t.Errorf("offline, after the page: %s", out)
		}
	})
	w := newTeam(t, server{})
	w.refused(2, "name one under indexes", "plugin", "search")
	w.refused(6, "no such file", "plugin", "search", "--index", "none.json")
	w.refused(3, "want https://", "plugin", "search", "--index", "ftp://host.example/index.json")
	w.refused(3, "is without TLS", "plugin", "search", "--index", "http://host.example/index.json")
	w.refused(3, "has a user or a password", "plugin", "search", "--index", "https://a:b@host.example/index.json")
	w.refused(1, "is not in the cache", "plugin", "search", "--offline", "--index", "https://host.example/index.json")
	if err := os.Mkdir(filepath.Join(w.dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.refused(3, "is a folder", "plugin", "search", "--index", "folder")
}
