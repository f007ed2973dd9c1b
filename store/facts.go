package store

import (
	"context"
	"time"
)

// KindFact is the kind of facts: records with an entry of package memory.
const KindFact = "fact"

// FactQuery says which facts of a tenant may matter to a question.
type FactQuery struct {
	// Text finds facts by words.
	Text string
	// Vector finds facts by vectors, if it is not nil. Model is the ID of the model that made it.
	// Facts whose vectors are of another model are not found by vectors.
	Vector []float32
	Model  string
	// Users and Sessions are those of which a fact must have one. "" stands for facts without.
	// nil means all.
	Users, Sessions []string
	// Type is that of the facts. Empty means all.
	Type string
	// Tags are tags that a fact must have, all of them.
	Tags []string
	// Now leaves out facts that have expired by then.
	Now time.Time
	// Most is how many facts each of the four ways finds: by words, by vectors, by the time of
	// the last use, by importance. At least 1.
	Most int
}

// FoundFact is a fact that was found.
type FoundFact struct {
	Record Record
	// Damaged is the error of a record that is not what was written, which then has only an ID.
	Damaged error
}

// FactIndex is a [Store] that finds facts without reading all of them. It keeps its index in step
// with every write of records of [KindFact], in the same transaction.
type FactIndex interface {
	// FindFacts returns the facts that match a question best by words or by vectors, and those
	// that were used last or are most important, each once and in the order of their numbers.
	FindFacts(ctx context.Context, tenant string, q FactQuery) ([]FoundFact, error)
	// FactsByHash returns the records whose content_hash is one of the hashes.
	FactsByHash(ctx context.Context, tenant string, hashes []string) ([]Record, error)
	// FactVectors returns the vectors of contents that a model has made. Contents are given by
	// their SHA-256.
	FactVectors(ctx context.Context, tenant, model string, contents [][32]byte) (map[[32]byte][]float32, error)
	// FactsWithoutVector returns at most limit facts that have no vector of the model.
	FactsWithoutVector(ctx context.Context, tenant, model string, limit int) ([]Record, error)
	// SetFactVectors gives vectors of a model to the facts with these contents. All vectors have
	// one length. If the model differs from the one before, all facts lose their vectors first.
	SetFactVectors(ctx context.Context, tenant, model string, vectors map[[32]byte][]float32) error
}
