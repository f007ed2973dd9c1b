package retrieve

import "time"

// By says how a query finds chunks.
type By string

// The ways to find chunks.
const (
	ByWords   By = "words"
	ByVectors By = "vectors"
	ByHybrid  By = "hybrid"
)

// Defaults of a [Query].
const (
	DefaultK  = 10
	DefaultK1 = 1.5
	DefaultB  = 0.75
	// DefaultDepth is the least depth of the lists that a hybrid search merges.
	DefaultDepth = 100
	// DefaultVectorWeight is the weight of vectors beside 1 - DefaultVectorWeight for words.
	DefaultVectorWeight = 0.3
	// DefaultNeighbours is the default of [Query.Neighbours], the best for SciFact and Cranfield together.
	DefaultNeighbours = 0.8
	// MaxK is the greatest number of hits.
	MaxK = 10_000
	// MaxBlended is the greatest number of hits whose scores Neighbours changes, the best ones.
	// It compares each of them with each, which takes about a tenth of a second with 256 dimensions.
	MaxBlended = 1000
)

// Query says what to find.
type Query struct {
	// By is how to find it. Empty means by what the query has: Text, Vector or both.
	By By
	// Text is for words.
	Text string
	// Vector is for vectors. It is not required to have length 1.
	Vector []float32
	// Model is the ID of the model of Vector. A model that is not the collection's is
	// [ErrModel]. Empty is not checked.
	Model string
	// K is the greatest number of hits. 0 means [DefaultK].
	K int
	// Filter keeps only chunks for which all conditions hold. The statistics of words are
	// those of the whole collection.
	Filter []Condition
	// K1 says how fast repetitions of a term lose effect, 0 or more; B how much the score of
	// long chunks is reduced, 0 to 1. nil means [DefaultK1] and [DefaultB].
	K1, B *float64
	// Fusion merges the two lists of a hybrid query. Empty means FusionWeighted.
	Fusion Fusion
	// VectorWeight is the weight of the vectors' list, 0 to 1; that of words has the rest.
	// nil means [DefaultVectorWeight].
	VectorWeight *float64
	// Neighbours is the share, 0 to 1, of the score of a hybrid hit that comes from the hits
	// most like it by their vectors; the better the hit is by words and by vectors, the smaller.
	// It helps where several chunks answer a question, because those are like each other. nil
	// means [DefaultNeighbours]. Hits without a
	// vector, and those after the best [MaxBlended], keep their score.
	Neighbours *float64
	// KeepCopies also returns chunks that show the same as a better hit: the same text, context and
	// headings. Without it such chunks are named in the Copies of that hit.
	KeepCopies bool
	// Depth is the length of the lists that a hybrid query merges. 0 means K, and at least
	// [DefaultDepth].
	Depth int
}

// Copy is another place of what a hit shows.
type Copy struct {
	// ID is that of the chunk, as in [Hit].
	ID string `json:"id"`
	// Path is that of its document.
	Path string `json:"path"`
}

// Hit is a chunk that was found.
type Hit struct {
	// ID is the ID of the document, "#" and the number of the chunk from 1.
	ID string `json:"id"`
	// Document is the ID of the document.
	Document string `json:"document"`
	// Number is that of the chunk in its document, from 1.
	Number int `json:"number"`
	// Score is the BM25 score for words, the cosine for vectors, and for hybrid queries the
	// score of the fusion, 0 to 1.
	Score float64 `json:"score"`
	// Words and Cosine are the scores of the parts of a hybrid query. 0 means that the chunk has
	// no word of the query, or no vector.
	Words  float64 `json:"words,omitempty"`
	Cosine float64 `json:"cosine,omitempty"`

	Path     string            `json:"path"`
	Title    string            `json:"title,omitempty"`
	Hash     string            `json:"hash,omitempty"`
	Time     time.Time         `json:"time,omitzero"`
	Meta     map[string]string `json:"meta,omitempty"`
	Text     string            `json:"text"`
	Context  string            `json:"context,omitempty"`
	Headings []string          `json:"headings,omitempty"`
	Page     int               `json:"page,omitempty"`
	// PageEnd is the page on which the chunk ends, if that is a later one, else 0.
	PageEnd int   `json:"page_end,omitempty"`
	Lines   Lines `json:"lines,omitzero"`
	// Copies are the other places of what the chunk shows, at most 16 of those that match too.
	Copies []Copy `json:"copies,omitempty"`
	// Vector is that of the chunk, of length 1, or nil. Model is the ID of the model that made it.
	Vector []float32 `json:"vector,omitempty"`
	Model  string    `json:"model,omitempty"`
}
