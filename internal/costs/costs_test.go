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
