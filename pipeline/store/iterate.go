package store

import (
	"context"
	"iter"
)

// page is how many records All holds at a time: few enough that the largest records
// fit into memory.
const page = 100

// All goes through the records of a key whose Seq is greater than after, ascending.
// An error is the last thing it yields. Records that arrive meanwhile are included.
func All(ctx context.Context, s Store, key Key, after int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			recs, err := s.Read(ctx, key, after, page)
			if err != nil {
				yield(Record{}, err)
				return
			}
			for _, r := range recs {
				if !yield(r, nil) {
					return
				}
				after = r.Seq
			}
			if len(recs) < page {
				return
			}
		}
	}
}
