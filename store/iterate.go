package store

import (
	"context"
	"errors"
	"iter"
)

// page is the number of records that All holds at a time. Even the largest records must fit
// into memory.
const page = 100

// All yields the records of a key whose Seq is greater than after, in ascending order. It
// includes records that arrive while it runs. After an error it stops.
func All(ctx context.Context, s Store, key Key, after int64) iter.Seq2[Record, error] {
	return all(ctx, s, key, after, nil)
}

// all is like All. If skip is not nil, it calls skip for damaged records and continues.
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
