package costs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/store"
)

// newBook returns a book of a store, at a time that can be set.
func newBook(t *testing.T, s store.Store, now *time.Time) *Book {
	t.Helper()
	b := NewBook(func(context.Context) (store.Store, error) { return s, nil }, slog.New(slog.DiscardHandler))
	b.now = func() time.Time { return *now }
	t.Cleanup(func() { b.Close(context.WithoutCancel(t.Context())) })
	return b
}

func used(model string, usd float64) []ledger.Line {
	return []ledger.Line{
		{Use: ledger.Use{Service: "llm", Name: "a name"}, Model: model, Amount: ledger.Amount{Calls: 1, InputTokens: 10, OutputTokens: 5}, CostUSD: usd},
		{Use: ledger.Use{Service: "search", Name: "docs"}, Amount: ledger.Amount{Calls: 1}},
	}
}

func spent(t *testing.T, b *Book, tenant, key string, wantTenant, wantKey float64) {
	t.Helper()
	byTenant, byKey, err := b.Spent(t.Context(), tenant, key)
	if err != nil || byTenant != wantTenant || byKey != wantKey {
		t.Errorf("spent %v, of %s %v, %v; want %v and %v", byTenant, key, byKey, err, wantTenant, wantKey)
	}
}

// What was spent counts at once, outlives the process, is that of all processes with the store, and begins
// anew at midnight in UTC.
func TestSpent(t *testing.T) {
	s := store.NewMemory()
	now := time.Date(2026, 11, 28, 23, 0, 0, 0, time.UTC)
	b := newBook(t, s, &now)
	b.Add("acme", "k1", used("small", 0.25))
	spent(t, b, "acme", "k1", 0.25, 0.25)
	b.Add("acme", "k2", used("small", 1))
	b.Add("initech", "k3", used("large", 8))
	spent(t, b, "acme", "k1", 1.25, 0.25)
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Add("acme", "k1", used("small", 0.5))
	spent(t, b, "acme", "k1", 1.75, 0.75)
	other := newBook(t, s, &now)
	spent(t, other, "acme", "k1", 1.25, 0.25)
	other.Add("acme", "k1", used("small", 2))
	for _, book := range []*Book{b, other, b} {
		if err := book.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	spent(t, other, "acme", "k1", 3.75, 2.75)
	now = now.Add(time.Hour)
	spent(t, b, "acme", "k1", 0, 0)
	b.Add("acme", "k1", used("small", 4))
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := List(t.Context(), s, "acme", "2026-11-01", "2026-11-30")
	if err != nil || len(rows) != 3 || rows[0].Day != "2026-11-29" || rows[0].USD != 4 || rows[1].Key != "k1" || rows[1].USD != 2.75 || rows[1].Calls != 3 || rows[2].Key != "k2" || rows[2].Tenant != "acme" {
		t.Errorf("%+v, %v", rows, err)
	}
	if rows, err := List(t.Context(), s, "acme", "2026-11-29", "2026-11-29"); err != nil || len(rows) != 1 {
		t.Errorf("one day: %+v, %v", rows, err)
	}
}

// failing is a store that cannot be written for a while.
type failing struct {
	store.Store
	broken bool
}

var errBroken = errors.New("no disk")

func (f *failing) Append(ctx context.Context, key store.Key, recs ...store.Record) (int64, error) {
	if f.broken {
		return 0, errBroken
	}
	return f.Store.Append(ctx, key, recs...)
}

// What cannot be written waits, counts, and is written once.
func TestCostsWait(t *testing.T) {
	s := &failing{store.NewMemory(), true}
	now := time.Now()
	var log strings.Builder
	b := newBook(t, s, &now)
	b.log = slog.New(slog.NewTextHandler(&log, nil))
	b.Add("acme", "k", used("small", 1))
	for range 3 {
		if err := b.Flush(t.Context()); !errors.Is(err, errBroken) {
			t.Errorf("%v", err)
		}
		spent(t, b, "acme", "k", 1, 1)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines: %s", n, &log)
	}
	s.broken = false
	b.Add("acme", "k", used("small", 2))
	for range 2 {
		if err := b.Flush(t.Context()); err != nil {
			t.Error(err)
		}
	}
	rows, err := List(t.Context(), s, "acme", "", "9")
	if err != nil || len(rows) != 1 || rows[0].USD != 3 {
		t.Errorf("%+v, %v", rows, err)
	}
}

// The costs of a tenant are bounded: old days go, and many keys and models are added up.
func TestCostsAreBounded(t *testing.T) {
	s := store.NewMemory()
	now := time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)
	b := newBook(t, s, &now)
	for range KeepDays + 20 {
		now = now.AddDate(0, 0, 1)
		b.Add("acme", "k", used("small", 1))
		if err := b.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 * MaxLines {
		b.Add("acme", fmt.Sprint("k", i), used("small", 1))
	}
	for i := range MaxKeyLines {
		b.Add("acme", "many", used(fmt.Sprint("m", i), 1))
	}
	spent(t, b, "acme", "many", 3*MaxLines+1+MaxKeyLines, MaxKeyLines) // a quota of the key holds
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := List(t.Context(), s, "acme", "", "9")
	if err != nil {
		t.Fatal(err)
	}
	days, today, usd := map[string]bool{}, 0, 0.0
	for _, r := range rows {
		if days[r.Day] = true; r.Day == dayOf(now) {
			today++
			usd += r.USD
		}
	}
	if len(days) > KeepDays+1 || today != 3*MaxLines+2 || usd != 3*MaxLines+1+MaxKeyLines {
		t.Errorf("%d days, %d lines of today with %v", len(days), today, usd)
	}
	for i := range 2 * MaxKeyLines {
		b.Add("acme", fmt.Sprint("more", i), used("small", 1))
	}
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	spent(t, b, "acme", Other, 3*MaxLines+1+3*MaxKeyLines, 3*MaxLines+2+2*MaxKeyLines-(MaxLines+MaxKeyLines-1))
	if len(b.pages) != 1 {
		t.Errorf("%d pages are in memory", len(b.pages))
	}
}

// What another process spends counts some seconds later, also if this one has asked before; and while the store
// is away, what it had last counts.
func TestSpentElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, away := store.NewMemory(), false
		b := NewBook(func(context.Context) (store.Store, error) {
			if away {
				return nil, errors.New("away")
			}
			return s, nil
		}, slog.New(slog.DiscardHandler))
		now := time.Now()
		other := newBook(t, s, &now)
		spent(t, b, "acme", "k1", 0, 0)
		other.Add("acme", "k1", used("small", 2))
		if err := other.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(readAfter)
		spent(t, b, "acme", "k1", 2, 2)
		away = true
		time.Sleep(readAfter)
		spent(t, b, "acme", "k1", 2, 2)
		if _, _, err := b.Spent(t.Context(), "initech", "k2"); err == nil {
			t.Error("nobody knows what a tenant has spent, and it is no error")
		}
	})
}

// unsure is a store that writes, or does not, and does not say which while it is set.
type unsure struct {
	store.Store
	says, writes bool
}

func (u *unsure) Append(ctx context.Context, key store.Key, recs ...store.Record) (n int64, err error) {
	if u.says && !u.writes {
		return 0, store.ErrUnknown
	}
	if n, err = u.Store.Append(ctx, key, recs...); u.says {
		return 0, store.ErrUnknown
	}
	return n, err
}

func (u *unsure) Apply(ctx context.Context, changes ...store.Change) (err error) {
	if u.says && !u.writes {
		return store.ErrUnknown
	}
	if err = u.Store.Apply(ctx, changes...); u.says {
		return store.ErrUnknown
	}
	return err
}

// Costs count once, whether a write of which the store did not know the outcome was made or not, and whoever writes
// meanwhile.
func TestUnknownWritesCountOnce(t *testing.T) {
	for _, tt := range []struct{ written, first, others, looks bool }{
		{true, true, false, false}, {true, false, false, false}, {true, false, true, false}, {true, true, true, true}, {false, true, true, false}, {false, false, false, true},
	} {
		u, now := &unsure{Store: store.NewMemory(), writes: tt.written}, time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
		b, other := newBook(t, u, &now), newBook(t, u.Store, &now)
		want := 0.25
		add := func(b *Book, usd float64) {
			t.Helper()
			b.Add("acme", "k", used("small", usd))
			want += usd
			if err := b.Flush(t.Context()); err != nil && !errors.Is(err, store.ErrUnknown) {
				t.Fatal(err)
			}
		}
		if want = 0; !tt.first {
			add(b, 4)
		}
		u.says = true
		add(b, 0.25)
		add(b, 0.5) // which does not know either
		u.says = false
		if tt.others {
			add(other, 1)
			add(other, 8)
		}
		if tt.looks {
			b.pages[page{"acme", "2026-11-28"}].known = false // long ago
			spent(t, b, "acme", "k", want, want)
		}
		add(b, 2)
		spent(t, b, "acme", "k", want, want)
		spent(t, newBook(t, u, &now), "acme", "k", want, want)
	}
}
