package main

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
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
