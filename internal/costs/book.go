package costs

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/store"
)

const (
	// writeAfter is how long costs wait to be written together, and retryAfter how long after a failure.
	writeAfter, retryAfter = 2 * time.Second, 30 * time.Second
	// writeTime bounds the writing in the background.
	writeTime = 10 * time.Second
	// readAfter is how long what the store had of a day is good for. Other processes add to it.
	readAfter = 5 * time.Second
	// markLength is the length of the mark of a write: 60 bits.
	markLength = 12
)

// Book adds costs to a store in the background, and knows what was spent today. It is safe for concurrent
// use. A process that is killed loses the costs of the last seconds.
type Book struct {
	open func(context.Context) (store.Store, error)
	log  *slog.Logger
	now  func() time.Time

	writing sync.Mutex // of the records

	mu     sync.Mutex
	day    string // for which pages was cleared last
	pages  map[page]*account
	timer  *time.Timer // nil unless costs wait
	failed bool
	closed bool
}

// page names the costs of a tenant on a day.
type page struct{ tenant, day string }

// account is the costs of a page: those that the store had when it was last asked, those that are being
// written, and those that wait. mark is that of the write of leaving, which stays if its outcome is unknown.
type account struct {
	known                    bool      // stored was read or written
	asked                    time.Time // when it was last, or failed to be
	stored, leaving, waiting []Line
	mark                     string
}

// NewBook makes a book. open returns the store. It is called when there is something to write or to read.
func NewBook(open func(context.Context) (store.Store, error), log *slog.Logger) *Book {
	return &Book{open: open, log: log, now: time.Now, pages: map[page]*account{}}
}

// account returns the account of a page. b.mu is locked.
func (b *Book) account(p page) *account {
	a := b.pages[p]
	if a == nil {
		if b.day != p.day {
			b.day = p.day
			maps.DeleteFunc(b.pages, func(other page, a *account) bool { return other.day != p.day && len(a.leaving)+len(a.waiting) == 0 })
		}
		a = &account{}
		b.pages[p] = a
	}
	return a
}

// Add adds what was asked of models with a key. Lines without the name of a model, whose price nobody asked
// for, do not count.
func (b *Book) Add(tenant, key string, used []ledger.Line) {
	var lines []Line
	for _, u := range used {
		if u.Model != "" {
			lines = append(lines, Line{
				Key: key, Model: u.Model, Calls: u.Calls, InputTokens: u.InputTokens, CachedTokens: u.CachedTokens, OutputTokens: u.OutputTokens,
				USD: u.CostUSD, Unpriced: u.Unpriced,
			})
		}
	}
	if len(lines) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.account(page{tenant, dayOf(b.now())})
	a.waiting = merge(a.waiting, lines)
	b.schedule(writeAfter)
}

// schedule has the costs written after a time. b.mu is locked.
func (b *Book) schedule(after time.Duration) {
	if b.timer != nil || b.closed {
		return
	}
	b.timer = time.AfterFunc(after, func() {
		ctx, cancel := context.WithTimeout(context.Background(), writeTime)
		defer cancel()
		_ = b.Flush(ctx) // it logs its error
	})
}

// Flush writes what waits. What cannot be written waits on.
func (b *Book) Flush(ctx context.Context) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	var pages []page
	for p, a := range b.pages {
		if len(a.leaving)+len(a.waiting) > 0 {
			pages = append(pages, p)
		}
	}
	b.mu.Unlock()
	if len(pages) == 0 {
		return nil
	}
	s, err := b.open(ctx)
	if err == nil {
		for _, p := range pages {
			err = errors.Join(err, b.write(ctx, s, p))
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil && !b.failed {
		b.log.Warn("costs are not written; they wait", "error", err)
	}
	if b.failed = err != nil; errors.Is(err, store.ErrUnknown) {
		b.schedule(writeAfter) // before others write so often that nobody knows any more
	} else if b.failed {
		b.schedule(retryAfter)
	}
	return err
}

// write writes what waits for a page, after that of which it is unknown whether it was written. b.writing is locked.
func (b *Book) write(ctx context.Context, s store.Store, p page) error {
	b.mu.Lock()
	a := b.account(p)
	again := len(a.leaving) > 0
	if !again {
		a.leaving, a.waiting, a.mark = a.waiting, nil, rand.Text()[:markLength]
	}
	more := a.leaving
	b.mu.Unlock()
	if len(more) == 0 {
		return nil
	}
	lines, err := write(ctx, s, p.tenant, p.day, more, a.mark, b.now())
	b.mu.Lock()
	switch {
	case err == nil || lines != nil:
		a.known, a.asked, a.stored, a.leaving = true, time.Now(), lines, nil
	case !again && !errors.Is(err, store.ErrUnknown):
		a.leaving, a.waiting = nil, merge(more, a.waiting)
	}
	b.mu.Unlock()
	if again && err == nil {
		return b.write(ctx, s, p)
	}
	return err
}

// Spent returns what a tenant has spent today with all keys and with one, in US dollars. What other processes
// spend counts some seconds later. While the store cannot be read, what it had last counts.
func (b *Book) Spent(ctx context.Context, tenant, key string) (byTenant, byKey float64, err error) {
	p := page{tenant, dayOf(b.now())}
	b.mu.Lock()
	due := b.account(p).due()
	b.mu.Unlock()
	if due {
		err = b.read(ctx, p)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.account(p)
	if err != nil && !a.known {
		return 0, 0, err
	}
	for _, lines := range [][]Line{a.stored, a.leaving, a.waiting} {
		for i := range lines {
			byTenant += lines[i].USD
			if lines[i].Key == key {
				byKey += lines[i].USD
			}
		}
	}
	return byTenant, byKey, nil
}

// due reports whether the store has to be asked.
func (a *account) due() bool { return !a.known || time.Since(a.asked) >= readAfter }

// read reads what the store has of a page, unless somebody else just did.
func (b *Book) read(ctx context.Context, p page) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	due := b.account(p).due()
	b.account(p).asked = time.Now()
	b.mu.Unlock()
	if !due {
		return nil
	}
	s, err := b.open(ctx)
	if err != nil {
		return err
	}
	var d document
	rec, err := s.Get(ctx, store.Key{Tenant: p.tenant, Kind: Kind}, p.day)
	if err == nil {
		d, err = decode(&rec)
	} else if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.account(p)
	if a.known, a.stored = true, d.Lines; slices.Contains(d.Writes, a.mark) {
		a.leaving = nil
	}
	return nil
}

// Forget drops what is known of a tenant, whose records were deleted.
func (b *Book) Forget(tenant string) {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.pages, func(p page, _ *account) bool { return p.tenant == tenant })
}

// Close writes what waits. Costs that are added later are not written.
func (b *Book) Close(ctx context.Context) {
	_ = b.Flush(ctx) // it logs its error
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
}
