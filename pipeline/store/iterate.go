package store

import (
	"context"
	"errors"
	"iter"
)

// page is how many records All holds at a time: few enough that the largest records
// fit into memory.
const page = 100

// All goes through the records of a key whose Seq is greater than after, ascending.
// An error is the last thing it yields. Records that arrive meanwhile are included.
func All(ctx context.Context, s Store, key Key, after int64) iter.Seq2[Record, error] {
	return all(ctx, s, key, after, nil)
}

// all is All that tells skip of damaged records and goes on, if skip is not nil.
func all(ctx context.Context, s Store, key Key, after int64, skip func(*CorruptError)) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			recs, err := s.Read(ctx, key, after, page)
			for _, r := range recs {
				if !yield(r, nil) {
					return
				}
				after = r.Seq
			}
			var damaged *CorruptError
			switch {
			case skip != nil && errors.As(err, &damaged) && damaged.Seq > after:
				skip(damaged)
				after = damaged.Seq
			case err != nil:
				yield(Record{}, err)
				return
			case len(recs) < page:
				return
			}
		}
	}
}
