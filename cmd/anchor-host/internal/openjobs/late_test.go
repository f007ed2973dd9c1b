package openjobs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/internal/testkit/pgtest"
	"github.com/anchor-host/anchor-host/server/jobs"
	"github.com/anchor-host/anchor-host/server/jobs/queue"
	"github.com/anchor-host/anchor-host/store"
)

var (
	discard = slog.New(slog.DiscardHandler)
	one     = jobs.Filter{Tenant: "a", Limit: 10}
)

func builds() jobs.Submission {
	return jobs.Submission{Task: jobs.Task{Kind: jobs.Builds}, Tenant: "a", Files: []jobs.File{{Name: "requests", Content: io.NewSectionReader(strings.NewReader("{}"), 0, 2)}}}
}

// A service begins while its database is away. Its workers start when the database is there.
func TestDatabaseComesLater(t *testing.T) {
	pgtest.Skip(t)
	server, err := pgtest.Start(pgtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	url := server.Fresh(t)
	server.Kill()
	l := late(discard, true, func(ctx context.Context) (*queue.Queue, error) {
		return queue.Open(ctx, queue.Options{Database: url, Workers: 1, Do: func(context.Context, *jobs.Run) (any, error) { return "done", nil }})
	})
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, err := l.List(t.Context(), one); !errors.Is(err, store.ErrBusy) || !strings.Contains(err.Error(), "start PostgreSQL") {
		t.Errorf("without the database: %v", err)
	}
	ran := make(chan error, 1)
	go func() { ran <- l.Run(t.Context()) }()
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	doc, _, err := l.Submit(t.Context(), builds())
	if err != nil {
		t.Fatal(err)
	}
	if !await.True(func() bool { doc, err = l.Get(t.Context(), "a", doc.ID); return err == nil && doc.State == jobs.Done }) {
		t.Errorf("%+v, %v", doc, err)
	}
}

// A service without workers shows the jobs that others have submitted since it began, and makes no database.
func TestShownLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs")
	l := late(discard, false, func(ctx context.Context) (*queue.Queue, error) {
		return queue.Open(ctx, queue.Options{Database: path, Existing: true})
	})
	if list, err := l.List(t.Context(), one); err != nil || list == nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := l.Get(t.Context(), "a", "1"); !errors.Is(err, jobs.ErrNotFound) {
		t.Errorf("a job of none: %v", err)
	}
	if _, _, err := l.Submit(t.Context(), builds()); !errors.Is(err, jobs.ErrInvalid) {
		t.Errorf("submit: %v", err)
	}
	if found, err := filepath.Glob(path + "*"); err != nil || len(found) > 0 {
		t.Errorf("it made %v, %v", found, err)
	}
	other, err := queue.Open(t.Context(), queue.Options{Database: path})
	if err != nil {
		t.Fatal(err)
	}
	doc, _, err := other.Submit(t.Context(), builds())
	if err := errors.Join(err, other.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if !await.True(func() bool {
		list, err := l.List(t.Context(), one)
		return err == nil && len(list) == 1 && list[0].Text == jobs.NoWorker
	}) {
		t.Error("the job is hidden")
	}
	if doc, err := l.Cancel(t.Context(), "a", doc.ID); err != nil || doc.State != jobs.Cancelled {
		t.Errorf("cancel: %+v, %v", doc, err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A database that goes away between its first answer and the start of the workers does not leave the service without
// workers.
func TestDatabaseGoesAtTheStart(t *testing.T) {
	pgtest.Skip(t)
	server, err := pgtest.Start(pgtest.Options{Kept: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	url := server.Fresh(t)
	var said notes
	l := late(slog.New(slog.NewTextHandler(&said, nil)), true, func(ctx context.Context) (*queue.Queue, error) {
		return queue.Open(ctx, queue.Options{Database: url, Workers: 1, Do: func(context.Context, *jobs.Run) (any, error) { return "done", nil }})
	})
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, err := l.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	ran := make(chan error, 1)
	go func() { ran <- l.Run(t.Context()) }()
	if !await.True(func() bool { return len(ran) > 0 || said.has("start PostgreSQL") }) {
		t.Error("it says nothing")
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	doc, _, err := l.Submit(t.Context(), builds())
	if err != nil {
		t.Fatal(err)
	}
	if !await.True(func() bool { doc, err = l.Get(t.Context(), "a", doc.ID); return err == nil && doc.State == jobs.Done }) {
		t.Errorf("%+v, %v", doc, err)
	}
}

// notes is a log.
type notes struct {
	mu   sync.Mutex
	text strings.Builder
}

func (n *notes) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(b)
}

func (n *notes) has(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(n.text.String(), text)
}

// Requests do not wait one after the other for a database that is away, and none waits longer than its client.
func TestRequestsWithoutADatabase(t *testing.T) {
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	l := late(discard, false, func(context.Context) (*queue.Queue, error) {
		asked <- struct{}{}
		<-answer
		return nil, store.ErrBusy
	})
	ends := make(chan error, 5)
	for range cap(ends) {
		go func() {
			_, err := l.List(t.Context(), one)
			ends <- err
		}()
	}
	<-asked
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	left := make(chan error, 1)
	go func() {
		_, err := l.Get(gone, "a", "1")
		left <- err
	}()
	if !await.True(func() bool { return len(left) > 0 }) {
		t.Error("a request outlives its client")
	}
	close(answer)
	for range cap(ends) {
		if err := <-ends; !errors.Is(err, store.ErrBusy) {
			t.Errorf("error %v", err)
		}
	}
	if len(asked) > 0 {
		t.Errorf("the database was asked %d times, want once", len(asked)+1)
	}
}

// To show jobs makes nothing, also not the folder of a store that nobody has made.
func TestShownMakesNoFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	loaded := config.Default()
	loaded.Store.Path = filepath.Join(folder, "store.db")
	if list, err := Shown(loaded, discard).List(t.Context(), one); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}
