package failures

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/store"
)

// Log keeps the last failures: in memory, and once Keep was called in a store. Its zero value is ready for
// use, and nil keeps nothing. It is safe for concurrent use.
type Log struct {
	// Host is the name of this host in its failures. Set it before the first.
	Host string

	mu      sync.Mutex
	waiting rows  // those that are not in the store
	lost    int64 // failures that went unwritten while the store could not be written
	away    bool

	store  func(context.Context) (store.Store, error) // nil: there is none
	logger *slog.Logger
	wake   chan struct{}        // something waits
	turn   chan struct{}        // has the right to use the store and what follows
	read   time.Time            // when kept was read
	kept   []*Failure           // what the store has
	heeded int64                // up to which record what was forgotten is dropped
	gone   map[string]time.Time // when those were forgotten, by digest, who may still be failing

	end  context.CancelFunc
	done chan struct{}
}

// Add keeps a failure, and never waits. What the caller has cancelled, and what a paused plugin was not asked,
// is none.
func (l *Log) Add(f record.Failure) {
	if l == nil || f.Reason == abi.ReasonCancelled || f.Reason == abi.ReasonCircuitOpen {
		return
	}
	n := failureOf(l.Host, &f)
	l.mu.Lock()
	defer l.mu.Unlock()
	if dropped := l.waiting.add(n); l.away {
		l.lost += dropped
	}
	l.signal()
}

// signal says that something waits to be written. The caller holds mu.
func (l *Log) signal() {
	if l.wake != nil {
		select {
		case l.wake <- struct{}{}:
		default: // it was said
		}
	}
}

// Of returns the failures of a plugin that a viewer sees, the newest first; plugin "" stands for all. Those of the
// store are of all hosts that share it.
func (l *Log) Of(ctx context.Context, v Viewer, plugin string) List {
	doc := List{Failures: []Failure{}}
	if l == nil {
		return doc
	}
	all, missing := l.all(ctx, v)
	for _, f := range all {
		if (plugin == "" || f.Plugin == plugin) && (v.All || f.Tenant == v.Tenant) {
			seen := f.seen(v)
			seen.complete()
			doc.Failures = append(doc.Failures, seen)
		}
	}
	slices.SortFunc(doc.Failures, func(a, b Failure) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(b.ID, a.ID)) })
	doc.Missing = missing
	return doc
}

// all are the failures of the store with those that wait, and what they lack.
func (l *Log) all(ctx context.Context, v Viewer) (list []*Failure, missing string) {
	var merged rows
	if l.stored() {
		ctx, cancel := context.WithTimeout(ctx, storeTime)
		defer cancel()
		unlock, err := l.take(ctx)
		if err == nil {
			defer unlock() // when those that wait are added, so that none is missed or counted twice
			err = l.load(ctx)
		}
		if err != nil {
			missing = "the store cannot be read: failures of other hosts and earlier ones are missing"
		} else {
			merged = l.valid()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.waiting.all() {
		one := *f
		merged.add(&one)
	}
	switch {
	case missing != "" || l.lost == 0:
	case v.All:
		missing = fmt.Sprintf("%d failures are lost, because the store could not be written", l.lost)
	default: // how many is nothing for a tenant: they may be those of others
		missing = "failures may be lost, because the store could not be written"
	}
	return merged.all(), missing
}
