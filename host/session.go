package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
)

// Session is an instance of a plugin that serves one owner, for as long as that wants:
// what its calls leave in the guest, variables of Extism included, is there in the next
// one, whatever PluginConfig.State says. See [Plugin.NewSession].
//
// A session serves one call at a time; another one is refused meanwhile. A call that the
// host or a trap stops before the guest returns, as at its deadline, ends the session:
// nothing is known of what it left half done. An error that the guest itself reports does
// not.
type Session struct {
	plugin *Plugin
	tenant string
	// turn has room for the one who uses the fields below.
	turn chan struct{}
	in   *instance
	// over says why there is no instance any more.
	over error
}

// NewSession makes an instance that is nobody else's, until Close. It starts as others
// do: from the state after init. It serves the tenant of ctx; see [WithTenant].
//
// A session is not one of Limits.Instances, so that a plugin can have many, but it counts
// for Config.MaxInstances and Config.PluginShare of its host, which bound them. It is not
// given back when it is idle. NewSession waits for room for at most Limits.QueueTimeout,
// and makes room as a call does. Errors are those of [Plugin.Call].
func (p *Plugin) NewSession(ctx context.Context) (*Session, error) {
	if ctx.Err() != nil {
		return nil, p.failure(abi.OpInit, nil, contextFault(ctx))
	}
	if err := p.checkFolders(); err != nil {
		return nil, p.failure(abi.OpInit, nil, err)
	}
	s := &Session{plugin: p, tenant: tenantOf(ctx), turn: make(chan struct{}, 1)}
	s.turn <- struct{}{} // Close waits until it is made
	defer s.leave()
	if !p.sessions.add(s) {
		return nil, p.failure(abi.OpInit, nil, errPluginClosed())
	}
	in, err := p.makeInRoom(ctx, func() (*instance, error) { return p.startInstance(ctx, true) })
	if s.in = in; err != nil {
		s.over = err
		p.sessions.remove(s)
		return nil, p.failure(abi.OpInit, nil, err)
	}
	return s, nil
}

// Call calls an export as [Plugin.Call] does, in the instance of the session. _start and
// _initialize are refused: they begin a guest. Errors are those of Plugin.Call, and the
// reason busy while another call runs, denied under a context of another tenant, and
// trap once the session is over.
func (s *Session) Call(ctx context.Context, function string, input []byte) (*CallResult, error) {
	o := s.plugin.observe(abi.Operation(function), "")
	r, err := s.call(ctx, function, input, o)
	s.plugin.endedWith(ctx, o, err)
	return r, err
}

// call is Call for a call that is observed.
func (s *Session) call(ctx context.Context, function string, input []byte, o *observed) (*CallResult, error) {
	p, op := s.plugin, abi.Operation(function)
	if err := s.admit(ctx, function); err != nil {
		return nil, err
	}
	select {
	case s.turn <- struct{}{}:
		defer s.leave()
	default:
		return nil, p.failure(op, nil, &fault{code: abi.ReasonBusy, err: errors.New("the session serves another call"),
			remedy: "call it from one goroutine at a time, or make a session for each"})
	}
	if s.in == nil {
		return nil, p.failure(op, nil, s.over)
	}
	probe, err := p.admit()
	if err != nil {
		return nil, p.failure(op, nil, err)
	}
	if o != nil {
		o.lap()
	}
	return s.judged(ctx, probe, function, input, o)
}

// judged makes a call, and draws the consequences, also where a function of the embedder
// ends the goroutine.
func (s *Session) judged(ctx context.Context, probe bool, function string, input []byte, o *observed) (*CallResult, error) {
	var r *CallResult
	ended, failed := fairness.Neutral, (*PluginError)(nil)
	defer func() {
		s.plugin.judge(probe, ended, failed)
		if !s.in.halted {
			return
		}
		how := "the end of its goroutine"
		if failed != nil {
			how = string(failed.Code)
		}
		s.end(&fault{code: abi.ReasonTrap, remedy: "make another session",
			err: fmt.Errorf("the session is over since a call ended with %s", how)})
	}()
	if r, ended, failed = s.serve(ctx, function, input, o); failed != nil {
		return nil, failed
	}
	return r, nil
}

// admit refuses calls that the session does not serve.
func (s *Session) admit(ctx context.Context, function string) error {
	p, op := s.plugin, abi.Operation(function)
	switch {
	case !slices.Contains(p.spec.Functions, function) || function == "_start" || function == "_initialize":
		return fmt.Errorf("plugin %q: function %q: %w (%s)", p.name, function, ErrNoExport, p.spec.functionHint(function))
	case ctx.Err() != nil:
		return p.failure(op, nil, contextFault(ctx))
	case tenantOf(ctx) != s.tenant:
		return p.failure(op, nil, &fault{code: abi.ReasonDenied, remedy: "make a session for each tenant",
			err: fmt.Errorf("the session serves the tenant %q, the call is for %q", s.tenant, tenantOf(ctx))})
	}
	if n := nestOf(ctx); n != nil && n.depth > maxNested {
		return p.failure(op, nil, n.tooDeep())
	}
	if err := p.checkFolders(); err != nil {
		return p.failure(op, nil, err)
	}
	return nil
}

// serve makes a call in the instance, and says what it means for the rest of the plugin.
func (s *Session) serve(ctx context.Context, function string, input []byte, o *observed) (r *CallResult, ended fairness.Outcome, failed *PluginError) {
	p, in, op := s.plugin, s.in, abi.Operation(function)
	in.halted = false
	if err := in.queue(ctx); err != nil {
		failed = p.failure(op, nil, err)
		return nil, outcome(nil, failed), failed
	}
	defer func() {
		in.unwatch()
		in.state.end()
		in.tend()
	}()
	err := in.serve(ctx, p.limits.Timeout, func(in *instance) (err error) {
		r, err = in.call(function, input)
		return err
	}, o)
	if err != nil {
		failed = p.failure(op, in, err)
		return nil, outcome(in, failed), failed
	}
	return r, fairness.Good, nil
}

// Close closes the instance, waiting for a running call until ctx ends. It may be called
// again. A session that is not closed lasts as long as its plugin.
func (s *Session) Close(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}: // also where ctx has ended: there is nothing to wait for
	default:
		select {
		case s.turn <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("plugin %q: close session: wait for the running call: %w", s.plugin.name, ctx.Err())
		}
	}
	defer s.leave()
	s.end(&fault{code: abi.ReasonBusy, err: as(ErrClosed, errors.New("the session is closed and takes no more calls")), remedy: noRemedy})
	return nil
}

// end closes the instance, and has further calls say why. Its turn is the caller's.
func (s *Session) end(why error) {
	if s.in == nil {
		return
	}
	s.in.close()
	s.in, s.over = nil, why
	s.plugin.sessions.remove(s)
}

func (s *Session) leave() { <-s.turn }

// sessions are those of a plugin.
type sessions struct {
	mu     sync.Mutex
	open   map[*Session]struct{}
	closed bool
}

// add takes a session in, unless the plugin is closed.
func (a *sessions) add(s *Session) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	if a.open == nil {
		a.open = map[*Session]struct{}{}
	}
	a.open[s] = struct{}{}
	return true
}

func (a *sessions) remove(s *Session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, s)
}

// close closes all, and refuses others from now on.
func (a *sessions) close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	open := make([]*Session, 0, len(a.open))
	for s := range a.open {
		open = append(open, s)
	}
	a.mu.Unlock()
	var errs []error
	for _, s := range open {
		errs = append(errs, s.Close(ctx))
	}
	return errors.Join(errs...)
}
