package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
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
		return nil, p.setup.failure(abi.OpInit, nil, guest.ContextFault(ctx))
	}
	if err := p.lending.checkFolders(); err != nil {
		return nil, p.setup.failure(abi.OpInit, nil, err)
	}
	s := &Session{plugin: p, tenant: TenantOf(ctx), turn: make(chan struct{}, 1)}
	s.turn <- struct{}{} // so that Close waits until the instance is made
	defer s.leave()
	if !p.lending.sessions.add(s) {
		return nil, p.setup.failure(abi.OpInit, nil, errPluginClosed())
	}
	in, err := p.setup.makeInRoom(ctx, func() (*guest.Instance, error) {
		return p.setup.started(p.starting.env.Start(p.setup.booked(ctx), true))
	})
	if s.in = in; err != nil {
		s.over = err
		p.lending.sessions.remove(s)
		return nil, p.setup.failure(abi.OpInit, nil, err)
	}
	return s, nil
}

// Call calls an export as [Plugin.Call] does, in the instance of the session. It refuses
// _start and _initialize, because they begin a guest. Errors are those of Plugin.Call. The
// reason is busy while another call runs and after Close, denied under a context of another
// tenant, and trap after a stopped call has ended the session.
func (s *Session) Call(ctx context.Context, function string, input []byte) (*CallResult, error) {
	p := s.plugin
	if function == "_start" || function == "_initialize" {
		return nil, p.setup.noFunction(function)
	}
	return p.call(ctx, function, input, s)
}

// lend implements lender. It refuses calls that the session cannot serve.
func (s *Session) lend(ctx context.Context) (*guest.Instance, error) {
	switch {
	case ctx.Err() != nil:
		return nil, guest.ContextFault(ctx)
	case TenantOf(ctx) != s.tenant:
		return nil, &guest.Fault{Reason: abi.ReasonDenied, Remedy: "make a session for each tenant",
			Err: fmt.Errorf("the session serves the tenant %q, the call is for %q", s.tenant, TenantOf(ctx))}
	}
	if n := guest.NestOf(ctx); n != nil && n.Depth > maxNested {
		return nil, nestedTooDeep()
	}
	if err := s.plugin.lending.checkFolders(); err != nil {
		return nil, err
	}
	select {
	case s.turn <- struct{}{}:
	default:
		return nil, &guest.Fault{Reason: abi.ReasonBusy, Err: errors.New("the session serves another call"),
			Remedy: "call it from one goroutine at a time, or make a session for each"}
	}
	if s.in == nil {
		defer s.leave()
		return nil, s.over
	}
	s.in.Life.Halted = false
	return s.in, nil
}

// takeBack implements lender. It ends the session if the call was stopped, even when a function of
// the embedder ends the goroutine.
func (s *Session) takeBack(in *guest.Instance, how ending) {
	defer s.leave()
	in.CheckStacks()
	if !in.Life.Halted {
		return
	}
	why := "the end of its goroutine"
	if how.failed != nil {
		why = string(how.failed.Code)
	}
	s.end(&guest.Fault{Reason: abi.ReasonTrap, Remedy: "make another session",
		Err: fmt.Errorf("the session is over since a call ended with %s", why)})
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
			return fmt.Errorf("plugin %q: close session: wait for the running call: %w", s.plugin.setup.name, ctx.Err())
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
	s.plugin.lending.sessions.remove(s)
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
