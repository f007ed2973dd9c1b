package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// caller calls the exports of a guest by the Extism convention, on this host or on a
// peer.
type caller interface {
	call(ctx context.Context, function string, input []byte) ([]byte, error)
}

// hostConfig has all defaults except for token counting, because only the engine is measured
// here.
func hostConfig(root string) host.Config {
	return host.Config{CacheDir: filepath.Join(root, "build", "engine", "cache"), ImageCache: host.DefaultImageCache, Tokenizer: estimate{},
		DefaultLimits: host.Limits{BreakAfter: -1}} // what is stopped is stopped each time
}

// ours is a plugin on this host.
type ours struct{ *host.Plugin }

func (o ours) call(ctx context.Context, function string, input []byte) ([]byte, error) {
	r, err := o.Call(ctx, function, input)
	if err != nil {
		return nil, err
	}
	return r.Output, nil
}

// load loads a module until the row is measured. manifest is nil for a foreign module.
func (s *suite) load(ctx context.Context, name string, wasm, manifest []byte, cfg host.PluginConfig) (ours, error) {
	return s.loadOn(ctx, s.host, name, wasm, manifest, cfg)
}

func (s *suite) loadOn(ctx context.Context, h *host.Host, name string, wasm, manifest []byte, cfg host.PluginConfig) (ours, error) {
	p, err := loadPlugin(ctx, h, name, wasm, manifest, cfg)
	if err != nil {
		return ours{}, err
	}
	s.later(func() {
		if err := p.Close(context.Background()); err != nil {
			s.progress("close %s: %v", name, err)
		}
	})
	return ours{p}, nil
}

func loadPlugin(ctx context.Context, h *host.Host, name string, wasm, manifest []byte, cfg host.PluginConfig) (*host.Plugin, error) {
	spec, err := spec.Read(name, wasm, manifest)
	if err != nil {
		return nil, err
	}
	cfg.WASI = spec.Foreign
	p, err := h.Load(ctx, spec, cfg)
	if err != nil {
		return nil, err
	}
	if cfg.State != "" && p.State() != cfg.State {
		return nil, fmt.Errorf("%s: state %s, want %s: %s", name, p.State(), cfg.State, strings.Join(p.Notes(), "; "))
	}
	return p, nil
}

// estimate is a tokenizer that counts four bytes as a token.
type estimate struct{}

// Name implements pipeline.Tokenizer.
func (estimate) Name() string { return "estimate" }

// Count implements pipeline.Tokenizer.
func (estimate) Count(_ context.Context, texts ...string) ([]int, error) {
	counts := make([]int, len(texts))
	for i, t := range texts {
		counts[i] = (len(t) + 3) / 4
	}
	return counts, nil
}

// Truncate implements pipeline.Tokenizer.
func (estimate) Truncate(_ context.Context, text string, most int) (string, error) {
	if n := most * 4; n < len(text) {
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		return text[:n], nil
	}
	return text, nil
}
