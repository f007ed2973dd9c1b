package mcpsource

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/anchor-host/anchor-host/anchor/component"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/registry/lock"
)

const (
	// maxRunning is how many calls of a source run at the same time.
	maxRunning = 8
	// recheck is how long a list of tools counts, if the server does not say that it has changed.
	recheck = 30 * time.Second
	// maxFailures is after how many calls without an answer the connection is made anew.
	maxFailures = 3
)

// Retrievers are the retrievers of this package, for anchor.Components. lockPath is the path of anchor.lock.
func Retrievers(lockPath string) map[string]component.Maker[pipeline.Retriever] {
	return map[string]component.Maker[pipeline.Retriever]{Name: {Schema: Schema, New: func(_ context.Context, given component.Settings) (pipeline.Retriever, error) {
		s, err := Decode(given)
		if err != nil {
			return nil, err
		}
		return newSource(s, lockPath), nil
	}}}
}

// source asks one server. It connects when it is first asked.
type source struct {
	s    *Settings
	lock string
	// running bounds the calls, and turn is held while the connection is made or checked.
	running, turn chan struct{}

	mu       sync.Mutex
	peer     *peer
	checked  time.Time
	failures int
	closed   bool
	// calls are those that run, so that close can wait for them.
	calls sync.WaitGroup
}

func newSource(s *Settings, lockPath string) *source {
	return &source{s: s, lock: lockPath, running: make(chan struct{}, maxRunning), turn: make(chan struct{}, 1)}
}

// errClosed is the error of a source that is closed.
var errClosed = errors.New("the configuration is closed")

func (s *source) Retrieve(ctx context.Context, q *pipeline.Query, topK int) ([]pipeline.Item, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(s.s.TimeoutMS)*time.Millisecond, fmt.Errorf("no answer within %d ms", s.s.TimeoutMS))
	defer cancel()
	items, err := s.retrieve(ctx, q, topK)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("mcp server %q: %w", s.s.Server, err)
	}
	return items, nil
}

func (s *source) retrieve(ctx context.Context, q *pipeline.Query, topK int) ([]pipeline.Item, error) {
	if err := enter(ctx, s.running); err != nil {
		return nil, err
	}
	defer func() { <-s.running }()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	s.calls.Add(1)
	s.mu.Unlock()
	defer s.calls.Done()
	p, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	items, err := guarded(ctx, p.stop, func() ([]pipeline.Item, error) { return s.ask(ctx, p, q, topK) })
	s.judge(p, err)
	if err != nil {
		return nil, p.why(err)
	}
	return items, nil
}

// enter waits for a place.
func enter(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// answerError is an error of the server's own, after which its connection is good.
type answerError struct{ error }

// judge notes how a call ended. A connection that does not answer is made anew by the next call.
func (s *source) judge(p *peer, err error) {
	s.mu.Lock()
	var answered answerError
	var refused *jsonrpc.Error
	if err == nil || errors.As(err, &answered) || errors.As(err, &refused) {
		s.failures = 0
		s.mu.Unlock()
		return
	}
	s.failures++
	drop := s.peer == p && (s.failures >= maxFailures || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled))
	if drop {
		s.peer, s.failures = nil, 0
	}
	s.mu.Unlock()
	if drop {
		p.close()
	}
}

// ready returns a connection to a server whose tools are those that were approved.
func (s *source) ready(ctx context.Context) (*peer, error) {
	if err := enter(ctx, s.turn); err != nil {
		return nil, err
	}
	defer func() { <-s.turn }()
	s.mu.Lock()
	p, fresh := s.peer, time.Since(s.checked) < recheck
	s.mu.Unlock()
	if p != nil && fresh {
		select {
		case <-p.changed:
		default:
			return p, nil
		}
	}
	entry, err := approved(s.lock, s.s) // before anything of it runs
	if err != nil {
		s.drop()
		return nil, err
	}
	if p != nil {
		select {
		case <-p.changed: // a new connection hears of the next change
			s.drop()
			p = nil
		default:
		}
	}
	if p == nil {
		if p, err = dial(ctx, s.s, filepath.Dir(s.lock)); err != nil {
			return nil, err
		}
	}
	if err := s.check(ctx, p, entry); err != nil {
		s.drop()
		p.close()
		return nil, p.why(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peer, s.checked = p, time.Now()
	return p, nil
}

// check holds the tools of a server against anchor.lock.
func (s *source) check(ctx context.Context, p *peer, entry *lock.Server) error {
	if s.s.Tool == "" && p.session.InitializeResult().Capabilities.Tools == nil {
		return nil
	}
	list, err := p.tools(ctx)
	if err != nil {
		return err
	}
	if err := compare(entry, list); err != nil {
		return err
	}
	if s.s.Tool != "" && !slices.ContainsFunc(list, func(t *mcp.Tool) bool { return t.Name == s.s.Tool }) {
		return fmt.Errorf("it has no tool %.100q", s.s.Tool)
	}
	return nil
}

// drop ends the connection, if there is one.
func (s *source) drop() {
	s.mu.Lock()
	p := s.peer
	s.peer = nil
	s.mu.Unlock()
	if p != nil {
		p.close()
	}
}

func (s *source) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.drop()
	s.calls.Wait()
	s.drop()
	return nil
}
