package assemble

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/registry/lock"
)

// locked is a folder with anchor.yaml, one plugin, and a lock that lists it.
func locked(t *testing.T, text string) (l *config.Loaded, module string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "plugins", "add-item"), os.DirFS("../../testdata/wasm/add-item")); err != nil {
		t.Fatal(err)
	}
	l, err := config.Parse(filepath.Join(dir, "anchor.yaml"), []byte("counting: {tokenizer: words}\nsteps: [{name: a, use: add-item, must: false}]\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	module = filepath.Join(dir, "plugins", "add-item", "plugin.wasm")
	s, err := spec.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	e, err := lock.EntryOf(s, "", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Edit(t.Context(), filepath.Join(dir, lock.Name), func(f *lock.File) error { f.Set(e); return nil }); err != nil {
		t.Fatal(err)
	}
	return l, module
}

// change appends a custom section, which changes nothing but the digest.
func change(t *testing.T, module string) {
	t.Helper()
	data, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(module, append(data, 0, 2, 1, 'x'), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Validation and builds refuse what differs from anchor.lock, and nothing else.
func TestLockedPlugins(t *testing.T) {
	for _, c := range []struct {
		name, text string
		prepare    func(t *testing.T, l *config.Loaded, module string)
		want, note string
		stops      bool // no build begins
	}{
		{name: "as locked", prepare: func(*testing.T, *config.Loaded, string) {}},
		{name: "as locked, digest", text: "trust: {require: digest}\n", prepare: func(*testing.T, *config.Loaded, string) {}},
		{name: "changed", prepare: func(t *testing.T, _ *config.Loaded, module string) { change(t, module) }, want: "plugin.wasm: its digest is sha256:"},
		{name: "not signed", text: "trust: {require: signed}\n", prepare: func(*testing.T, *config.Loaded, string) {}, want: "not signed"},
		{name: "not locked", prepare: func(t *testing.T, l *config.Loaded, _ string) {
			if err := os.WriteFile(l.Path(lock.Name), []byte("version: 1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, note: `note: plugin "add-item": is not in anchor.lock`},
		{name: "no lock", prepare: func(_ *testing.T, l *config.Loaded, _ string) { _ = os.Remove(l.Path(lock.Name)) }},
		{name: "no lock, digest", text: "trust: {require: digest}\n", prepare: func(_ *testing.T, l *config.Loaded, _ string) { _ = os.Remove(l.Path(lock.Name)) }, want: "is not in anchor.lock, and trust.require is digest"},
		{name: "a lock of a newer version", prepare: func(t *testing.T, l *config.Loaded, _ string) {
			if err := os.WriteFile(l.Path(lock.Name), []byte("version: 2\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, want: "anchor.lock:1:10: version: is 2", stops: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, module := locked(t, c.text)
			c.prepare(t, l, module)
			notes, err := Validate(l, l.PluginDir())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("validate: %v, want %q", err, c.want)
			}
			if got := strings.Join(notes, "\n"); !strings.HasPrefix(got, c.note) || (got == "") != (c.note == "") {
				t.Errorf("notes %q, want %q", got, c.note)
			}
			l.Plugins.CacheDir = host.CacheOff
			b, err := New(t.Context(), l, Options{}, Overrides{})
			if c.stops {
				if !errors.Is(err, lock.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("build: %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = b.Close(context.Background()) }()
			r, err := b.Build(t.Context(), pipeline.Query{Text: "q"})
			if err != nil {
				t.Fatal(err)
			}
			if ran := len(r.Window.Items) == 1; ran != (c.want == "") {
				t.Errorf("it ran: %t", ran)
			}
			var refused *lock.Drift
			load := b.g.loadOf("add-item")
			if c.want != "" && strings.Contains(c.want, "digest") && !errors.As(load, &refused) {
				t.Errorf("%v is no drift", load)
			}
			if load != nil && !strings.Contains(load.Error(), c.want) {
				t.Errorf("build: %v, want %q", load, c.want)
			}
		})
	}
}

// loadOf returns why a plugin was not loaded.
func (g *Generation) loadOf(name string) error {
	list, _ := g.Loads()
	for _, l := range list {
		if l.Name == name {
			return l.Err
		}
	}
	return nil
}

// Two versions side by side are two plugins with a key-value store each: what one version stored,
// the other need not understand. The versions of an instance share its store.
func TestNamesOfStores(t *testing.T) {
	c := &config.Config{Plugins: config.Plugins{Instances: map[string]config.Instance{"mine": {Plugin: "bm25@2.0.0"}}}}
	for _, name := range []string{"bm25", "bm25@2.0.0", "mine"} {
		p, err := pluginConfig(name, resolve(c, name), func(path string) string { return path })
		if err != nil || p.Name != name {
			t.Errorf("%s: the owner is %q; %v", name, p.Name, err)
		}
	}
}
