package following

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cluster"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/startup"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/registry/lock"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/keys"
	"github.com/anchor-host/anchor-host/store"
)

// service is one host in this process.
type service struct {
	h      *Host
	app    *anchor.App
	server *server.Server
}

// begin starts a host as serve does. folder has its anchor.yaml.
func begin(t *testing.T, folder string) *service {
	t.Helper()
	own, err := config.Load(filepath.Join(folder, "anchor.yaml"))
	if err == nil {
		err = own.Absolute()
	}
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	h, loaded, err := Begin(t.Context(), own, log)
	if err != nil {
		t.Fatal(err)
	}
	ready, err := startup.Read(t.Context(), loaded, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ready.Close(t.Context()) })
	app, err := anchor.Open(t.Context(), loaded, anchor.Options{StrictReload: true, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	o := ready.Options
	h.Options(&o)
	s, err := server.New(app, o)
	if err != nil {
		t.Fatal(err)
	}
	h.Run(app, ready.Keys)
	return &service{h, app, s}
}

func (s *service) end(t *testing.T) {
	s.h.Close(t.Context())
	s.server.Close()
	if err := s.app.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// build returns the status and the answer of a build in a conversation.
func (s *service) build(conversation, key string) (int, string) {
	r := httptest.NewRequest("POST", "/v1/builds?conversation="+conversation, strings.NewReader(`{"query": "q", "items": [{"content": "a", "source": "user"}]}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Key", key)
	w := httptest.NewRecorder()
	s.server.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// version is a configuration and its lock.
func version(t *testing.T, prompt, plugin string) cluster.Start {
	t.Helper()
	is, err := spec.ReadFile("../../../../testdata/wasm/" + plugin + "/plugin.wasm")
	if err != nil {
		t.Fatal(err)
	}
	e, err := lock.EntryOf(is, "", "", "")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), lock.Name)
	if err := lock.Edit(t.Context(), path, func(f *lock.File) error { f.Set(e); return nil }); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return cluster.Start{
		Config: fmt.Appendf(nil, "counting: {tokenizer: words}\nwindow: {system_prompts: [{content: %s}]}\nsteps: [{name: s, use: %s, must: false}]\n", prompt, plugin),
		Lock:   text, Steps: []int{50, 100}, Bounds: cluster.Bounds{Least: 30},
	}
}

// folders makes the folders of hosts at one store. Each has its own plugin folder.
func folders(t *testing.T, n int, more string) (list []string, s store.Store) {
	t.Helper()
	shared := filepath.Join(t.TempDir(), "s.db")
	for i := range n {
		dir := t.TempDir()
		text := fmt.Sprintf("counting: {tokenizer: words}\nwindow: {system_prompts: [{content: own}]}\nstore: {path: %s}\nserver: {follow: true, follow_dir: followed%s}\nplugins: {cache_dir: %s}\n", shared, more, t.TempDir())
		if err := os.WriteFile(filepath.Join(dir, "anchor.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, plugin := range []string{"keep-first", "trap"} {
			if i == n-1 && plugin == "trap" && n > 2 {
				continue // the last of three hosts lacks it
			}
			if err := os.CopyFS(filepath.Join(dir, "plugins", plugin), os.DirFS("../../../../testdata/wasm/"+plugin)); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, dir)
	}
	own, err := config.Load(filepath.Join(list[0], "anchor.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s = Store(own)
	t.Cleanup(func() { s.Close() })
	return list, s
}

func quick(t *testing.T) {
	old := poll
	poll = 20 * time.Millisecond
	t.Cleanup(func() { poll = old })
}

// until waits until the status is as wanted.
func until(t *testing.T, s store.Store, what string, is func(*cluster.Status) bool) {
	t.Helper()
	var st *cluster.Status
	if !await.True(func() bool {
		var err error
		st, err = cluster.ReadStatus(t.Context(), s, 0)
		return err == nil && is(st)
	}) {
		t.Fatalf("not %s: %+v, %+v", what, st, st.Desired)
	}
}

func allAt(generation int64, hosts int) func(*cluster.Status) bool {
	return func(st *cluster.Status) bool {
		n := 0
		for _, h := range st.Hosts {
			if h.Generation >= generation {
				n++
			}
		}
		return n == hosts
	}
}

// Two hosts load what the store says, with plugins by digest. A candidate whose plugin traps is taken back on
// both, without a request that failed. Until then each conversation has one version, on both.
func TestRegressionIsTakenBack(t *testing.T) {
	quick(t)
	dirs, s := folders(t, 2, "")
	hosts := []*service{begin(t, dirs[0]), begin(t, dirs[1])}
	if code, text := hosts[1].build("c", ""); code != http.StatusOK || !strings.Contains(text, "own") {
		t.Fatalf("%d %s", code, text)
	}
	if _, err := cluster.Begin(t.Context(), s, version(t, "first", "keep-first")); err != nil {
		t.Fatal(err)
	}
	until(t, s, "at the first version", allAt(1, 2))
	if _, err := cluster.Begin(t.Context(), s, version(t, "second", "trap")); err != nil {
		t.Fatal(err)
	}
	until(t, s, "at half of the conversations", func(st *cluster.Status) bool { return st.Share == 50 && allAt(3, 2)(st) })
	seen := map[string]int{}
	for i := range 400 {
		name, version := fmt.Sprint("c", i%40), "first"
		code, text := hosts[i%2].build(name, "")
		if strings.Contains(text, `"second"`) {
			version = "second"
		}
		if code != http.StatusOK || !strings.Contains(text, version) {
			t.Fatalf("%d %s", code, text)
		}
		seen[name+version]++
		if d, err := cluster.Read(t.Context(), s); err != nil || d.Candidate == nil {
			break
		}
		if i < 40 && len(seen) > 1+i {
			t.Fatalf("%s has two versions", name)
		}
	}
	until(t, s, "taken back", func(st *cluster.Status) bool { return st.Candidate == "" && allAt(4, 2)(st) })
	d, err := cluster.Read(t.Context(), s)
	if err != nil || d.Outcome != cluster.Reverted || !strings.HasPrefix(d.Why, "failures: ") || d.Numbers.Candidate.Failed < 30 || d.Numbers.Stable.Failed != 0 {
		t.Errorf("%+v %v", d, err)
	}
	for i := range 20 {
		if code, text := hosts[i%2].build(fmt.Sprint("c", i), ""); code != http.StatusOK || !strings.Contains(text, "first") {
			t.Errorf("%d %s", code, text)
		}
	}
	w := httptest.NewRecorder()
	hosts[0].server.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/v1/rollout", nil))
	if w.Code != http.StatusOK || !bytes.Contains(w.Body.Bytes(), []byte(`"outcome":"reverted"`)) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, h := range hosts {
		h.end(t)
	}
	if list, err := cluster.Members(t.Context(), s); err != nil || len(list) != 0 {
		t.Errorf("after the end: %+v, %v", list, err)
	}
}

// A host without the plugin of the candidate says so, and the rollout goes back. A good one ends at all hosts, and
// one that starts later begins with it.
func TestHostWithoutThePlugin(t *testing.T) {
	quick(t)
	dirs, s := folders(t, 3, "")
	hosts := []*service{begin(t, dirs[0]), begin(t, dirs[1]), begin(t, dirs[2])}
	if _, err := cluster.Begin(t.Context(), s, version(t, "first", "keep-first")); err != nil {
		t.Fatal(err)
	}
	until(t, s, "at the first version", allAt(1, 3))
	if _, err := cluster.Begin(t.Context(), s, version(t, "second", "trap")); err != nil {
		t.Fatal(err)
	}
	until(t, s, "taken back", func(st *cluster.Status) bool { return st.Desired.Outcome == cluster.Reverted && allAt(3, 3)(st) })
	if d, err := cluster.Read(t.Context(), s); err != nil || !strings.Contains(d.Why, `plugin "trap"`) || !strings.Contains(d.Why, hosts[2].h.follow.ID()) {
		t.Errorf("%+v %v", d, err)
	}
	if _, err := cluster.Begin(t.Context(), s, version(t, "third", "keep-first")); err != nil {
		t.Fatal(err)
	}
	until(t, s, "loaded", func(st *cluster.Status) bool { return st.Share == 50 && allAt(5, 3)(st) })
	for range 2 {
		if _, err := cluster.Change(t.Context(), s, "me", "", cluster.Next); err != nil {
			t.Fatal(err)
		}
	}
	until(t, s, "promoted", allAt(7, 3))
	hosts[0].end(t)
	hosts[0] = begin(t, dirs[0])
	for _, h := range hosts {
		if code, text := h.build("c", ""); code != http.StatusOK || !strings.Contains(text, "third") {
			t.Errorf("%d %s", code, text)
		}
		if left, _ := os.ReadDir(filepath.Join(h.h.dir, versions)); len(left) != 1 {
			t.Errorf("%d versions are on the disk", len(left))
		}
		h.end(t)
	}
	if _, _, err := Begin(t.Context(), hosts[0].h.own, slog.New(slog.DiscardHandler)); err != nil {
		t.Errorf("the folder is not free: %v", err)
	}
	if _, _, err := Begin(t.Context(), hosts[0].h.own, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "another process uses") {
		t.Errorf("two hosts in one folder: %v", err)
	}
}

// The keys of the cluster are those of all hosts; those of the file of a host are the first ones.
func TestKeysOfAllHosts(t *testing.T) {
	quick(t)
	dirs, s := folders(t, 2, ", keys: k.yaml")
	token := keys.NewToken()
	for _, dir := range dirs {
		err := keys.Edit(t.Context(), filepath.Join(dir, "k.yaml"), func(f *keys.File) error {
			f.Keys = []keys.Key{{ID: token.ID, SHA256: token.Digest(), Tenant: "acme", Scopes: []string{"build"}}}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	hosts := []*service{begin(t, dirs[0]), begin(t, dirs[1])}
	for _, h := range hosts {
		if code, text := h.build("c", token.String()); code != http.StatusOK {
			t.Errorf("%d %s", code, text)
		}
	}
	err := cluster.EditKeys(t.Context(), s, func([]byte) ([]byte, error) { return []byte("version: 1\nkeys: []\n"), nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hosts {
		if !await.True(func() bool { code, _ := h.build("c", token.String()); return code == http.StatusUnauthorized }) {
			t.Error("the key is still accepted")
		}
	}
	err = cluster.EditKeys(t.Context(), s, func([]byte) ([]byte, error) { return []byte("version: 9\n"), nil })
	if err != nil {
		t.Fatal(err)
	}
	hosts[0].end(t)
	if _, _, err := Begin(t.Context(), hosts[0].h.own, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("a broken file of keys: %v", err)
	}
	hosts[1].end(t)
}
