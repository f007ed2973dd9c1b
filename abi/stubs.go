package abi

import "time"

// MaxRows and MaxBytes bound every batch and change set.
const (
	MaxRows  = 1 << 20
	MaxBytes = 256 << 20
)

// ParseManifest reads a manifest, strictly, and validates it.
func ParseManifest(json []byte) (*Manifest, error) { panic("soon") }

// Validate checks m.
func (m *Manifest) Validate() error { panic("soon") }

// Reads returns the columns the operation reads.
func (m *Manifest) Reads(op Operation) ColumnSet { panic("soon") }

// Writes returns the changes the operation makes.
func (m *Manifest) Writes(op Operation) ChangeSet { panic("soon") }

// ParseSize reads a size such as 64MiB.
func ParseSize(s string) (int64, error) { panic("soon") }

// FormatSize is the opposite of ParseSize.
func FormatSize(n int64) string { panic("soon") }

// ParseDuration reads a duration above zero such as 2s.
func ParseDuration(s string) (time.Duration, error) { panic("soon") }

// BatchWriter writes batches; it is reusable, and not safe for concurrent use.
type BatchWriter struct{ size int }

// Plan works out the size of the batch. rows may be nil. Write must follow
// before rows and env change.
func (w *BatchWriter) Plan(rows Rows, cols ColumnSet, env *Envelope) (size int, err error) {
	panic("soon")
}

// Write writes the planned batch to dst, whose length is the planned size.
func (w *BatchWriter) Write(dst []byte) error { panic("soon") }

// Batch is a batch read in place; strings alias the buffer.
type Batch struct{ rows int }

// OpenBatch checks b once.
func OpenBatch(b []byte) (*Batch, error) { panic("soon") }

// Len returns the number of rows.
func (b *Batch) Len() int { return b.rows }

// Columns returns the columns that are there; absent ones read as zero.
func (b *Batch) Columns() ColumnSet { panic("soon") }

// ID returns the id.
func (b *Batch) ID(i int) string { panic("soon") }

// Score returns the score.
func (b *Batch) Score(i int) float64 { panic("soon") }

// Scores returns all scores, nil when the column is absent.
func (b *Batch) Scores() []float64 { panic("soon") }

// Text returns the text.
func (b *Batch) Text(i int) string { panic("soon") }

// Source returns the source.
func (b *Batch) Source(i int) string { panic("soon") }

// Priority returns the priority.
func (b *Batch) Priority(i int) int { panic("soon") }

// TokenCount returns the token count.
func (b *Batch) TokenCount(i int) int { panic("soon") }

// CreatedAt returns the time.
func (b *Batch) CreatedAt(i int) time.Time { panic("soon") }

// Metadata returns the metadata as a fresh map.
func (b *Batch) Metadata(i int) (Metadata, error) { panic("soon") }

// Value is one metadata value.
type Value struct {
	Kind ValueKind
	Bits uint64
	Text string
}

// ValueKind is the kind of a value.
type ValueKind uint8

// The kinds.
const (
	KindNull ValueKind = iota
	KindBool
	KindInt
	KindFloat
	KindString
	KindJSON
)

// Bool, Int, Float (ints too) and String return the value if it is of that kind.
func (v Value) Bool() (b, ok bool)               { panic("soon") }
func (v Value) Int() (n int64, ok bool)          { panic("soon") }
func (v Value) Float() (f float64, ok bool)      { panic("soon") }
func (v Value) String() (s string)               { panic("soon") }
func (b *Batch) MetaLen(i int) int               { panic("soon") }
func (b *Batch) MetaAt(i, n int) (string, Value) { panic("soon") }

// MetaValue returns the value of key in row i, and whether there is one.
func (b *Batch) MetaValue(i int, key string) (Value, bool) { panic("soon") }

// QueryText returns the text of the query.
func (b *Batch) QueryText() string { panic("soon") }

// Embedding returns the embedding of the query.
func (b *Batch) Embedding() []float32 { panic("soon") }

// Query decodes the query.
func (b *Batch) Query() (*Query, error) { panic("soon") }

// TopK returns the most items to return, 0 when there is no bound.
func (b *Batch) TopK() int { panic("soon") }

// TokensLeft returns the room in the window.
func (b *Batch) TokensLeft() int { panic("soon") }

// Settings returns the JSON of the step settings.
func (b *Batch) Settings() []byte { panic("soon") }

// AppendChanges appends the binary change set. Errors: metadata values of unsupported types.
func AppendChanges(dst []byte, c *Changes) ([]byte, error) { panic("soon") }

// AppendChangesJSON appends the change set as JSON.
func AppendChangesJSON(dst []byte, c *Changes) ([]byte, error) { panic("soon") }

// DecodeChanges reads a binary change set; nothing aliases b.
func DecodeChanges(b []byte) (*Changes, error) { panic("soon") }

// DecodeChangesJSON reads a change set document, strictly.
func DecodeChangesJSON(b []byte) (*Changes, error) { panic("soon") }

// Grant is what a step may change.
type Grant struct {
	// Writes are the changes granted.
	Writes ChangeSet
	// MaxItems is the most new items.
	MaxItems int
	// MaxPriority is the highest priority that new items and edits may state.
	MaxPriority int
	// Sources are the sources that new items may state; an empty source is always fine. Never system.
	Sources []string
	// MaxTextBytes is the most bytes of text that edits and new items carry together; 0 is no bound.
	MaxTextBytes int64
}

// ChangeError is what is wrong with a change set.
type ChangeError struct {
	// Part is keep, edits, scores, items or order; "" when the whole is malformed.
	Part string
	// Index is the position in the part, -1 when none.
	Index int
	// Row is the row, -1 when none.
	Row int64
	Msg string
}

func (e *ChangeError) Error() string { return e.Msg }

// Check checks c against the number of input rows and the grant.
func (c *Changes) Check(rows int, g Grant) error { panic("soon") }

// AppendItemsRequest appends the JSON document of the declared columns. rows nil: no items.
func AppendItemsRequest(dst []byte, rows Rows, cols ColumnSet, env *Envelope) ([]byte, error) {
	panic("soon")
}

// DecodeItemsRequest reads the document.
func DecodeItemsRequest(b []byte) (*ItemsRequest, error) { panic("soon") }

// BatchOf returns the request as a batch.
func BatchOf(req *ItemsRequest) (*Batch, error) { panic("soon") }
