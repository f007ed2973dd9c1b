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
}

// ScoreCopier is what [Rows] may be too, where scores are at hand without a call for
// each of them. The writer of batches then asks once; what it checks stays the same. A
// type that embeds another and has a Score of its own needs this of its own as well.
type ScoreCopier interface {
	// CopyScores sets dst[i] to the score of row i. dst has Len elements, all of which are
	// to be set, and must not be kept.
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

// Envelope is what a request carries beside its rows.
type Envelope struct {
	// Query is what the build is about; nil is an empty query.
	Query *Query
	// TopK is the most items to return; 0 when the operation has no such bound.
	TopK int
	// TokensLeft is the room in the window when the step begins.
	TokensLeft int
	// Settings is the JSON of the step settings; empty when there are none.
	Settings []byte
}
