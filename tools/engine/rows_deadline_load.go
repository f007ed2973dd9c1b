package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// hanging are guests whose loading never ends by itself, by the place of the loop.
var hanging = []struct{ where, folder string }{
	{"start section", "wasm/start-spins"},
	{"_initialize", "engine/initialize"},
	{"init", "wasm/init-spins"},
}

// stopLoads loads each guest that hangs n times. The time includes reading the machine code
// and making the first instance.
func (s *suite) stopLoads(ctx context.Context, n int) ([]part, error) {
	var parts []part
	for _, g := range hanging {
		spec, err := s.guests.hangs(g.folder)
		if err != nil {
			return nil, err
		}
		cfg := host.PluginConfig{WASI: spec.Foreign, Limits: host.Limits{InitTimeout: deadline}}
		load := func() error {
			_, err := s.host.Load(ctx, spec, cfg)
			return stoppedAtLoad(err)
		}
		if err := load(); err != nil { // compiles
			return nil, fmt.Errorf("%s: %w", g.where, err)
		}
		late, err := stop(n, load)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.where, err)
		}
		parts = append(parts, s.lateness("load "+g.where, late))
	}
	return parts, nil
}

// stoppedAtLoad checks that loading ended because of its deadline.
func stoppedAtLoad(err error) error {
	var failed *host.PluginError
	switch {
	case err == nil:
		return errors.New("loaded, want a timeout")
	case errors.As(err, &failed) && failed.Code == abi.ReasonInitFailed && errors.Is(err, context.DeadlineExceeded):
		return nil
	}
	return fmt.Errorf("loading ended with %w, want a timeout", err)
}

// hangs reads a guest of testdata: a folder with module and manifest, or only a module.
func (g *guests) hangs(name string) (*spec.Spec, error) {
	base := filepath.Join(g.root, "testdata", filepath.FromSlash(name))
	if wasm, err := os.ReadFile(base + ".wasm"); err == nil {
		return spec.Read(filepath.Base(name), wasm, nil)
	}
	wasm, err := os.ReadFile(filepath.Join(base, "plugin.wasm"))
	if err != nil {
		return nil, err
	}
	manifest, err := os.ReadFile(filepath.Join(base, "plugin.yaml"))
	if err != nil {
		return nil, err
	}
	return spec.Read("", wasm, manifest)
}
