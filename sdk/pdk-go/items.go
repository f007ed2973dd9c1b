package pdk

import (
	"iter"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// Items are the rows of a request, read in place. Rows are numbered from 0. Changes name rows
// by number, since ids need not be unique.
//
//	for i := range r.Items.Len() {
//		total += r.Items.Score(i)
//	}
type Items struct {
	*abi.Batch
}

// At returns row i.
func (s Items) At(i int) Item { return Item{s.Batch, i} }

// All returns the rows in order.
func (s Items) All() iter.Seq[Item] {
	return func(yield func(Item) bool) {
		for i := range s.Len() {
			if !yield(s.At(i)) {
				return
			}
		}
	}
}

// MetaString returns the metadata value of key in row i if it is a string.
func (s Items) MetaString(i int, key string) (string, bool) {
	v, ok := s.MetaValue(i, key)
	if !ok {
		return "", false
	}
	return v.Text()
}

// MetaInt returns the metadata value of key in row i if it is an integer.
func (s Items) MetaInt(i int, key string) (int64, bool) {
	v, ok := s.MetaValue(i, key)
	if !ok {
		return 0, false
	}
	return v.Int()
}

// MetaFloat returns the metadata value of key in row i if it is a number.
func (s Items) MetaFloat(i int, key string) (float64, bool) {
	v, ok := s.MetaValue(i, key)
	if !ok {
		return 0, false
	}
	return v.Float()
}

// MetaBool returns the metadata value of key in row i if it is a bool.
func (s Items) MetaBool(i int, key string) (value, ok bool) {
	v, ok := s.MetaValue(i, key)
	if !ok {
		return false, false
	}
	return v.Bool()
}

// MetaTime returns the metadata value of key in row i if it is a string in
// RFC 3339.
func (s Items) MetaTime(i int, key string) (time.Time, bool) {
	text, ok := s.MetaString(i, key)
	if !ok {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, text)
	return t, err == nil
}

// Item is one row of a request. Columns that the manifest does not read are
// zero. Strings are valid until the handler returns.
type Item struct {
	batch *abi.Batch
	row   int
}

// Row returns the number of the row, by which changes name it.
func (it Item) Row() int { return it.row }

// ID returns the id. It need not be unique.
func (it Item) ID() string { return it.batch.ID(it.row) }

// Text returns the content.
func (it Item) Text() string { return it.batch.Text(it.row) }

// Score returns the score, 0 to 1.
func (it Item) Score() float64 { return it.batch.Score(it.row) }

// Source returns the source: system, memory, conversation, tool, retrieval or
// user.
func (it Item) Source() string { return it.batch.Source(it.row) }

// Priority returns the priority, 1 to 10; higher is kept first.
func (it Item) Priority() int { return it.batch.Priority(it.row) }

// TokenCount returns the number of tokens of the content.
func (it Item) TokenCount() int { return it.batch.TokenCount(it.row) }

// CreatedAt returns when the item was created; the zero time if that is not known.
func (it Item) CreatedAt() time.Time { return it.batch.CreatedAt(it.row) }

// Embedding returns the vector, nil when the item has none. All items' vectors have the same
// number of dimensions. It must not be changed.
func (it Item) Embedding() []float32 { return it.batch.Embedding(it.row) }

// Metadata returns a copy of the metadata, which the caller may change.
func (it Item) Metadata() Metadata { return it.batch.Metadata(it.row) }

// MetaString returns the metadata value of key if it is a string.
func (it Item) MetaString(key string) (string, bool) { return Items{it.batch}.MetaString(it.row, key) }

// MetaInt returns the metadata value of key if it is an integer.
func (it Item) MetaInt(key string) (int64, bool) { return Items{it.batch}.MetaInt(it.row, key) }

// MetaFloat returns the metadata value of key if it is a number.
func (it Item) MetaFloat(key string) (float64, bool) { return Items{it.batch}.MetaFloat(it.row, key) }

// MetaBool returns the metadata value of key if it is a bool.
func (it Item) MetaBool(key string) (value, ok bool) { return Items{it.batch}.MetaBool(it.row, key) }

// MetaTime returns the metadata value of key if it is a string in RFC 3339.
func (it Item) MetaTime(key string) (time.Time, bool) { return Items{it.batch}.MetaTime(it.row, key) }
