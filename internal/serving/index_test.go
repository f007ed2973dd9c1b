package serving_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/internal/serving"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
)

// ones makes the same vector of every text.
type ones struct{ model retrieve.Model }

func (o ones) Model(context.Context) (retrieve.Model, error) { return o.model, nil }

func (o ones) Embed(_ context.Context, _ retrieve.Side, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i := range out {
		out[i] = make([]float32, o.model.Dimension)
		out[i][0] = 1
	}
	return out, nil
}

// A search of a guest that does not say how goes by what the collection has, an empty collection has
// no hits, and what cannot be searched has a word and a message without the tenant.
func TestSearch(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), sqlite.Options{Sync: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	index, model := s.Index(), retrieve.Model{ID: "m", Dimension: 2}
	for name, set := range map[string]retrieve.Settings{"plain": {}, "vectors": {Model: model}, "other": {Model: retrieve.Model{ID: "n", Dimension: 2}}, "empty": {}} {
		c := retrieve.Collection{Tenant: "secret", Name: name}
		if err := index.Create(t.Context(), c, set); err != nil {
			t.Fatal(err)
		}
		if name == "empty" {
			continue
		}
		near := retrieve.Chunk{Text: "near"}
		if set.Model != (retrieve.Model{}) {
			near.Vector = []float32{1, 0}
		}
		if err := index.Upsert(t.Context(), c, retrieve.Document{ID: "word", Chunks: []retrieve.Chunk{{Text: "fox"}}}, retrieve.Document{ID: "near", Chunks: []retrieve.Chunk{near}}); err != nil {
			t.Fatal(err)
		}
	}
	x := &serving.Index{Of: func(string) retrieve.Embedder { return ones{model} }, Open: func(context.Context) (retrieve.Index, error) { return index, nil }}
	for _, c := range []struct {
		collection string
		by         services.SearchBy
		vector     []float32
		hits       int
		word       services.Word
	}{
		{"plain", "", nil, 1, ""},
		{"vectors", "", nil, 2, ""}, // one by its vector
		{"other", "", nil, 1, ""},
		{"empty", services.SearchByVectors, nil, 0, ""},
		{"plain", services.SearchByVectors, nil, 0, services.Refused},
		{"other", services.SearchByHybrid, nil, 0, services.Refused},
		{"vectors", "", []float32{1}, 0, services.Refused},
		{"none", "", nil, 0, services.NotFound},
	} {
		hits, err := x.Search(t.Context(), service.Search{Tenant: "secret", Vector: c.vector, SearchRequest: services.SearchRequest{Collection: c.collection, Text: "fox", By: c.by, K: 9}})
		var told *service.Error
		switch {
		case c.word == "" && (err != nil || len(hits) != c.hits):
			t.Errorf("%+v: %d hits, error %v", c, len(hits), err)
		case c.word != "" && (!errors.As(err, &told) || told.Word != c.word || strings.Contains(told.Message, "secret") || c.word == services.Refused && told.Message == ""):
			t.Errorf("%+v: %v, message %q", c, err, told.Message)
		}
	}
}
