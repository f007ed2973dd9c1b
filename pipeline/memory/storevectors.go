package memory

import (
	"context"
	"crypto/sha256"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// vectorBatch is how many vectors are stored in one transaction.
const vectorBatch = 1000

// loadVectors returns the vectors of texts that the index has. Those that cannot be read are made
// again.
func (f *StoreFacts) loadVectors(ctx context.Context, m retrieve.Model, texts []string) map[string][]float32 {
	contents, of := make([][32]byte, len(texts)), make(map[[32]byte]string, len(texts))
	for i, text := range texts {
		contents[i] = sha256.Sum256([]byte(text))
		of[contents[i]] = text
	}
	found := make(map[string][]float32)
	if len(texts) == 0 {
		return found
	}
	vectors, err := f.index.FactVectors(ctx, f.key.Tenant, m.ID, contents)
	if err != nil {
		return found
	}
	for content, v := range vectors {
		if len(v) == m.Dimension {
			found[of[content]] = v
		}
	}
	return found
}

// saveVectors stores vectors in the index, for the facts that have these texts. A failure only
// means that they are made again.
func (f *StoreFacts) saveVectors(ctx context.Context, m retrieve.Model, vectors map[string][]float32) {
	batch := make(map[[32]byte][]float32)
	for text, v := range vectors {
		if len(v) != m.Dimension {
			return
		}
		batch[sha256.Sum256([]byte(text))] = v
		if len(batch) < vectorBatch {
			continue
		}
		if f.index.SetFactVectors(ctx, f.key.Tenant, m.ID, batch) != nil {
			return
		}
		clear(batch)
	}
	if len(batch) > 0 {
		_ = f.index.SetFactVectors(ctx, f.key.Tenant, m.ID, batch)
	}
}
