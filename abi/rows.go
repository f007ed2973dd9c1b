package abi

import "time"

// Rows is the list of items that a request carries, read column by column. The
// writer calls only the methods of the columns it is asked for.
type Rows interface {
	Len() int
	ID(i int) string
	Score(i int) float64
	Text(i int) string
	Metadata(i int) map[string]any
	Source(i int) string
	Priority(i int) int
	TokenCount(i int) int
	// CreatedAt is the zero time when the item has none.
	CreatedAt(i int) time.Time
	// Embedding is the vector of the item, nil when it has none. All vectors of a request have
	// the same number of dimensions. The writer neither keeps nor changes them.
	Embedding(i int) []float32
}

// ScoreCopier is an optional interface of [Rows] that can copy all scores in one call. The
// writer of batches then calls it instead of Score; its checks stay the same. A type that
// embeds a ScoreCopier and overrides Score must override CopyScores too.
type ScoreCopier interface {
	// CopyScores sets dst[i] to the score of row i, for all Len elements of dst. It must not
	// keep dst.
	CopyScores(dst []float64)
}

// ItemRows are items as [Rows].
type ItemRows []Item

// Len returns the number of rows.
func (r ItemRows) Len() int { return len(r) }

// ID returns the id of row i.
func (r ItemRows) ID(i int) string { return r[i].ID }

// Score returns the score of row i.
func (r ItemRows) Score(i int) float64 { return r[i].Score }

// CopyScores implements [ScoreCopier].
func (r ItemRows) CopyScores(dst []float64) {
	for i := range dst {
		dst[i] = r[i].Score
	}
}

// Text returns the content of row i.
func (r ItemRows) Text(i int) string { return r[i].Content }

// Metadata returns the metadata of row i.
func (r ItemRows) Metadata(i int) map[string]any { return r[i].Metadata }

// Source returns the source of row i.
func (r ItemRows) Source(i int) string { return r[i].Source }

// Priority returns the priority of row i.
func (r ItemRows) Priority(i int) int { return r[i].Priority }

// TokenCount returns the token count of row i.
func (r ItemRows) TokenCount(i int) int { return r[i].TokenCount }

// CreatedAt returns the time of row i.
func (r ItemRows) CreatedAt(i int) time.Time { return r[i].CreatedAt }

// Embedding returns the vector of row i.
func (r ItemRows) Embedding(i int) []float32 { return r[i].Embedding }

// Envelope holds the parts of a request other than its rows.
type Envelope struct {
	// Query is the query of the build. nil is an empty query.
	Query *Query
	// TopK is the largest number of items to return; 0 if the operation has no such bound.
	TopK int
	// TokensLeft is how many more tokens fit into the window when the step begins.
	TokensLeft int
	// Settings is the JSON of the step settings; empty when there are none.
	Settings []byte
}
