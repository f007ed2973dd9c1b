package sqlite

import (
	"context"
	"fmt"
	"runtime"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/anchor-host/anchor-host/store"
)

const (
	primaryBusy = lib.SQLITE_BUSY

	// busySlice is how long SQLite itself waits for a lock. After each such wait the writer
	// refuses the requests that have waited too long.
	busySlice = 100 * time.Millisecond
	// settle is how long a call whose context has ended waits for the end of a write that
	// had begun. It is far longer than a commit takes on a disk that works.
	settle = 5 * time.Second
	// groupCount and groupBytes bound a transaction, and so the time that a reader needs
	// for the log after a crash.
	groupCount = 1024
	groupBytes = 64 << 20
	// yields is how often the writer lets other goroutines run before it commits, because
	// callers that the last commit has answered often write again at once.
	yields = 2
)

func newWriter(s *Store, c *conn) *writer {
	w := &writer{store: s, settle: settle, stopped: make(chan struct{}), tx: tx{store: s, conn: c}}
	w.wake.L = &w.mu
	return w
}

// do passes a request to the writer and waits for its outcome.
func (w *writer) do(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return store.ErrClosed
	}
	w.queue = append(w.queue, r)
	w.mu.Unlock()
	w.wake.Signal()

	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	if r.abandon() {
		return ctx.Err()
	}
	late := time.NewTimer(w.settle)
	defer late.Stop()
	select {
	case <-r.done:
		return r.err
	case <-late.C:
		return fmt.Errorf("%w: %w (the write was begun; read to see whether it is there)", store.ErrUnknown, ctx.Err())
	}
}

// close waits until the queue is empty and ends the writer.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.wake.Signal()
	<-w.stopped
	return w.tx.close()
}

func (w *writer) run() {
	defer close(w.stopped)
	for w.wait() {
		if !w.begin() {
			continue
		}
		err := w.gather()
		if err == nil {
			err = w.tx.commit()
		}
		w.answer(err)
	}
}

// wait waits until there are requests and returns true, or returns false after close.
func (w *writer) wait() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) == 0 && !w.closed {
		w.wake.Wait()
	}
	return len(w.queue) > 0
}

// begin starts a transaction. Until it has started, requests stay in the queue and their
// callers can still withdraw them.
func (w *writer) begin() bool {
	for {
		err := w.tryBegin()
		if err == nil {
			w.commits++
			return true
		}
		limit := time.Now()
		if primary(err) == primaryBusy {
			limit = limit.Add(-w.store.opts.BusyTimeout)
		}
		if w.refuse(limit, err) == 0 {
			return false
		}
	}
}

func (w *writer) tryBegin() error {
	if w.tx.conn == nil {
		c, err := w.store.tryOpenWriter()
		if err != nil {
			return err
		}
		w.tx.conn = c
	}
	if err := w.store.sameFile(); err != nil {
		return err
	}
	return w.tx.begin()
}

// refuse fails the requests that were queued before the limit and returns how many remain.
func (w *writer) refuse(limit time.Time, err error) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.queue[:0]
	for _, r := range w.queue {
		switch {
		case r.since.After(limit) && r.state.Load() == queued:
			kept = append(kept, r)
		case r.take():
			r.finish(err)
		}
	}
	clear(w.queue[len(kept):])
	w.queue = kept
	return len(kept)
}

// gather executes the waiting requests, and those that arrive meanwhile.
func (w *writer) gather() error {
	w.group = w.group[:0]
	size := 0
	for idle := 0; len(w.group) < groupCount && size < groupBytes; {
		r := w.next()
		if r == nil {
			if idle++; idle > yields {
				break
			}
			runtime.Gosched()
			continue
		}
		w.group = append(w.group, r)
		size += r.size
		if err := w.tx.execute(r); err != nil {
			return err
		}
	}
	return nil
}

// next takes the first request from the queue that its caller has not abandoned.
func (w *writer) next() *request {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range w.queue {
		w.queue[i] = nil
		if r.take() {
			w.queue = w.queue[i+1:]
			return r
		}
	}
	w.queue = nil
	return nil
}

// answer reports the outcome to the callers of a group. After an error nothing of the group
// was written. A single request may have caused it, so each then gets its own transaction.
func (w *writer) answer(err error) {
	if err == nil {
		for _, r := range w.group {
			r.finish(r.err)
		}
		return
	}
	w.tx.rollback()
	if len(w.group) == 1 {
		w.group[0].finish(w.erase(w.group[0], err))
		return
	}
	for _, r := range w.group {
		r.finish(w.erase(r, w.alone(r)))
	}
}

// erase repeats a request that found the disk full, if it only deletes: in the room of the reserve
// file, which the log gives back afterwards.
func (w *writer) erase(r *request, err error) error {
	if primary(err) != lib.SQLITE_FULL || !r.erases() || w.store.opts.Reserve == 0 || !FreeReserve(w.store.path) {
		return err
	}
	if err = w.alone(r); w.tx.conn != nil {
		_, _, _ = w.tx.conn.number("PRAGMA wal_checkpoint(TRUNCATE)") // if it fails, the log stays as it is
	}
	w.store.keepReserve()
	return err
}

func (w *writer) alone(r *request) error {
	err := w.tryBegin()
	for ; primary(err) == primaryBusy && time.Since(r.since) < w.store.opts.BusyTimeout; err = w.tryBegin() {
	}
	if err != nil {
		return err
	}
	w.commits++
	err = w.tx.execute(r)
	if err == nil {
		err = w.tx.commit()
	}
	if err != nil {
		w.tx.rollback()
		return err
	}
	return r.err
}
