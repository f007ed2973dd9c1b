// Package costs keeps what models cost in a store: for each tenant a record of each day (kind "cost"), with a
// line for each key and model. A [Book] adds to them.
package costs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/store"
	"github.com/anchor-host/anchor-host/usage"
)

// Kind is the kind of the records. Their stream is empty, and their ID is the day, such as 2026-11-28.
const Kind = "cost"

const (
	// KeepDays is for how many days costs are kept.
	KeepDays = 400
	// MaxLines is how many lines by key and model a tenant has of a day. Beyond them the models of a key are
	// added up as model [Other], so that what a key has spent stays known.
	MaxLines = 200
	// MaxKeyLines is how many lines with model [Other] a tenant has of a day in addition. Beyond them the keys
	// are added up, too, as key [Other].
	MaxKeyLines = 2000
	// Other stands for the keys or models for which there is no room.
	Other = "other"
)

// Row and Line are what requests cost: see package usage.
type (
	// Row is what one user of one key spent.
	Row = usage.Cost
	// Line is what of it went to one model.
	Line = usage.CostLine
)

// add adds the amounts of m to l.
func add(l, m *Line) {
	l.Calls, l.InputTokens, l.CachedTokens, l.OutputTokens = l.Calls+m.Calls, l.InputTokens+m.InputTokens, l.CachedTokens+m.CachedTokens, l.OutputTokens+m.OutputTokens
	l.USD, l.Unpriced = l.USD+m.USD, l.Unpriced || m.Unpriced
}

// document is the data of a record. Writes has the marks of the last writes, so that who does not know whether it has
// written does not add its lines twice.
type document struct {
	Lines  []Line   `json:"lines"`
	Writes []string `json:"writes,omitempty"`
}

// maxWrites is how many marks a record has: more than others write before a write is tried again.
const maxWrites = 32

// Check says why a record could not be read again.
func Check(rec *store.Record) error {
	if _, err := time.Parse(time.DateOnly, rec.ID); err != nil {
		return fmt.Errorf("id %.100q: want a day such as 2026-11-28", rec.ID)
	}
	d, err := decode(rec)
	if err != nil {
		return err
	}
	if len(d.Lines) > MaxLines+MaxKeyLines || len(d.Writes) > maxWrites {
		return fmt.Errorf("lines: %d, writes: %d (want at most %d and %d)", len(d.Lines), len(d.Writes), MaxLines+MaxKeyLines, maxWrites)
	}
	for i, l := range d.Lines {
		if l.Model == "" || min(l.Calls, l.InputTokens, l.CachedTokens, l.OutputTokens) < 0 || l.USD < 0 {
			return fmt.Errorf("lines[%d]: want a model, and no number below 0", i)
		}
	}
	return nil
}

func decode(rec *store.Record) (d document, err error) {
	if err := json.Unmarshal(rec.Data, &d); err != nil {
		return d, fmt.Errorf("costs of %.100s: %w: %w", rec.ID, store.ErrCorrupt, err)
	}
	return d, nil
}

// merge adds lines to those of a day. Lines for which there is no room become one.
func merge(to, more []Line) []Line {
	at := make(map[[2]string]int, len(to))
	for i := range to {
		at[[2]string{to[i].Key, to[i].Model}] = i
	}
	for i := range more {
		l := more[i]
		place, there := at[[2]string{l.Key, l.Model}]
		if !there && len(to) >= MaxLines {
			l.Model = Other
			place, there = at[[2]string{l.Key, l.Model}]
		}
		if !there && len(to) >= MaxLines+MaxKeyLines-1 {
			l.Key, l.Model = Other, Other
			place, there = at[[2]string{Other, Other}]
		}
		if !there {
			at[[2]string{l.Key, l.Model}] = len(to)
			to = append(to, l)
			continue
		}
		add(&to[place], &l)
	}
	slices.SortFunc(to, func(a, b Line) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Model, b.Model)) })
	return to
}

// tries is how often a record is written that other processes change at the same time.
const tries = 10

// write adds lines to the record of a day, unless it has the mark of this write, and returns its content, nil if it was
// not written.
func write(ctx context.Context, s store.Store, tenant, day string, more []Line, mark string, now time.Time) (lines []Line, err error) {
	key := store.Key{Tenant: tenant, Kind: Kind}
	for range tries {
		old, err := s.Get(ctx, key, day)
		fresh := errors.Is(err, store.ErrNotFound)
		if err != nil && !fresh {
			return nil, err
		}
		var d document
		if !fresh {
			if d, err = decode(&old); err != nil {
				return nil, err
			}
		}
		if slices.Contains(d.Writes, mark) {
			return d.Lines, nil
		}
		lines = merge(d.Lines, more)
		data, err := json.Marshal(document{lines, append(d.Writes[max(0, len(d.Writes)+1-maxWrites):], mark)})
		if err != nil {
			return nil, err
		}
		rec := store.Record{ID: day, Data: data, Time: now}
		if fresh {
			_, err = s.Append(ctx, key, rec)
		} else {
			err = s.Apply(ctx, store.Change{Key: key, Put: []store.Record{rec}, If: []store.Record{{ID: day, Data: old.Data}}})
		}
		switch {
		case err == nil && fresh:
			return lines, forget(ctx, s, key, now)
		case err == nil:
			return lines, nil
		case !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrExists):
			return nil, err
		}
	}
	return nil, fmt.Errorf("costs of %s: %w: other processes write them all the time", day, store.ErrBusy)
}

// forget deletes the records that are too old.
func forget(ctx context.Context, s store.Store, key store.Key, now time.Time) error {
	first := dayOf(now.AddDate(0, 0, -KeepDays))
	for {
		recs, err := s.Read(ctx, key, 0, 10)
		if err != nil {
			return err
		}
		var old []string
		for i := range recs {
			if recs[i].ID < first {
				old = append(old, recs[i].ID)
			}
		}
		if len(old) == 0 {
			return nil
		}
		if _, err := s.Delete(ctx, key, old...); err != nil {
			return err
		}
	}
}

// dayOf returns the day of a time in UTC.
func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// List returns the costs of a tenant from the first to the last day, the newest day first. The days are such
// as 2026-11-28.
func List(ctx context.Context, s store.Store, tenant, first, last string) (rows []Row, err error) {
	key := store.Key{Tenant: tenant, Kind: Kind}
	for after := int64(0); ; {
		recs, err := s.Read(ctx, key, after, 50)
		if err != nil {
			return nil, err
		}
		for i := range recs {
			after = recs[i].Seq
			if recs[i].ID < first || recs[i].ID > last {
				continue
			}
			d, err := decode(&recs[i])
			if err != nil {
				return nil, err
			}
			for _, l := range d.Lines {
				rows = append(rows, Row{Day: recs[i].ID, Tenant: tenant, CostLine: l})
			}
		}
		if len(recs) < 50 {
			break
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.Day, a.Day) })
	return rows, nil
}
