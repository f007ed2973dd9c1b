package memory

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/store"
)

// maxStoredVectors bounds the bytes of the stored vectors of a tenant. The oldest leave.
const maxStoredVectors = 64 << 20

// newest is what a store can say about the newest records of a key.
type newest interface {
	Last(ctx context.Context, key store.Key, n int) ([]store.Record, error)
}

// loadVectors returns the stored vectors of texts that a model made. What cannot be read is
// embedded again.
func (f *StoreFacts) loadVectors(ctx context.Context, model string, texts []string) map[string][]float32 {
	found := make(map[string][]float32)
	if len(texts) == 0 || !f.hasVectors(ctx) {
		return found
	}
	for _, text := range texts {
		r, err := f.records.Get(ctx, f.vectors(), vectorID(text))
		var v StoredVector
		if err != nil || json.Unmarshal(r.Data, &v) != nil || v.Model != model {
			continue
		}
		if numbers, err := v.Numbers(); err == nil {
			found[text] = numbers
		}
	}
	return found
}

// saveVectors stores those vectors of facts that were embedded. A failure only means that they
// are embedded again.
func (f *StoreFacts) saveVectors(ctx context.Context, model string, facts []string, vectors map[string][]float32, embedded map[string]bool) {
	var put []store.Record
	size, seen := 0, make(map[string]bool)
	for _, text := range facts {
		if !embedded[text] || seen[text] {
			continue
		}
		seen[text] = true
		data := make([]byte, 0, 4*len(vectors[text]))
		for _, x := range vectors[text] {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
		record, err := json.Marshal(StoredVector{Model: model, Vector: base64.StdEncoding.EncodeToString(data)})
		if err != nil || size+len(record) > maxStoredVectors {
			break
		}
		size += len(record)
		put = append(put, store.Record{ID: vectorID(text), Data: record})
	}
	for batch := range slices.Chunk(put, store.MaxBatch) {
		if f.records.Apply(ctx, store.Change{Key: f.vectors(), Put: batch}) != nil {
			return
		}
	}
	if len(put) > 0 {
		f.dropVectors(ctx, maxStoredVectors/max(1, size/len(put)))
	}
}

// dropVectors deletes the oldest vectors of the tenant, so that at most most of them remain.
func (f *StoreFacts) dropVectors(ctx context.Context, most int) {
	records, ok := f.records.(newest)
	if !ok {
		return
	}
	last, err := records.Last(ctx, f.vectors(), 1)
	if err != nil || len(last) == 0 {
		return
	}
	for through := last[0].Seq - int64(most); through > 0; {
		oldest, err := f.records.Read(ctx, f.vectors(), 0, 100)
		var ids []string
		for _, r := range oldest {
			if r.Seq <= through {
				ids = append(ids, r.ID)
			}
		}
		if err != nil || len(ids) == 0 {
			return
		}
		if _, err := f.records.Delete(ctx, f.vectors(), ids...); err != nil {
			return
		}
	}
}
