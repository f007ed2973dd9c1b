package server

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

// breaking is a store of which one call fails, as if its server were gone.
type breaking struct {
	store.Store
	mu    sync.Mutex
	calls int // that still succeed before the one that fails, below 0: all do
}

func (b *breaking) call() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls--
	if b.calls != -1 {
		return nil
	}
	return fmt.Errorf("%w: the connection broke", store.ErrBusy)
}

// after lets so many calls succeed before one that fails, and reports whether one has failed since the last time.
func (b *breaking) after(calls int) (failed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	failed = b.calls < 0
	b.calls = calls
	return failed
}

func (b *breaking) Append(ctx context.Context, key store.Key, recs ...store.Record) (int64, error) {
	if err := b.call(); err != nil {
		return 0, err
	}
	return b.Store.Append(ctx, key, recs...)
}

func (b *breaking) Read(ctx context.Context, key store.Key, after int64, limit int) ([]store.Record, error) {
	if err := b.call(); err != nil {
		return nil, err
	}
	return b.Store.Read(ctx, key, after, limit)
}

func (b *breaking) Last(ctx context.Context, key store.Key, n int) ([]store.Record, error) {
	if err := b.call(); err != nil {
		return nil, err
	}
	return b.Store.Last(ctx, key, n)
}

func (b *breaking) Put(ctx context.Context, key store.Key, rec store.Record) error {
	if err := b.call(); err != nil {
		return err
	}
	return b.Store.Put(ctx, key, rec)
}

func (b *breaking) Get(ctx context.Context, key store.Key, id string) (store.Record, error) {
	if err := b.call(); err != nil {
		return store.Record{}, err
	}
	return b.Store.Get(ctx, key, id)
}

func (b *breaking) Delete(ctx context.Context, key store.Key, ids ...string) (int, error) {
	if err := b.call(); err != nil {
		return 0, err
	}
	return b.Store.Delete(ctx, key, ids...)
}

func (b *breaking) Clear(ctx context.Context, key store.Key) (int, error) {
	if err := b.call(); err != nil {
		return 0, err
	}
	return b.Store.Clear(ctx, key)
}

func (b *breaking) Apply(ctx context.Context, changes ...store.Change) error {
	if err := b.call(); err != nil {
		return err
	}
	return b.Store.Apply(ctx, changes...)
}

func (b *breaking) Keys(ctx context.Context, tenant, kind string) ([]store.Key, error) {
	if err := b.call(); err != nil {
		return nil, err
	}
	return b.Store.Keys(ctx, tenant, kind)
}

// content is what the store has, and how many records of each key. Whose a conversation or a run is, and the frame
// of a run that has nothing yet, may be noted before a request is refused: only the same user asks again.
func (b *breaking) content(t *testing.T) (all, counts string) {
	t.Helper()
	keys, err := b.Store.Keys(t.Context(), store.DefaultTenant, "")
	if err != nil {
		t.Fatal(err)
	}
	var records, numbers strings.Builder
	for _, key := range keys {
		list, err := b.Store.Read(t.Context(), key, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&numbers, "%s %d\n", key, len(list))
		if key.Kind == "owner" || key.Kind == "run" {
			continue
		}
		for _, r := range list {
			fmt.Fprintf(&records, "%s %s %s\n", key, r.ID, r.Data)
		}
	}
	return records.String(), numbers.String()
}

// Whichever call to the store fails while a request is carried out: an answer that says busy means that nothing was
// written, and who sends the request again has what one request writes.
func TestBusyMeansNothingWritten(t *testing.T) {
	const config = words + "memory: {facts: {}}\nagent: {max_tokens: 1000}\n"
	for _, request := range []struct{ path, body string }{
		{"/v1/conversations/c/turns", `{"turns": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]}`},
		{"/v1/memory/facts", `{"id": "new", "content": "a new fact"}`},
		{"/v1/memory/search", `{"query": "fact", "touch": true}`},
		{"/v1/runs/r/frames", `{"kind": "tool_call", "summary": "x", "global_summary": "all", "max_frames": 5}`},
		{"/v1/builds?conversation=c&remember=true&user=u", `{"query": "q"}`},
	} {
		t.Run(strings.Split(request.path, "?")[0], func(t *testing.T) {
			whole := ""
			for n := -1; ; n++ {
				refused, failed, counts := sendBroken(t, config, request.path, request.body, n)
				switch {
				case n < 0:
					whole = counts // that of a request without a fault
				case counts != whole:
					t.Errorf("call %d fails, and the request is sent again if it was refused (%t):\n%swant\n%s", n, refused, counts, whole)
				case !failed:
					if n < 1 {
						t.Errorf("the request makes %d calls", n)
					}
					return
				}
			}
		})
	}
}

// sendBroken sends a request while a call to the store fails, and again if it was refused.
func sendBroken(t *testing.T, config, path, body string, n int) (refused, failed bool, counts string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), sqlite.Options{Sync: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	b := &breaking{Store: s, calls: -1}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	l := startWith(t, config, anchor.Options{Store: b}, Options{})
	for path, body := range map[string]string{
		"/v1/memory/facts": `{"id": "f", "content": "a fact"}`, "/v1/conversations/c/turns": `{"turns": [{"role": "user", "content": "before"}]}`,
	} {
		if a := l.api("POST", path, body); a.status != 201 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	before, _ := b.content(t)
	b.after(n)
	a := l.api("POST", path, body)
	failed = b.after(-1) && n >= 0
	after, _ := b.content(t)
	if refused = a.status >= 300; refused && (a.status != 503 || a.reason() != "busy" || after != before) {
		t.Errorf("call %d fails: %d %s, and before\n%safter\n%s", n, a.status, a.body, before, after)
	}
	if refused {
		if a = l.api("POST", path, body); a.status >= 300 {
			t.Errorf("again: %d %s", a.status, a.body)
		}
	}
	_, counts = b.content(t)
	return refused, failed, counts
}
