package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A host that follows another configuration keeps its own sections server and store, its flags and its folder,
// also when it reads the configuration again; all else is that of the other.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "anchor.yaml")
	if err := os.WriteFile(file, []byte("tenant: own\nserver: {listen: '127.0.0.1:1', follow: true}\nstore: {path: own.db}\nwindow: {max_tokens: 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	own, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range Overrides {
		if o.Path == "window.answer" {
			if err := own.Override(o, "7", "flag"); err != nil {
				t.Fatal(err)
			}
		}
	}
	f := Followed{
		Name: "version x", Data: []byte("tenant: other\nserver: {listen: '127.0.0.1:2', keys: k.yaml}\nstore: {path: other.db}\nwindow: {max_tokens: 900}\ntelemetry: {prices: p.yaml}\n"),
		Lock: filepath.Join(dir, "v", "anchor.lock"), Plugins: filepath.Join(dir, "v", "plugins"), Keys: filepath.Join(dir, "v", "keys.yaml"),
	}
	next, err := own.Follow(f)
	if err != nil {
		t.Fatal(err)
	}
	again, err := next.Again()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Loaded{next, again} {
		if l.Tenant != "other" || l.MaxTokens != 900 || l.Answer != 7 || l.Server.Listen != "127.0.0.1:1" || !l.Server.Follow || l.Server.Keys != f.Keys || l.StorePath() != filepath.Join(dir, "own.db") ||
			l.LockPath() != f.Lock || l.PluginDir() != f.Plugins || l.Path(l.Telemetry.Prices) != filepath.Join(dir, "p.yaml") || l.Location() != "" {
			t.Errorf("%+v, store %s, lock %s, plugins %s", l.Config, l.StorePath(), l.LockPath(), l.PluginDir())
		}
	}
	for bad, want := range map[string]string{"tenat: x\n": "did you mean", "- a\n": "want a map", "a: [": "version x", "tenant: '#cluster'\n": "reserved"} {
		f.Data = []byte(bad)
		if _, err := own.Follow(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", bad, err, want)
		}
	}
	f.Data = nil
	if next, err := own.Follow(f); err != nil || next.StorePath() != filepath.Join(dir, "own.db") {
		t.Errorf("an empty file: %v", err)
	}
}
