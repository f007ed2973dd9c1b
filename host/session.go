package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/internal/errkind"
)

// NewSession makes an instance for one owner, until Close. It starts from the state after
// init, as other instances do. It serves the tenant of ctx; see [WithTenant].
//
// A session is not one of Limits.Instances, so a plugin can have many. Config.MaxInstances and
// Config.PluginShare of the host bound sessions. An idle session is never evicted. NewSession
// waits for memory and a place for at most Limits.QueueTimeout, and evicts idle instances as a
// call does. Errors are those of [Plugin.Call].
func (p *Plugin) NewSession(ctx context.Context) (*Session, error) {
	if ctx.Err() != nil {
		return nil, p.failure(abi.OpInit, nil, guest.ContextFault(ctx))
	}
	if err := p.checkFolders(); err != nil {
		return nil, p.failure(abi.OpInit, nil, err)
	}
	s := &Session{plugin: p, tenant: TenantOf(ctx), turn: make(chan struct{}, 1)}
	s.turn <- struct{}{} // so that Close waits until the instance is made
	defer s.leave()
	if !p.sessions.add(s) {
		return nil, p.failure(abi.OpInit, nil, errPluginClosed())
	}
	in, err := p.makeInRoom(ctx, func() (*guest.Instance, error) { return p.started(p.env.Start(p.booked(ctx), true)) })
	if s.in = in; err != nil {
		s.over = err
		p.sessions.remove(s)
		return nil, p.failure(abi.OpInit, nil, err)
	}
	return s, nil
}

// Call calls an export as [Plugin.Call] does, in the instance of the session. It refuses
// _start and _initialize, because they begin a guest. Errors are those of Plugin.Call. The
// reason is busy while another call runs and after Close, denied under a context of another
// tenant, and trap after a stopped call has ended the session.
func (s *Session) Call(ctx context.Context, function string, input []byte) (*CallResult, error) {
	ctx, o := s.plugin.observe(ctx, abi.Operation(function), "")
	r, err := s.call(ctx, function, input, o)
	s.plugin.endedWith(ctx, o, err)
	return r, err
}

// call is Call for a call that o observes.
func (s *Session) call(ctx context.Context, function string, input []byte, o *observed) (*CallResult, error) {
	p, op := s.plugin, abi.Operation(function)
	if err := s.admit(ctx, function); err != nil {
		return nil, err
	}
	select {
	case s.turn <- struct{}{}:
		defer s.leave()
	default:
		return nil, p.failure(op, nil, &guest.Fault{Reason: abi.ReasonBusy, Err: errors.New("the session serves another call"),
			Remedy: "call it from one goroutine at a time, or make a session for each"})
	}
	if s.in == nil {
		return nil, p.failure(op, nil, s.over)
	}
	probe, err := p.admit(ctx)
	if err != nil {
		return nil, p.failure(op, nil, err)
	}
	o.lap(nil)
	return s.judged(ctx, probe, function, input, o)
}

// judged makes a call and reports its outcome to the plugin's rest. It ends the session if the
// call was stopped, even when a function of the embedder ends the goroutine.
func (s *Session) judged(ctx context.Context, probe bool, function string, input []byte, o *observed) (*CallResult, error) {
	var r *CallResult
	ended, failed := fairness.Neutral, (*PluginError)(nil)
	defer func() {
		s.plugin.judge(ctx, probe, ended, failed)
		if !s.in.Halted {
			return
		}
		how := "the end of its goroutine"
		if failed != nil {
			how = string(failed.Code)
		}
		s.end(&guest.Fault{Reason: abi.ReasonTrap, Remedy: "make another session",
			Err: fmt.Errorf("the session is over since a call ended with %s", how)})
	}()
	if r, ended, failed = s.serve(ctx, function, input, o); failed != nil {
		return nil, failed
	}
	return r, nil
}

// admit refuses calls that the session cannot serve.
func (s *Session) admit(ctx context.Context, function string) error {
	p, op := s.plugin, abi.Operation(function)
	switch {
	case !slices.Contains(p.spec.Functions, function) || function == "_start" || function == "_initialize":
		return fmt.Errorf("plugin %q: function %q: %w (%s)", p.name, function, ErrNoExport, functionHint(p.spec, function))
	case ctx.Err() != nil:
		return p.failure(op, nil, guest.ContextFault(ctx))
	case TenantOf(ctx) != s.tenant:
		return p.failure(op, nil, &guest.Fault{Reason: abi.ReasonDenied, Remedy: "make a session for each tenant",
			Err: fmt.Errorf("the session serves the tenant %q, the call is for %q", s.tenant, TenantOf(ctx))})
	}
	if n := guest.NestOf(ctx); n != nil && n.Depth > maxNested {
		return p.failure(op, nil, nestedTooDeep())
	}
	if err := p.checkFolders(); err != nil {
		return p.failure(op, nil, err)
	}
	return nil
}

// serve makes a call in the instance, and returns what its outcome means for the plugin's
// rest.
func (s *Session) serve(ctx context.Context, function string, input []byte, o *observed) (r *CallResult, ended fairness.Outcome, failed *PluginError) {
	p, in, op := s.plugin, s.in, abi.Operation(function)
	in.Halted = false
	if err := p.queue(ctx, in); err != nil {
		failed = p.failure(op, nil, err)
		return nil, outcome(nil, failed), failed
	}
	defer func() {
		in.Call.End()
		in.CheckStacks()
	}()
	err := p.serve(ctx, in, p.limits.Timeout, func(in *guest.Instance) (err error) {
		r, err = callExport(in, function, input)
		return err
	}, o)
	if err != nil {
		failed = p.failure(op, in, err)
		return nil, outcome(in, failed), failed
	}
	return r, fairness.Good, nil
}

// Close closes the instance. It waits for a running call until ctx ends, and may be called
// again. Closing the plugin closes its sessions.
func (s *Session) Close(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}: // without waiting, even if ctx has ended
	default:
		select {
		case s.turn <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("plugin %q: close session: wait for the running call: %w", s.plugin.name, ctx.Err())
		}
	}
	defer s.leave()
	s.end(&guest.Fault{Reason: abi.ReasonBusy, Err: errkind.As(ErrClosed, errors.New("the session is closed and takes no more calls")), Remedy: guest.NoRemedy})
	return nil
}

// end closes the instance and makes further calls fail with why. The caller has s.turn.
func (s *Session) end(why error) {
	if s.in == nil {
		return
	}
	s.in.Close()
	s.in, s.over = nil, why
	s.plugin.sessions.remove(s)
}

func (s *Session) leave() { <-s.turn }

// add adds a session, unless the plugin is closed.
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

// close closes all sessions and refuses new ones.
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
