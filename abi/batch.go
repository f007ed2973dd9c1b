package abi

import (
	"encoding/binary"
	"time"

	"github.com/anchor-host/anchor-host/abi/internal/inplace"
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
	"github.com/anchor-host/anchor-host/abi/internal/layout"
)

// Batch is a request read in place: strings and slices alias the buffer it was
// opened on and are valid as long as that is. Columns that are absent read as
// zero values, and [Batch.Unsent] names those that were read. Row numbers out of range
// panic, as indexing a slice does. A Batch is safe for concurrent reads of the columns that
// it has.
type Batch struct {
	rows int
	cols ColumnSet
	// missed are columns of numbers that were read without being there. Only the branch for absent
	// columns sets it, so it costs the others nothing.
	missed    ColumnSet
	guessed   bool
	ids       layout.Strings
	scores    []float64
	texts     layout.Strings
	meta      layout.MetaView
	sources   layout.Strings
	priority  []uint32
	tokens    []uint32
	created   []uint64
	vectors   *layout.Vectors
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

// OpenBatchInto is OpenBatch, but reuses v. After an error v must not be read.
func OpenBatchInto(v *Batch, b []byte) error {
	d, err := layout.Open(b, layout.BatchMagic)
	if err != nil {
		return err
	}
	*v = Batch{rows: d.Rows}
	for {
		id, sec, err := d.Next()
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

func (b *Batch) openColumn(d *layout.Directory, id layout.Section, sec []byte) (err error) {
	switch Column(id) {
	case ColumnID:
		b.ids, err = d.OpenStrings(id, sec, b.rows)
	case ColumnScore:
		b.scores, err = inplace.F64s(sec), d.CheckSize(id, sec, 8*b.rows)
	case ColumnText:
		b.texts, err = d.OpenStrings(id, sec, b.rows)
	case ColumnMetadata:
		b.meta, err = d.OpenMeta(id, sec, b.rows)
	case ColumnSource:
		b.sources, err = d.OpenStrings(id, sec, b.rows)
	case ColumnPriority:
		b.priority, err = inplace.U32s(sec), d.CheckSize(id, sec, 4*b.rows)
	case ColumnTokenCount:
		b.tokens, err = inplace.U32s(sec), d.CheckSize(id, sec, 4*b.rows)
	case ColumnCreatedAt:
		b.created, err = inplace.U64s(sec), d.CheckSize(id, sec, 8*b.rows)
	case ColumnEmbedding:
		b.vectors, err = d.OpenVectors(id, sec)
	}
	return err
}

func (b *Batch) openField(d *layout.Directory, id layout.Section, sec []byte) (err error) {
	switch id {
	case layout.SectionQueryText:
		b.queryText = inplace.String(sec)
	case layout.SectionQueryMetadata:
		b.queryMeta = sec
	case layout.SectionChatHistory:
		b.history = sec
	case layout.SectionQueryEmbedding:
		b.embedding, err = inplace.F32s(sec), d.CheckSize(id, sec, len(sec)&^3)
	case layout.SectionSettings:
		b.settings = sec
	case layout.SectionTopK:
		b.topK, err = readNumber(d, id, sec)
	case layout.SectionTokensLeft:
		b.left, err = readNumber(d, id, sec)
	}
	return err
}

// readNumber reads a section of one u32.
func readNumber(d *layout.Directory, id layout.Section, sec []byte) (uint32, error) {
	if err := d.CheckSize(id, sec, 4); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(sec), nil
}

// Len returns the number of rows.
func (b *Batch) Len() int { return b.rows }

// Columns returns the columns that the batch has.
func (b *Batch) Columns() ColumnSet { return b.cols }

// Unsent returns the columns that were read since the batch was opened, and that it does not
// have. It is empty for a batch of a request that does not say which columns it has.
func (b *Batch) Unsent() ColumnSet {
	if b.guessed {
		return 0
	}
	missed := b.missed
	for _, c := range [...]struct {
		column Column
		missed bool
	}{
		{ColumnID, b.ids.Missed()}, {ColumnText, b.texts.Missed()}, {ColumnSource, b.sources.Missed()}, {ColumnMetadata, b.meta.Missed()},
	} {
		if c.missed {
			missed = missed.With(c.column)
		}
	}
	return missed &^ b.cols
}

// ID returns the id of row i.
func (b *Batch) ID(i int) string { return b.ids.At(i) }

// Score returns the score of row i.
func (b *Batch) Score(i int) float64 {
	if b.scores == nil {
		b.missed |= 1 << ColumnScore
		return 0
	}
	return b.scores[i]
}

// Scores returns the scores of all rows, nil when the column is absent.
func (b *Batch) Scores() []float64 {
	if b.scores == nil {
		b.missed |= 1 << ColumnScore
	}
	return b.scores
}

// Text returns the content of row i.
func (b *Batch) Text(i int) string { return b.texts.At(i) }

// Source returns the source of row i.
func (b *Batch) Source(i int) string { return b.sources.At(i) }

// Priority returns the priority of row i.
func (b *Batch) Priority(i int) int {
	if b.priority == nil {
		b.missed |= 1 << ColumnPriority
		return 0
	}
	return int(b.priority[i])
}

// TokenCount returns the number of tokens of row i.
func (b *Batch) TokenCount(i int) int {
	if b.tokens == nil {
		b.missed |= 1 << ColumnTokenCount
		return 0
	}
	return int(b.tokens[i])
}

// CreatedAt returns the time of row i in UTC, the zero time when it has none.
func (b *Batch) CreatedAt(i int) time.Time {
	if b.created == nil {
		b.missed |= 1 << ColumnCreatedAt
		return time.Time{}
	}
	return jsontext.Time(int64(b.created[i]))
}

// Dimension returns the number of dimensions of the items' vectors, 0 when no item has one.
func (b *Batch) Dimension() int {
	if b.vectors == nil {
		b.missed |= 1 << ColumnEmbedding
		return 0
	}
	return b.vectors.Dimension
}

// Embedding returns the vector of row i, nil when it has none.
func (b *Batch) Embedding(i int) []float32 {
	if b.Dimension() == 0 {
		return nil
	}
	return b.vectors.At(i)
}

// MetaLen returns the number of metadata values of row i.
func (b *Batch) MetaLen(i int) int {
	from, to := b.meta.Span(i)
	return int(to - from)
}

// MetaAt returns the n-th metadata value of row i with its key.
func (b *Batch) MetaAt(i, n int) (key string, v Value) {
	e := b.meta.Entry(i, n)
	return b.meta.Key(e), valueOf(&b.meta, e)
}

// MetaValue returns the metadata value of key in row i, and whether there is
// one.
func (b *Batch) MetaValue(i int, key string) (Value, bool) {
	e, ok := b.meta.Find(i, key)
	if !ok {
		return Value{}, false
	}
	return valueOf(&b.meta, e), true
}

// QueryText returns the text of the query.
func (b *Batch) QueryText() string { return b.queryText }

// QueryEmbedding returns the vector of the query, nil when there is none.
func (b *Batch) QueryEmbedding() []float32 { return b.embedding }

// TopK returns the largest number of items to return, 0 when there is no such bound.
func (b *Batch) TopK() int { return int(b.topK) }

// TokensLeft returns how many more tokens fit into the window when the step begins.
func (b *Batch) TokensLeft() int { return int(b.left) }

// Settings returns the JSON of the step settings, nil when there are none.
func (b *Batch) Settings() []byte { return b.settings }
