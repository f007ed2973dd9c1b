package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/store"
)

// lock holds the write lock of a file as another process would.
func lock(t *testing.T, path string) (unlock func()) {
	t.Helper()
	c, err := openConn(fileURI(path) + "?mode=rw")
	must(t, err)
	must(t, c.once("BEGIN IMMEDIATE"))
	return func() {
		must(t, c.once("COMMIT"))
		must(t, c.close())
	}
}

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, patient := mustOpen(t, path, Options{BusyTimeout: 150 * time.Millisecond}), mustOpen(t, path, Options{BusyTimeout: await.Patience})
	unlock := lock(t, path)
	_, err := s.Append(t.Context(), turns, text("a"))
	oneLine(t, err, store.ErrBusy, path, "raise the busy timeout")

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := patient.Append(ctx, turns, text("b")); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("append whose context ended in the queue: have error %v", err)
	}
	if recs, err := s.Read(t.Context(), turns, 0, 0); err != nil || len(recs) != 0 {
		t.Errorf("a reader had to wait, or saw %d records: %v", len(recs), err)
	}
	unlock()
	if first, err := s.Append(t.Context(), turns, text("c")); err != nil || first != 1 {
		t.Errorf("append after all: have %d, %v, want 1", first, err)
	}
}

func TestBusyEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := mustOpen(t, path, Options{BusyTimeout: time.Minute})
	unlock := lock(t, path)
	done := make(chan error)
	go func() {
		_, err := s.Append(t.Context(), turns, text("a"))
		done <- err
	}()
	waitQueued(s.writer, 1)
	unlock()
	if err := <-done; err != nil {
		t.Errorf("append that had to wait: %v", err)
	}
}

// waitQueued waits until so many requests are in the queue.
func waitQueued(w *writer, n int) {
	for {
		w.mu.Lock()
		have := len(w.queue)
		w.mu.Unlock()
		if have >= n {
			return
		}
		runtime.Gosched()
	}
}

// TestOutcome ends the context of a write that has begun.
func TestOutcome(t *testing.T) {
	sick := errors.New("the disk is sick")
	for _, tt := range []struct {
		name   string
		settle time.Duration
		finish bool
		err    error
		want   error
	}{
		{"it succeeded", time.Minute, true, nil, nil},
		{"it failed", time.Minute, true, sick, sick},
		{"nobody knows", time.Millisecond, false, nil, store.ErrUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWriter(&Store{}, nil) // it does not run: this test is the writer
			w.settle = tt.settle
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- w.do(ctx, newRequest(change{key: turns})) }()
			waitQueued(w, 1)
			r := w.next()
			cancel()
			if tt.finish {
				r.finish(tt.err)
			}
			err := <-done
			if !errors.Is(err, tt.want) {
				t.Errorf("have error %v, want %v", err, tt.want)
			}
			if unknown := errors.Is(err, context.Canceled); unknown == tt.finish {
				t.Errorf("have error %v: is it of the context?", err)
			}
		})
	}
}

// TestGroup shows that many writers share one commit, and that a request that is
// refused does not touch the others.
func TestGroup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := mustOpen(t, path, Options{BusyTimeout: time.Minute})
	const n = 100
	unlock := lock(t, path)
	before := s.writer.commits
	var wg sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	for range n {
		wg.Go(func() {
			_, err := s.Append(t.Context(), turns, store.Record{ID: "one", Data: text("a").Data})
			if errors.Is(err, store.ErrExists) {
				mu.Lock()
				taken++
				mu.Unlock()
			} else if err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := s.Append(t.Context(), turns, text("b")); err != nil {
				t.Error(err)
			}
		})
	}
	waitQueued(s.writer, 2*n)
	unlock()
	wg.Wait()
	if taken != n-1 {
		t.Errorf("refused: have %d, want %d", taken, n-1)
	}
	if recs, err := s.Read(t.Context(), turns, 0, 0); err != nil || len(recs) != n+1 || recs[n].Seq != n+1 {
		t.Errorf("records: have %d, %v, want %d", len(recs), err, n+1)
	}
	must(t, s.Close())
	if commits := s.writer.commits - before; commits != 1 {
		t.Errorf("%d calls took %d commits, want 1", 2*n, commits)
	}
}

// TestOneOfManyFails has one request of a group fill the file: it alone fails.
func TestOneOfManyFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := mustOpen(t, path, Options{BusyTimeout: time.Minute, maxPages: 40})
	unlock := lock(t, path)
	large := make(chan error, 1)
	small := make(chan error, 2)
	add := func(done chan<- error, queued int, recs ...store.Record) {
		go func() {
			_, err := s.Append(t.Context(), turns, recs...)
			done <- err
		}()
		waitQueued(s.writer, queued)
	}
	add(small, 1, longText(1))
	many := make([]store.Record, 200)
	for i := range many {
		many[i] = longText(21) // of about 2 KiB
	}
	add(large, 2, many...)
	add(small, 3, longText(2))
	unlock()
	oneLine(t, <-large, store.ErrFull, path, "make room on the disk")
	for range 2 {
		if err := <-small; err != nil {
			t.Errorf("append beside one that does not fit: %v", err)
		}
	}
	recs, err := s.Read(t.Context(), turns, 0, 0)
	must(t, err)
	if len(recs) != 2 || string(recs[0].Data) != string(longText(1).Data) || string(recs[1].Data) != string(longText(2).Data) {
		t.Errorf("have %d records", len(recs))
	}
}

func TestTwoStores(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	stores := make([]*Store, 4)
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() { // all create the file
			s, err := Open(t.Context(), path, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			stores[i] = s
			for range 50 {
				if _, err := s.Append(t.Context(), turns, text("x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	for _, s := range stores {
		recs, err := s.Read(t.Context(), turns, 0, 0)
		if err != nil || len(recs) != 200 || recs[199].Seq != 200 {
			t.Errorf("have %d records, %v, want 200", len(recs), err)
		}
		must(t, s.Close())
	}
}

func TestFileReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := mustOpen(t, path, Options{})
	if _, err := s.Append(t.Context(), turns, text("a")); err != nil {
		t.Fatal(err)
	}
	must(t, os.Rename(path, path+".old"))
	if _, err := s.Append(t.Context(), turns, text("b")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("append to a file without a name: have error %v", err)
	}
	write(t, path, nil)
	_, err := s.Append(t.Context(), turns, text("b"))
	oneLine(t, err, err, path, "open the store again")
	_, err = s.Read(t.Context(), turns, 0, 1)
	oneLine(t, err, err, path, "open the store again")
	must(t, os.Rename(path+".old", path))
	if first, err := s.Append(t.Context(), turns, text("c")); err != nil || first != 2 {
		t.Errorf("append when the file is back: have %d, %v, want 2", first, err)
	}
}

func TestReadersWait(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.db"), Options{Readers: 1})
	c, err := s.acquire(t.Context())
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.Read(ctx, turns, 0, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("read without a free connection: have error %v", err)
	}
	s.release(c, nil)
	if _, err := s.Read(t.Context(), turns, 0, 1); err != nil {
		t.Error(err)
	}
}
