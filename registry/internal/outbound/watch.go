package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/registry/internal/kind"
)

// leastMoved is how many bytes have to move while a request may stall. A server that sends a byte
// now and then would hold its client for days otherwise.
const leastMoved = 16 << 10

// watch ends a request when too little has moved for a time.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	stall  time.Duration
	moved  atomic.Int64 // since the timer was set
	timer  *time.Timer
}

// watching begins to watch a request. It goes on under the context that is returned.
func watching(parent context.Context, stall time.Duration) (*watch, context.Context) {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watch{ctx: ctx, cancel: cancel, stall: stall}
	w.timer = time.AfterFunc(stall, w.look)
	return w, ctx
}

// begin sets the timer anew.
func (w *watch) begin() {
	w.moved.Store(0)
	w.timer.Reset(w.stall)
}

func (w *watch) look() {
	moved := w.moved.Load()
	switch {
	case w.ctx.Err() != nil:
	case moved >= leastMoved:
		w.begin()
	case moved == 0:
		w.cancel(errkind.As(kind.ErrUnreachable, fmt.Errorf("no byte came or went for %s", w.stall)))
	default:
		w.cancel(errkind.As(kind.ErrUnreachable, fmt.Errorf("only %d bytes came or went in %s, want %d", moved, w.stall, leastMoved)))
	}
}

// end ends the watch of a request that failed, and says why it did.
func (w *watch) end(err error) error {
	if w.ctx.Err() != nil {
		err = context.Cause(w.ctx)
	}
	w.timer.Stop()
	w.cancel(nil)
	return err
}

// sending is the body of a request.
type sending struct {
	io.ReadCloser
	watch  *watch
	report func(int64)
	n      int64
}

func (s *sending) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.watch.moved.Add(int64(n))
	if s.n += int64(n); s.report != nil && n > 0 {
		s.report(s.n)
	}
	return n, err
}

// receiving is the body of an answer.
type receiving struct {
	io.ReadCloser
	watch *watch
}

func (r *receiving) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.watch.moved.Add(int64(n))
	if err != nil && !errors.Is(err, io.EOF) && r.watch.ctx.Err() != nil {
		err = context.Cause(r.watch.ctx)
	}
	return n, err
}

func (r *receiving) Close() error {
	err := r.ReadCloser.Close()
	_ = r.watch.end(nil) // why it failed was said when it was read
	return err
}

type reportKey struct{}

// WithReport has the bytes of request bodies reported under a context.
func WithReport(ctx context.Context, report func(int64)) context.Context {
	return context.WithValue(ctx, reportKey{}, report)
}

func reporting(ctx context.Context) func(int64) {
	report, _ := ctx.Value(reportKey{}).(func(int64))
	return report
}
