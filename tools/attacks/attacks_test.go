package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/testkit/hostile"
)

// The bombs are valid modules: what refuses them is their size.
func TestBombsAreValid(t *testing.T) {
	h, err := newHost(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	for _, b := range slices.Concat(bombs, deep) {
		spec, err := spec.Read("bomb", b.build(1), nil)
		if err != nil {
			t.Errorf("%s: %v", b.name, err)
			continue
		}
		if b.name == "locals-used" || b.name == "operands" || strings.HasSuffix(b.name, "-large") {
			continue // one of them takes long already
		}
		p, err := h.Load(t.Context(), spec, host.PluginConfig{Engine: b.engine, Limits: host.Limits{Timeout: 100 * time.Millisecond}})
		if errors.Is(err, host.ErrTooLarge) {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", b.name, err)
			continue
		}
		if _, err := p.Call(t.Context(), "run", nil); err != nil && !strings.HasPrefix(b.name, "deep") {
			t.Errorf("%s: %v", b.name, err)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// What a short run looks at is there.
func TestShortNames(t *testing.T) {
	for _, name := range slices.Concat(shortBombs, shortHints) {
		if !slices.ContainsFunc(requests(), func(r request) bool { return r.name == name }) {
			t.Errorf("there is no request %q", name)
		}
	}
	for _, names := range shortFiles {
		for _, name := range names {
			if n := len(grown(hostile.Named(name), folderFile)); n == 0 || n > folderFile {
				t.Errorf("%s has %d bytes", name, n)
			}
		}
	}
}

// A process that did not end by itself is seen.
func TestCommandsAreWatched(t *testing.T) {
	s := &suite{root: t.TempDir(), stderr: t.Output()}
	if err := os.MkdirAll(filepath.Join(s.root, "build"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/bin/sh", s.binary()); err != nil {
		t.Fatal(err)
	}
	defer s.prepare()()
	for script, want := range map[string]string{"echo done": "", "kill -9 $$": "killed by the kernel (killed)", "exec sleep 60": "ended after "} {
		c, err := s.run(t.Context(), 2*time.Second, s.dir, "-c", script)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(c.killed, want) || (c.killed == "") != (want == "") {
			t.Errorf("%s: %q, want %q", script, c.killed, want)
		}
	}
}

func TestJudge(t *testing.T) {
	flat := []state{{heap: 1 << 20}, {heap: 20 << 20}, {heap: 60 << 20}, {heap: 29 << 20}}
	at := state{goroutines: 5, descriptor: 9}
	for _, tc := range []struct {
		states        []state
		before, after state
		want          string
	}{
		{flat, at, at, ""},
		{[]state{{heap: 1 << 20}, {heap: 20 << 20}, {heap: 31 << 20}}, at, at, "the heap grew from 20 MiB to 31 MiB"},
		{flat, at, state{goroutines: 6, descriptor: 9}, "6 goroutines are left, 5 were there before"},
		{flat, at, state{goroutines: 5, descriptor: 10}, "10 descriptors are left, 9 were there before"},
	} {
		err := judge(tc.states, tc.before, tc.after, io.Discard)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
}
