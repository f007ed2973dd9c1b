package abi

import (
	"encoding/binary"
	"time"
)

// Batch is a request read in place: strings and slices alias the buffer it was
// opened on and are valid as long as that is. Columns that are absent read as
// zero values. Row numbers out of range panic, as indexing a slice does. A
// Batch is safe for concurrent reads.
type Batch struct {
	rows      int
	cols      ColumnSet
	ids       stringsView
	scores    []float64
	texts     stringsView
	meta      metaView
	sources   stringsView
	priority  []uint32
	tokens    []uint32
	created   []uint64
	queryText string
	queryMeta []byte
	history   []byte
	embedding []float32
	settings  []byte
	topK      uint32
	left      uint32
}

// OpenBatch reads the header and the directory of b and checks every offset
// once, so that the accessors need no further checks. Errors wrap
// [ErrMalformed]. For speed, b should begin at an address that is a multiple of
// 8; elsewhere numbers are copied.
func OpenBatch(b []byte) (*Batch, error) {
	v := new(Batch)
	if err := OpenBatchInto(v, b); err != nil {
		return nil, err
	}
	return v, nil
}

// OpenBatchInto does what OpenBatch does with a Batch that is used again. After an error
// v must not be read.
func OpenBatchInto(v *Batch, b []byte) error {
	d, err := openDirectory(b, BatchMagic)
	if err != nil {
		return err
	}
	*v = Batch{rows: d.rows}
	for {
		id, sec, err := d.next()
		if err != nil {
			return err
		}
		if id == 0 {
			return nil
		}
		if id < 256 {
			v.cols = v.cols.With(Column(id))
			err = v.openColumn(&d, id, sec)
		} else {
			err = v.openField(&d, id, sec)
		}
		if err != nil {
			return err
		}
	}
}

func (b *Batch) openColumn(d *directory, id Section, sec []byte) (err error) {
	switch Column(id) {
	case ColumnID:
		b.ids, err = d.openStrings(id, sec, b.rows)
	case ColumnScore:
		b.scores, err = f64s(sec), d.size(id, sec, 8*b.rows)
	case ColumnText:
		b.texts, err = d.openStrings(id, sec, b.rows)
	case ColumnMetadata:
		b.meta, err = d.openMeta(id, sec, b.rows)
	case ColumnSource:
		b.sources, err = d.openStrings(id, sec, b.rows)
	case ColumnPriority:
		b.priority, err = u32s(sec), d.size(id, sec, 4*b.rows)
	case ColumnTokenCount:
		b.tokens, err = u32s(sec), d.size(id, sec, 4*b.rows)
	case ColumnCreatedAt:
		b.created, err = u64s(sec), d.size(id, sec, 8*b.rows)
	}
	return err
}

func (b *Batch) openField(d *directory, id Section, sec []byte) (err error) {
	switch id {
	case SectionQueryText:
		b.queryText = text(sec)
	case SectionQueryMetadata:
		b.queryMeta = sec
	case SectionChatHistory:
		b.history = sec
	case SectionQueryEmbedding:
		b.embedding, err = f32s(sec), d.size(id, sec, len(sec)&^3)
	case SectionSettings:
		b.settings = sec
	case SectionTopK:
		b.topK, err = d.scalar(id, sec)
	case SectionTokensLeft:
		b.left, err = d.scalar(id, sec)
	}
	return err
}

// scalar reads a section of one u32.
func (d *directory) scalar(id Section, sec []byte) (uint32, error) {
	if err := d.size(id, sec, 4); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(sec), nil
}

// Len returns the number of rows.
func (b *Batch) Len() int { return b.rows }

// Columns returns the columns that the batch has.
func (b *Batch) Columns() ColumnSet { return b.cols }

// ID returns the id of row i.
func (b *Batch) ID(i int) string { return b.ids.at(i) }

// Score returns the score of row i.
func (b *Batch) Score(i int) float64 {
	if b.scores == nil {
		return 0
	}
	return b.scores[i]
}

// Scores returns the scores of all rows, nil when the column is absent.
func (b *Batch) Scores() []float64 { return b.scores }

// Text returns the content of row i.
func (b *Batch) Text(i int) string { return b.texts.at(i) }

// Source returns the source of row i.
func (b *Batch) Source(i int) string { return b.sources.at(i) }

// Priority returns the priority of row i.
func (b *Batch) Priority(i int) int {
	if b.priority == nil {
		return 0
	}
	return int(b.priority[i])
}

// TokenCount returns the number of tokens of row i.
func (b *Batch) TokenCount(i int) int {
	if b.tokens == nil {
		return 0
	}
	return int(b.tokens[i])
}

// CreatedAt returns the time of row i in UTC, the zero time when it has none.
func (b *Batch) CreatedAt(i int) time.Time {
	if b.created == nil {
		return time.Time{}
	}
	return timeOf(int64(b.created[i]))
}

// MetaLen returns the number of metadata values of row i.
func (b *Batch) MetaLen(i int) int {
	from, to := b.meta.span(i)
	return int(to - from)
}

// MetaAt returns the n-th metadata value of row i with its key.
func (b *Batch) MetaAt(i, n int) (key string, v Value) {
	from, to := b.meta.span(i)
	e := b.meta.entryKey[from:to]
	_ = e[n]
	return b.meta.key(from + uint32(n)), b.meta.value(from + uint32(n))
}

// MetaValue returns the metadata value of key in row i, and whether there is
// one.
func (b *Batch) MetaValue(i int, key string) (Value, bool) { return b.meta.find(i, key) }

// QueryText returns the text of the query.
func (b *Batch) QueryText() string { return b.queryText }

// Embedding returns the embedding of the query, nil when there is none.
func (b *Batch) Embedding() []float32 { return b.embedding }

// TopK returns the largest number of items to return, 0 when there is no such bound.
func (b *Batch) TopK() int { return int(b.topK) }

// TokensLeft returns how many tokens still fit into the window when the step begins.
func (b *Batch) TokensLeft() int { return int(b.left) }

// Settings returns the JSON of the step settings, nil when there are none.
func (b *Batch) Settings() []byte { return b.settings }
