package servecmd

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/startup"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/audit"
	"github.com/anchor-host/anchor-host/server/keys"
)

// The keys of the configuration decide, their quotas hold, the log has what was done, and all of
// it ends.
func TestControl(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "anchor.yaml")
	text := "counting: {tokenizer: words}\nstore: {path: s.db}\nserver: {keys: k.yaml, queue: {builds: 1}, audit: {path: a.jsonl, on_error: stop}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	app, err := anchor.Load(file, anchor.Options{CacheDir: "off"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = app.Close(context.Background()) }()
	log := slog.New(slog.DiscardHandler)
	token := keys.NewToken()
	err = keys.Edit(t.Context(), filepath.Join(dir, "k.yaml"), func(f *keys.File) error {
		f.Default.RequestsPerSecond = 0.01
		f.Keys = []keys.Key{{ID: token.ID, SHA256: token.Digest(), Tenant: "acme", Scopes: []string{"build"}}}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ready, err := startup.Read(t.Context(), loaded, log)
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close(t.Context())
	o := ready.Options
	end, err := control(&o, ready.Keys, loaded, app)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(app, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key    string
		status int
	}{{"", 401}, {token.String(), 200}, {token.String(), 429}} {
		r := httptest.NewRequest("POST", "/v1/builds", strings.NewReader(`{"query": "q"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+c.key)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != c.status || c.status == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "" {
			t.Errorf("%d %s, want %d", w.Code, w.Body, c.status)
		}
	}
	s.Close()
	end()
	key, err := audit.PublicKey(filepath.Join(dir, "a.jsonl.key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	report, err := audit.Verify([]string{filepath.Join(dir, "a.jsonl")}, audit.VerifyOptions{Key: key})
	if err != nil || report.Broken != nil || report.Lines != 5 || report.Unsigned != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// A database that cannot be reached is in the log, with its address, before a request needs it.
func TestStoreIsTriedAtTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "anchor.yaml")
	if err := os.WriteFile(file, []byte("counting: {tokenizer: words}\nstore: {path: \"postgres://ann:secret@127.0.0.1:1/anchor\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	app, err := anchor.Load(file, anchor.Options{CacheDir: "off"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = app.Close(context.Background()) }()
	var log bytes.Buffer
	tryStore(t.Context(), app, slog.New(slog.NewTextHandler(&log, nil)))
	if text := log.String(); !strings.Contains(text, "the store cannot be used") || !strings.Contains(text, "127.0.0.1:1") || strings.Contains(text, "secret") {
		t.Errorf("the log is %q", text)
	}
}
