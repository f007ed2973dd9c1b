package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/imports"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/errkind"
)

// Loading a module costs the host work before any fuel is counted. That work is estimated
// while the module is read. A module that would take too much is refused. Package compile
// compiles the others.

// sourceOf is a spec as package compile needs it.
func sourceOf(s *spec.Spec) *compile.Source {
	m := s.Module()
	return &compile.Source{Digest: m.Digest, Bytes: m.Bytes, Facts: m.Facts, Imports: m.Imports, Memory: m.Memory, Linked: m.Linkable()}
}

// module returns the compiled module of a spec, and compiles it if no other plugin uses it. It
// returns when ctx ends, while the compilation goes on.
func (h *Host) module(ctx context.Context, name string, spec *spec.Spec, kind Engine, l Limits) (*compile.Module, error) {
	if err := spec.CheckLoad(kind == EngineInterpreter, loadLimits(l)); err != nil {
		return nil, err
	}
	var pages uint32
	if features := h.cfg.featuresOf(kind); !features.On(wazerox.Memories) {
		pages = uint32(l.Memory / wasmPage)
	}
	m, err := h.compiler.Module(ctx, name, sourceOf(spec), kind == EngineInterpreter, pages)
	return m, notCompiled(err)
}

// Compile compiles a module, and keeps its machine code in the cache of the host for this process and
// others. It makes no instance: no code of the module runs. Of cfg, Name, Engine, and the limits
// LoadMemory and LoadTime count. The error wraps [ErrTooLarge], [ErrNotWasm] or [ErrConfig], or says why the machine code
// could not be kept, as on a full disk.
func (h *Host) Compile(ctx context.Context, spec *spec.Spec, cfg PluginConfig) error {
	limits, _, err := effectiveLimits(cfg.Limits, h.cfg.DefaultLimits, h.cfg.MaxInstances, spec.Manifest)
	name := cmp.Or(cfg.Name, spec.Name)
	var m *compile.Module
	if err == nil {
		m, err = h.module(ctx, name, spec, h.engineKind(cfg.Engine), limits)
	}
	if err == nil {
		err = m.Kept()
		if h.root != nil {
			err = cmp.Or(err, h.root.noCode)
		}
		if err != nil {
			err = fmt.Errorf("machine code is not kept: %w", err)
		}
		err = errors.Join(err, h.compiler.Release(ctx, m))
	}
	if err != nil {
		return fmt.Errorf("plugin %q: %w", name, err)
	}
	return nil
}

// notCompiled makes an error of package compile wrap the errors that callers test for.
func notCompiled(err error) error {
	var refused *compile.Refusal
	switch {
	case !errors.As(err, &refused):
		return err
	case refused.TooLarge:
		return errkind.As(ErrTooLarge, err)
	}
	return errkind.As(ErrNotWasm, err)
}

// compileOptions are what the engines of a host consist of, and where machine code is kept.
// root may be nil.
func (c *Config) compileOptions(root *cacheRoot) compile.Options {
	o := compile.Options{
		Features: func(interpreted bool) wazerox.States {
			states := c.featuresOf(kindOf(interpreted))
			logFeatures(c.Logger, states)
			return states
		},
		Offer:  func(ctx context.Context, rt wazero.Runtime) error { return imports.Offer(ctx, rt, c.importable()) },
		Kernel: imports.Kernel,
		Meter:  meterOptions(),
		Memory: c.LoadMemory, OnCompile: c.OnCompile, Lines: c.Lines, Parallel: c.ParallelCompile,
	}
	if root != nil {
		o.OpenCode, o.Shells = root.openCode, shells{root.facts}
	}
	return o
}

// kindOf is the name of an engine.
func kindOf(interpreted bool) Engine {
	if interpreted {
		return EngineInterpreter
	}
	return EngineCompiler
}
