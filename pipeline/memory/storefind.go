package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

// A query finds facts in four ways, at least leastFound in each. The scorer chooses among all of
// them. So a query that has no word of a fact still finds the facts that were used last, as it
// does where all facts are read.
const leastFound = 64

// maxFound bounds what a query finds in each way.
const maxFound = 10_000

// maxQuestion is how many bytes of a query are searched.
const maxQuestion = 32 << 10

// find returns the facts that may matter to a query. It returns false if there is no index, or
// none that can be used: then all facts are to be read.
func (f *StoreFacts) find(ctx context.Context, q store.FactQuery) ([]*Entry, bool, error) {
	if f.index == nil {
		return nil, false, nil
	}
	found, err := f.index.FindFacts(ctx, f.key.Tenant, q)
	if errors.Is(err, store.ErrReadOnly) { // the index has yet to be made
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("facts: %w", err)
	}
	entries := make([]*Entry, 0, len(found))
	for i := range found {
		err := found[i].Damaged
		var e *Entry
		if err == nil {
			e, err = decodeRecord(found[i].Record)
		}
		switch {
		case err == nil:
			entries = append(entries, e)
		case f.damaged == nil:
			return nil, false, fmt.Errorf("facts: %w", err)
		default:
			f.damaged(found[i].Record.ID, err)
		}
	}
	return entries, true, nil
}

// changeSame is Change for the entries with these IDs or hashes. Nobody adds an entry meanwhile.
func (f *StoreFacts) changeSame(ctx context.Context, ids, hashes []string, decide func(existing []*Entry) (FactChange, error)) error {
	last, ok := f.records.(newest)
	if f.index == nil || !ok {
		return f.Change(ctx, nil, decide)
	}
	return f.changing(ctx, func() (factsRead, error) {
		// The number is read first: what is added after this is noticed.
		number, condition, err := int64(0), []store.Record(nil), error(nil)
		if condition, err = last.Last(ctx, f.key, 1); err != nil {
			return f.stored(ctx, nil) // the newest is damaged
		}
		if len(condition) > 0 {
			number = condition[0].Seq
		}
		got, err := f.stored(ctx, append([]string{}, ids...))
		if err != nil {
			return got, err
		}
		same, err := f.index.FactsByHash(ctx, f.key.Tenant, hashes)
		if err != nil {
			return got, fmt.Errorf("facts: %w", err)
		}
		for _, r := range same {
			if err := got.add(r); err != nil && f.damaged == nil {
				return got, err
			}
		}
		got.condition = &number
		return got, nil
	}, decide)
}

// newest is what a store can say about the newest records of a key.
type newest interface {
	Last(ctx context.Context, key store.Key, n int) ([]store.Record, error)
}

// question returns the query of an index for what a filter selects.
func (f *Filter) question(now time.Time) store.FactQuery {
	q := store.FactQuery{Users: f.Users, Sessions: f.Sessions, Type: string(f.Type), Tags: f.Tags, Now: now}
	if f.UserID != "" {
		q.Users = []string{f.UserID}
	}
	if f.SessionID != "" {
		q.Sessions = []string{f.SessionID}
	}
	return q
}

// searchable reports whether an index can select what the filter does.
func (f *Filter) searchable() bool {
	return !f.Expired && f.CreatedAfter.IsZero() && f.CreatedBefore.IsZero() && (f.UserID == "" || f.Users == nil) && (f.SessionID == "" || f.Sessions == nil)
}
