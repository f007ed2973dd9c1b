package compile

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/pool"
)

// Compiler compiles modules, and owns them and the engines. It is safe for concurrent use.
type Compiler struct {
	o Options
	// queue bounds what is compiled at the same time. life ends with Stop.
	queue queue
	life  context.Context
	end   context.CancelFunc

	mu      sync.Mutex
	stopped bool
	engines map[bool]*startedEngine // by whether they interpret
	modules map[moduleKey]*Module
	// making are the modules that are being made. spare is one that was made after all who
	// had asked for it had left.
	making map[moduleKey]*making
	spare  *Module
}

// startedEngine is an engine that is being made. When done is closed, the engine is there,
// or err says why not.
type startedEngine struct {
	done chan struct{}
	*Engine
	err error
}

// making is a module that is being compiled. The goroutine that does it closes done.
type making struct {
	done chan struct{}
	// waiting is the number of those who wait for the module; guarded by Compiler.mu.
	waiting int
	module  *Module
	err     error
}

// errClosed is the error after Stop. It names the host, which is what was closed.
var errClosed = fmt.Errorf("host: %w", pool.ErrClosed)

// errNoEngine is the error of those who waited for an engine whose making panicked.
var errNoEngine = errors.New("engine: the host panicked")

// New makes a compiler. Close frees it.
func New(o Options) *Compiler {
	most := runtime.GOMAXPROCS(0)
	if o.Parallel { // each compilation takes all of them
		most = 1
	}
	c := &Compiler{o: o, queue: queue{limit: o.Memory, most: most}, engines: map[bool]*startedEngine{},
		modules: map[moduleKey]*Module{}, making: map[moduleKey]*making{}}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// Module returns the compiled module of a source for one of the engines, and compiles it if
// nobody uses it yet. name is what Options.OnCompile receives. pages is the most memory of the
// module in pages of 64 KiB, 0 if the memories of its instances enforce the limit themselves.
//
// Module returns when ctx ends, while the compilation goes on; its result is kept for the next
// who asks. The error is a [*Refusal], or one that wraps pool.ErrClosed, the cause of the end
// of ctx, or the error of Source.Bytes or of Options.Offer.
func (c *Compiler) Module(ctx context.Context, name string, s *Source, interpreted bool, pages uint32) (*Module, error) {
	key := moduleKey{s.Digest, interpreted, pages}
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return nil, errClosed
	}
	if m := c.modules[key]; m != nil {
		c.use(m, 1)
		c.mu.Unlock()
		return m, nil
	}
	k := c.making[key]
	if k == nil {
		k = &making{done: make(chan struct{})}
		c.making[key] = k
		go c.make(context.WithoutCancel(ctx), k, name, s, key)
	}
	k.waiting++
	c.mu.Unlock()
	select {
	case <-k.done:
		return k.module, k.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-k.done: // make has counted this user already
		return k.module, k.err
	default:
		k.waiting--
		return nil, fmt.Errorf("compile: %w", context.Cause(ctx))
	}
}

// make compiles a module for those who wait for it. If nobody waits any longer, the module
// becomes the spare, which the next who asks can take. There is only one spare: the last.
func (c *Compiler) make(ctx context.Context, k *making, name string, s *Source, key moduleKey) {
	m, err := c.prepare(ctx, name, s, key)
	c.mu.Lock()
	delete(c.making, key)
	k.module, k.err = m, err
	var old *Module
	if err == nil {
		m.key = key
		c.modules[key] = m
		c.use(m, k.waiting)
		if m.users == 0 {
			if old, c.spare = c.spare, m; old != nil {
				delete(c.modules, old.key)
			}
		}
	}
	close(k.done)
	c.mu.Unlock()
	if old != nil {
		_ = old.Compiled.Close(ctx)
	}
}

// use adds users to a module. The caller holds c.mu.
func (c *Compiler) use(m *Module, users int) {
	m.users += users
	if m.users > 0 && c.spare == m {
		c.spare = nil
	}
}

// prepare makes the module, and first the engine if there is none yet.
func (c *Compiler) prepare(ctx context.Context, name string, s *Source, key moduleKey) (m *Module, err error) {
	defer func() {
		if r := recover(); r != nil {
			m, err = nil, refusef("compile: not a usable module: the host panicked: %v", r)
		}
	}()
	e, err := c.engine(ctx, key.interpreted)
	if err != nil {
		return nil, err
	}
	if s.Linked {
		e.Kernel(ctx)
	}
	if c.o.OnCompile != nil {
		begin := time.Now()
		c.o.OnCompile(name, false, 0)
		defer func() { c.o.OnCompile(name, true, time.Since(begin)) }()
	}
	return c.compile(ctx, e, s, key.pages)
}

// engine returns one of the engines, and makes it when it is first needed. It is called only
// while a module is made, which Close waits for.
func (c *Compiler) engine(ctx context.Context, interpreted bool) (*Engine, error) {
	c.mu.Lock()
	s := c.engines[interpreted]
	if s != nil {
		c.mu.Unlock()
		<-s.done
		return s.Engine, s.err
	}
	s = &startedEngine{done: make(chan struct{}), err: errNoEngine}
	c.engines[interpreted] = s
	c.mu.Unlock()
	defer func() { // also after a panic
		if s.err != nil {
			c.mu.Lock()
			delete(c.engines, interpreted) // the next one tries again
			c.mu.Unlock()
		}
		close(s.done)
	}()
	s.Engine, s.err = NewEngine(ctx, c.o, interpreted)
	return s.Engine, s.err
}

// Release ends the use of a module. The last user frees it.
func (c *Compiler) Release(ctx context.Context, m *Module) error {
	c.mu.Lock()
	m.users--
	last := m.users == 0
	if last {
		delete(c.modules, m.key)
	}
	c.mu.Unlock()
	if !last {
		return nil
	}
	return m.Compiled.Close(ctx)
}

// Stop has Module compile no more. What waits for others to be compiled ends with an error.
func (c *Compiler) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.end()
}

// Close stops the compiler, waits until no module is being compiled, and frees everything that
// was made. No module is used after that. If ctx ends first, it returns an error and has freed
// nothing, and may be called again.
func (c *Compiler) Close(ctx context.Context) error {
	c.Stop()
	if err := c.settle(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	if m := c.spare; m != nil {
		c.spare = nil
		delete(c.modules, m.key)
		errs = append(errs, m.Compiled.Close(ctx))
	}
	for kind, e := range c.engines {
		errs = append(errs, e.Close(ctx))
		delete(c.engines, kind)
	}
	return errors.Join(errs...)
}

// settle waits until no module is being compiled. The compiler is stopped, so none is begun.
func (c *Compiler) settle(ctx context.Context) error {
	for {
		c.mu.Lock()
		var k *making
		for _, k = range c.making {
			break
		}
		c.mu.Unlock()
		if k == nil {
			return nil
		}
		if err := pool.WaitFor(ctx, k.done); err != nil {
			return fmt.Errorf("wait for a module that is being compiled: %w", err)
		}
	}
}
