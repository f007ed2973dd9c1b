package builds

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/anchor-host/anchor-host/store"
)

// Filter selects records. Its zero value selects all.
type Filter struct {
	// Pipeline to RequestID, and Outcome select records with this value.
	// Empty: any value. Default selects the pipeline at the top level of the configuration, whose
	// name is empty.
	Pipeline, Conversation, Generation, Request string
	User, Session, Key, RequestID               string
	Default                                     bool
	Outcome                                     Outcome
	// Since and Until select the builds that ended at or after the one and before the other. The
	// zero time: any time.
	Since, Until time.Time
	// Text selects builds whose question has all words of this text among the characters that its summary keeps, in any
	// order and whatever the case of the letters; a part of a word will do. Item selects those that considered an item with this ID, as
	// far as [MaxMarks] items of a build are known. Empty: any.
	Text, Item string
}

// match reports whether the filter selects a record.
func (f *Filter) match(m *marked) bool {
	return f.matchSummary(&m.Summary) && (f.Item == "" || hasMark(m.Marks, markOf(f.Item))) &&
		(f.Text == "" || hasWords(folded(m.Query), wordsOf(f.Text)))
}

func (f *Filter) matchSummary(s *Summary) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	return is(f.Pipeline, s.Pipeline) && (!f.Default || s.Pipeline == "") && is(f.Conversation, s.Conversation) && is(f.Generation, s.Generation) &&
		is(f.Request, s.Request) && is(f.User, s.User) && is(f.Session, s.Session) && is(f.Key, s.Key) && is(f.RequestID, s.RequestID) &&
		is(string(f.Outcome), string(s.Outcome)) &&
		(f.Since.IsZero() || !s.Time.Before(f.Since)) && (f.Until.IsZero() || s.Time.Before(f.Until))
}

// Page is a part of a list, the newest first.
type Page struct {
	Builds []Summary `json:"builds"`
	// Next is the cursor of the next page. Empty: this is the last one.
	Next string `json:"next,omitempty"`
}

// Bounds of lists.
const (
	// MaxPage is the largest number of records of a page.
	MaxPage = 1000
	// MaxScan is how many records are read for one page. A page for which it does not suffice has
	// fewer records than asked for, and a cursor.
	MaxScan = 20_000
)

// ErrCursor is the error for a cursor that no page has.
var ErrCursor = errors.New("the cursor is not one of this list (begin again without a cursor)")

// List returns the records of a tenant that a filter selects, the newest first: at most limit, 1 to
// [MaxPage], from a cursor on; an empty one is the beginning.
func List(ctx context.Context, s store.Store, tenant string, f Filter, cursor string, limit int) (Page, error) {
	if limit < 1 || limit > MaxPage {
		return Page{}, fmt.Errorf("list builds: limit %d: %w (want 1 to %d)", limit, store.ErrInvalid, MaxPage)
	}
	from, err := position(cursor)
	if err != nil {
		return Page{}, err
	}
	page, key := Page{Builds: []Summary{}}, store.Key{Tenant: tenant, Kind: KindSummary}
	last, err := s.Last(ctx, key, 1)
	if err != nil || len(last) == 0 {
		return page, err
	}
	first, err := s.Read(ctx, key, 0, 1)
	if err != nil || len(first) == 0 {
		return page, err
	}
	const step = 256
	before := min(last[0].Seq+1, from)
	for scanned := 0; before > first[0].Seq; scanned += step {
		if scanned >= MaxScan {
			page.Next = strconv.FormatInt(before, 10)
			return page, nil
		}
		recs, err := s.Read(ctx, key, max(0, before-1-step), step)
		if err != nil {
			return page, err
		}
		if full, err := page.add(recs, &f, before, limit); full || err != nil {
			return page, err
		}
		before = max(0, before-step)
	}
	return page, nil
}

// position returns the number of the record that a cursor stands for: the page has those before it.
func position(cursor string) (int64, error) {
	if cursor == "" {
		return store.MaxSeq, nil
	}
	n, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || n < 1 || n > store.MaxSeq {
		return 0, fmt.Errorf("list builds: %w: %w", store.ErrInvalid, ErrCursor)
	}
	return n, nil
}

// add adds the newest records before a number that a filter selects. A page that is full has a cursor.
func (p *Page) add(recs []store.Record, f *Filter, before int64, limit int) (full bool, err error) {
	for i := range slices.Backward(recs) {
		if recs[i].Seq >= before {
			continue
		}
		n, err := decodeSummary(&recs[i])
		if err != nil {
			return false, err
		}
		if !f.match(&n.marked) {
			continue
		}
		if len(p.Builds) == limit {
			p.Next = strconv.FormatInt(n.seq+1, 10)
			return true, nil
		}
		p.Builds = append(p.Builds, n.Summary)
	}
	return false, nil
}

// Get returns a record. The error wraps [store.ErrNotFound] if there is none.
func Get(ctx context.Context, s store.Store, tenant, id string) (*Record, error) {
	rec, err := s.Get(ctx, store.Key{Tenant: tenant, Kind: KindSummary}, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("build %.100q: %w: the tenant %.100q has no record with this ID (anchor-host builds list --tenant NAME shows those of each; the key records keeps them)", id, store.ErrNotFound, tenant)
	}
	if err != nil {
		return nil, fmt.Errorf("build %.100q: %w", id, err)
	}
	n, err := decodeSummary(&rec)
	if err != nil {
		return nil, err
	}
	out := Record{Summary: n.Summary}
	if rec, err = s.Get(ctx, store.Key{Tenant: tenant, Kind: KindDetail}, id); err != nil {
		return nil, fmt.Errorf("build %.100q: %w", id, err)
	}
	if err := jsonv2.Unmarshal(rec.Data, &out.Detail); err != nil {
		return nil, fmt.Errorf("build %.100q: read its record: %w: %w", id, store.ErrCorrupt, err)
	}
	return &out, nil
}

// Remove deletes records by ID, and returns how many there were.
func Remove(ctx context.Context, s store.Store, tenant string, ids ...string) (int, error) {
	n := 0
	for _, id := range ids {
		switch _, err := s.Get(ctx, store.Key{Tenant: tenant, Kind: KindSummary}, id); {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return n, err
		default:
			if err := remove(ctx, s, tenant, []string{id}); err != nil {
				return n, store.Partly(n > 0, err)
			}
			n++
		}
	}
	return n, nil
}

// RemoveOf deletes the records of a tenant that of selects, and returns how many there were.
func RemoveOf(ctx context.Context, s store.Store, tenant string, of func(*Summary) bool) (int, error) {
	n := 0
	var damaged error // it must not keep the others from being deleted
	for after := int64(0); ; {
		recs, err := s.Read(ctx, store.Key{Tenant: tenant, Kind: KindSummary}, after, sweptTogether)
		if err != nil || len(recs) == 0 {
			return n, store.Partly(n > 0, errors.Join(damaged, err))
		}
		after = recs[len(recs)-1].Seq
		var ids []string
		for i := range recs {
			one, err := decodeSummary(&recs[i])
			if err != nil {
				damaged = cmp.Or(damaged, err)
				continue
			}
			if of(&one.Summary) {
				ids = append(ids, one.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		if err := remove(ctx, s, tenant, ids); err != nil {
			return n, store.Partly(n > 0, err)
		}
		n += len(ids)
	}
}

// RemoveAll deletes all records of a tenant, and returns how many there were.
func RemoveAll(ctx context.Context, s store.Store, tenant string) (int, error) {
	n, err := s.Clear(ctx, store.Key{Tenant: tenant, Kind: KindSummary})
	if err != nil {
		return n, err
	}
	_, err = s.Clear(ctx, store.Key{Tenant: tenant, Kind: KindDetail})
	return n, store.Partly(true, err)
}

// CheckSummary and CheckDetail return an error for data that cannot be read as such a record.
func CheckSummary(data []byte) error {
	var s Summary
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if s.Bytes < 0 || s.Until < s.Bytes || !slices.Contains(Outcomes, s.Outcome) {
		return fmt.Errorf("bytes %d, bytes_until %d, outcome %.20q: %w", s.Bytes, s.Until, s.Outcome, store.ErrInvalid)
	}
	return nil
}

// CheckDetail is described at [CheckSummary].
func CheckDetail(data []byte) error {
	var d Detail
	return json.Unmarshal(data, &d)
}
