package host

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/pool"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// Loading a module costs the host work before any fuel is counted. That work is estimated
// while the module is read. A module that would take too much is refused. The others are
// compiled in goroutines of their own, so that Load can return when its context ends. As many
// compile at once as fit into Config.LoadMemory by their estimates.

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
func (s *Spec) LoadEstimate(engine Engine) LoadEstimate {
	e, most := s.facts.Compiled, wasmbin.Budget(s.code)
	if engine == EngineInterpreter {
		e = s.facts.Interpreted
	}
	return LoadEstimate{e.Memory, e.Time, e.Mostly, e.Longest, most.Memory, most.Time}
}

// checkLoad refuses a module whose estimate exceeds the limits.
func (s *Spec) checkLoad(engine Engine, l Limits) error {
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
func (s *Spec) checkFrames(engine Engine, l Limits) error {
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

// loadRoom admits compilations as long as their estimates together stay below a limit. One
// that does not fit waits, and smaller ones pass it. One that exceeds the limit runs alone.
type loadRoom struct {
	mu      sync.Mutex
	limit   int64
	used    int64
	waiters []*loadWaiter
}

type loadWaiter struct {
	n  int64
	in chan struct{}
}

// enter waits until n bytes fit, and returns the function that gives them back.
func (r *loadRoom) enter(ctx context.Context, n int64) (leave func(), err error) {
	n = min(n, r.limit)
	r.mu.Lock()
	if n <= r.limit-r.used {
		r.used += n
		r.mu.Unlock()
		return func() { r.leave(n) }, nil
	}
	w := &loadWaiter{n, make(chan struct{})}
	r.waiters = append(r.waiters, w)
	r.mu.Unlock()
	select {
	case <-w.in:
		return func() { r.leave(n) }, nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	i := slices.Index(r.waiters, w)
	if i >= 0 {
		r.waiters = slices.Delete(r.waiters, i, i+1)
	}
	r.mu.Unlock()
	if i < 0 { // leave has admitted it meanwhile
		r.leave(n)
	}
	return nil, fmt.Errorf("wait for other modules that are being loaded: %w", context.Cause(ctx))
}

func (r *loadRoom) leave(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= n
	r.waiters = slices.DeleteFunc(r.waiters, func(w *loadWaiter) bool {
		fits := w.n <= r.limit-r.used
		if fits {
			r.used += w.n
			close(w.in)
		}
		return fits
	})
}

// making is a module that is being compiled. The goroutine that does it closes done.
type making struct {
	done chan struct{}
	// waiting is the number of Loads that wait for the module; guarded by Host.mu.
	waiting int
	module  *module
	err     error
}

// module returns the compiled module of a spec, and compiles it if no other plugin uses it. It
// returns when ctx ends, while the compilation goes on.
func (h *Host) module(ctx context.Context, name string, spec *Spec, kind Engine, l Limits) (*module, error) {
	if err := spec.checkLoad(kind, l); err != nil {
		return nil, err
	}
	key := moduleKey{digest: spec.source.digest, engine: kind}
	if features := h.cfg.featuresOf(kind); !features.On(wazerox.Memories) {
		key.pages = uint32(l.Memory / wasmPage)
	}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, fmt.Errorf("host: %w", ErrClosed)
	}
	if m := h.modules[key]; m != nil {
		h.use(m, 1)
		h.mu.Unlock()
		return m, nil
	}
	k := h.making[key]
	if k == nil {
		k = &making{done: make(chan struct{})}
		h.making[key] = k
		go h.make(context.WithoutCancel(ctx), k, name, spec, key)
	}
	k.waiting++
	h.mu.Unlock()
	select {
	case <-k.done:
		return k.module, k.err
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-k.done: // make has counted this user already
		return k.module, k.err
	default:
		k.waiting--
		return nil, fmt.Errorf("compile: %w", context.Cause(ctx))
	}
}

// make compiles a module for those who wait for it. If nobody waits any longer, the module
// becomes the host's spare, which the next Load can take. There is only one spare: the last.
func (h *Host) make(ctx context.Context, k *making, name string, spec *Spec, key moduleKey) {
	m, err := h.prepare(ctx, name, spec, key)
	h.mu.Lock()
	delete(h.making, key)
	k.module, k.err = m, err
	var old *module
	if err == nil {
		m.key = key
		h.modules[key] = m
		h.use(m, k.waiting)
		if m.users == 0 {
			if old, h.spare = h.spare, m; old != nil {
				delete(h.modules, old.key)
			}
		}
	}
	close(k.done)
	h.mu.Unlock()
	if old != nil {
		_ = old.compiled.Close(ctx)
	}
}

// use adds users to a module. The caller holds h.mu.
func (h *Host) use(m *module, users int) {
	m.users += users
	if m.users > 0 && h.spare == m {
		h.spare = nil
	}
}

// prepare makes the module, and first the engine if the host does not have it yet.
func (h *Host) prepare(ctx context.Context, name string, spec *Spec, key moduleKey) (m *module, err error) {
	defer func() {
		if r := recover(); r != nil {
			m, err = nil, fmt.Errorf("compile: %w: the host panicked: %v", ErrNotWasm, r)
		}
	}()
	e, err := h.engine(ctx, key.engine)
	if err != nil {
		return nil, err
	}
	if spec.linkable() {
		e.settling.Lock()
		e.findKernel(ctx)
		e.settling.Unlock()
	}
	if m, err = h.compile(ctx, e, name, spec, key); err != nil {
		return nil, err
	}
	m.engine = e
	return m, nil
}

// stopMaking waits until no module is being compiled. The host is closed, so none is begun.
func (h *Host) stopMaking(ctx context.Context) error {
	for {
		h.mu.Lock()
		var k *making
		for _, k = range h.making {
			break
		}
		h.mu.Unlock()
		if k == nil {
			return nil
		}
		if err := pool.WaitFor(ctx, k.done); err != nil {
			return fmt.Errorf("host: close: wait for a module that is being compiled: %w", err)
		}
	}
}
