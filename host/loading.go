package host

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// Loading a module costs the host work before any fuel is counted. That work is estimated
// while the module is read. A module that would take too much is refused. Package compile
// compiles the others.

// LoadEstimate is the most that loading a module takes, without what the guest itself does and
// allocates when it runs.
type LoadEstimate struct {
	// Memory is the peak in bytes. Time is the time on one processor of about 3 GHz. MemoryFor
	// and TimeFor name the part of the module that takes most of each.
	Memory    int64
	Time      time.Duration
	MemoryFor string
	TimeFor   string
	// MaxMemory and MaxTime are the default limits for Memory and Time; see Limits.LoadMemory.
	MaxMemory int64
	MaxTime   time.Duration
}

// Near reports whether memory or time exceed three quarters of their limits.
func (e LoadEstimate) Near() bool {
	return e.Memory > e.MaxMemory/4*3 || e.Time > e.MaxTime/4*3
}

// LoadEstimate returns what loading the module takes. engine is EngineInterpreter; any other
// value means the compiler.
func (s *Spec) LoadEstimate(engine string) LoadEstimate {
	e, most := s.facts.Compiled, wasmbin.Budget(s.code)
	if engine == EngineInterpreter {
		e = s.facts.Interpreted
	}
	return LoadEstimate{e.Memory, e.Time, e.Mostly, e.Longest, most.Memory, most.Time}
}

// checkLoad refuses a module whose estimate exceeds the limits.
func (s *Spec) checkLoad(engine string, l Limits) error {
	e := s.LoadEstimate(engine)
	e.MaxMemory, e.MaxTime = pick(l.LoadMemory, e.MaxMemory), pick(l.LoadTime, e.MaxTime)
	var other string
	if engine != EngineInterpreter {
		if i := s.LoadEstimate(EngineInterpreter); i.Memory <= e.MaxMemory && i.Time <= e.MaxTime && s.checkFrames(EngineInterpreter, l) == nil {
			other = "; or state engine: interpreter, many times slower"
		}
	}
	var what []string
	if e.Memory > e.MaxMemory {
		what = append(what, fmt.Sprintf("to load it takes about %s of memory, most of it for %s, allowed %s (raise limits.load_memory%s)",
			sizeText(e.Memory), e.MemoryFor, sizeText(e.MaxMemory), other))
	}
	if e.Time > e.MaxTime {
		what = append(what, fmt.Sprintf("to load it takes about %s, most of it for %s, allowed %s (raise limits.load_time%s)",
			e.Time.Round(time.Millisecond), e.TimeFor, e.MaxTime.Round(time.Millisecond), other))
	}
	if len(what) > 0 {
		return as(ErrTooLarge, errors.New(strings.Join(what, "; ")))
	}
	return s.checkFrames(engine, l)
}

// checkFrames refuses a module for the interpreter if its calls could take more stack than
// Limits.Memory. The interpreter bounds only how deep calls nest, not the size of their
// frames.
func (s *Spec) checkFrames(engine string, l Limits) error {
	most := pick(l.Memory, DefaultMemory)
	if need := s.interpretedStack(); engine == EngineInterpreter && need > most {
		return as(ErrTooLarge, fmt.Errorf("calls of function %d take up to %s of the interpreter's stack, allowed %s (split the function, raise limits.memory, or use the compiler)",
			s.facts.FrameFunc, sizeText(need), sizeText(most)))
	}
	return nil
}

// interpretedStack is the most stack that calls of an interpreted instance take, in bytes.
func (s *Spec) interpretedStack() int64 {
	return int64(min(s.facts.Frame, math.MaxInt64/wazerox.InterpretedCalls)) * wazerox.InterpretedCalls
}

// sizeText rounds a size up to whole MiB.
func sizeText(n int64) string { return fmt.Sprintf("%d MiB", (n-1)>>20+1) }

// compiled is the spec as package compile needs it.
func (s *Spec) compiled() *compile.Source {
	return &compile.Source{Digest: s.source.digest, Bytes: s.source.bytes, Facts: s.facts, Imports: s.imports,
		Memory: s.memory, Linked: s.linkable()}
}

// module returns the compiled module of a spec, and compiles it if no other plugin uses it. It
// returns when ctx ends, while the compilation goes on.
func (h *Host) module(ctx context.Context, name string, spec *Spec, kind string, l Limits) (*compile.Module, error) {
	if err := spec.checkLoad(kind, l); err != nil {
		return nil, err
	}
	var pages uint32
	if features := h.cfg.featuresOf(kind); !features.On(wazerox.Memories) {
		pages = uint32(l.Memory / wasmPage)
	}
	m, err := h.compiler.Module(ctx, name, spec.compiled(), kind == EngineInterpreter, pages)
	return m, notCompiled(err)
}

// notCompiled makes an error of package compile wrap the errors that callers test for.
func notCompiled(err error) error {
	var refused *compile.Refusal
	switch {
	case !errors.As(err, &refused):
		return err
	case refused.TooLarge:
		return as(ErrTooLarge, err)
	}
	return as(ErrNotWasm, err)
}
