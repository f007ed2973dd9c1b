package retrieve

import (
	"context"
	"iter"
	"time"
)

// Collection names a set of documents that is searched as one. Tenants never see each
// other's collections.
type Collection struct {
	// Tenant is the owner. It must not be empty; see store.DefaultTenant.
	Tenant string
	// Name must not be empty.
	Name string
}

// String returns the collection in the form tenant/name, for messages.
func (c Collection) String() string { return c.Tenant + "/" + c.Name }

// Validate returns an error that wraps [ErrInvalid] if the tenant or the name is empty, longer
// than [MaxName], not UTF-8, or has control characters.
func (c Collection) Validate() error {
	if err := checkName("tenant", c.Tenant); err != nil {
		return err
	}
	return checkName("collection", c.Name)
}

// VectorForm says how the vectors of a collection are stored.
type VectorForm string

// The forms of vectors.
const (
	// VectorsF32 keeps every number as it is: 4 bytes for each dimension.
	VectorsF32 VectorForm = "f32"
	// VectorsInt8 rounds numbers: 1 byte for each dimension, less time for a search, and
	// scores that differ in the third decimal place.
	VectorsInt8 VectorForm = "int8"
)

// Settings are those of a collection. They are fixed when it is created.
type Settings struct {
	// Stem reduces English words to their stem. nil means true.
	Stem *bool `json:"stem,omitempty"`
	// StopWords names the words that are not searched: "lucene", "english" or "none".
	// Empty means "lucene". Unless it is "none", a question is searched without the words of
	// "english", such as "how" and "does", if it has others.
	StopWords string `json:"stop_words,omitempty"`
	// SplitIdentifiers also finds names such as ParseDuration by their parts. nil means
	// true.
	SplitIdentifiers *bool `json:"split_identifiers,omitempty"`
	// Model makes the vectors of the collection. The zero value is no model: documents then
	// have no vectors, until [Index.SetModel].
	Model Model `json:"model,omitzero"`
	// Vectors is the form of the vectors. Empty means VectorsF32.
	Vectors VectorForm `json:"vectors,omitempty"`
}

// CollectionInfo describes a collection.
type CollectionInfo struct {
	Collection Collection `json:"-"`
	Name       string     `json:"name"`
	// Shared says that the collection belongs to another tenant, who lets this one read it. An index
	// itself leaves it false.
	Shared   bool     `json:"shared,omitempty"`
	Settings Settings `json:"settings"`
	// Documents, Chunks and Vectors are numbers of what can be found.
	Documents int `json:"documents"`
	Chunks    int `json:"chunks"`
	Vectors   int `json:"vectors"`
	// Bytes is the size of the texts, and IndexBytes that of everything else.
	Bytes      int64 `json:"bytes"`
	IndexBytes int64 `json:"index_bytes"`
	// Generation grows with each write to the collection.
	Generation int64     `json:"generation"`
	Created    time.Time `json:"created"`
	Changed    time.Time `json:"changed"`
}

// IDs is a range of IDs, which are compared by their bytes. The zero value is all IDs.
type IDs struct {
	// From is the least ID.
	From string
	// Before is greater than every ID. Empty means no bound.
	Before string
}

// Index keeps collections and finds their chunks. It is safe for concurrent use, in one
// process and in several. It keeps no slice of a caller, and callers own what it returns.
//
// A write that returns no error is durable, and no reader ever sees a part of it, also
// after the process was killed. Every search sees the collection as one write left it. What
// it returns depends on the documents alone, not on the order in which they came.
type Index interface {
	// Create makes an empty collection. If it exists with the same settings, Create does
	// nothing; with other settings it returns [ErrExists]. A setting that is left out is
	// the same as its default, and a Model that is left out is the same as any.
	Create(ctx context.Context, c Collection, s Settings) error
	// Collections lists the collections of a tenant by name.
	Collections(ctx context.Context, tenant string) ([]CollectionInfo, error)
	// Collection describes one collection.
	Collection(ctx context.Context, c Collection) (CollectionInfo, error)
	// Settings returns those of a collection with their defaults. It counts nothing, and is
	// fast however large the collection is. It returns [ErrNotFound] if there is none.
	Settings(ctx context.Context, c Collection) (Settings, error)
	// Remove removes a collection with its documents. It returns [ErrNotFound] if there is
	// none.
	Remove(ctx context.Context, c Collection) error

	// SetModel changes the model of a collection, in one transaction. If the model differs
	// from the one before, all chunks lose their vectors; the documents then have
	// fewer vectors than chunks in [DocumentInfo], by which ingestion finds what to embed. The zero Model means none.
	SetModel(ctx context.Context, c Collection, m Model) error

	// Upsert inserts documents, or replaces those with the same ID, all together or not at
	// all. Several documents in one call share a transaction and a segment of the index,
	// which makes the call much faster than several calls; a batch of some MiB of text is
	// good. The limits are [MaxBatch] documents, [MaxChunks] chunks, [MaxBatchBytes] of text
	// and [MaxBatchVectorBytes] of vectors. A vector of another dimension than that of the
	// collection's model is [ErrModel]; the caller compares the ID of its model with the
	// collection's before it embeds.
	Upsert(ctx context.Context, c Collection, docs ...Document) error
	// Delete removes documents by ID and returns how many it removed.
	Delete(ctx context.Context, c Collection, ids ...string) (int, error)
	// Documents lists the documents whose IDs are in the range by ID. The loop may write to
	// the collection; it then may or may not see what it wrote.
	Documents(ctx context.Context, c Collection, ids IDs) iter.Seq2[DocumentInfo, error]
	// SetRoot changes the root of all documents that have the root from.
	SetRoot(ctx context.Context, c Collection, from, to string) error
	// Document returns a document as it was written, but for its vectors, which have
	// length 1, and in the form int8 are rounded.
	Document(ctx context.Context, c Collection, id string) (Document, error)
	// Export returns all documents by ID, each as Document does.
	Export(ctx context.Context, c Collection) iter.Seq2[Document, error]

	// Compact rewrites the segments of a collection so that nothing remains of documents
	// that were deleted or replaced. Without it that happens when their share has grown to
	// a third.
	Compact(ctx context.Context, c Collection) error

	// Search returns the chunks that match a query best, the best first. Chunks of equal
	// score come by the ID of their document, then by their number.
	Search(ctx context.Context, c Collection, q Query) ([]Hit, error)
}
