// Package plugin finds documents whose vectors are near to that of a query. A table with one vector
// for each token makes the vectors, so that nothing has to be asked.
package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/plugins/examples/bm25-retriever/plugin/corpus"
	"github.com/anchor-host/anchor-host/plugins/examples/internal/dense"
)

// Settings configure the plugin. They take effect only once, when it starts.
type Settings struct {
	// Path is the folder to index, as the guest sees it. Default "/docs".
	Path string `json:"path"`
	// Table and Tokenizer are the files of the model, as the guest sees them. Defaults
	// "/model/table.safetensors" and "/model/tokenizer.json".
	Table     string `json:"table"`
	Tokenizer string `json:"tokenizer"`
	// Include and Exclude are patterns of paths below Path, see corpus.Options. By default texts
	// and JSON Lines are included, and files of tests and of other people's code are excluded.
	Include []string `json:"include"`
	Exclude []string `json:"exclude"`
	// ChunkChars is the length at which texts are cut. Default 1500.
	ChunkChars int `json:"chunk_chars"`
}

// Defaults sets the values that the settings leave out.
func (s *Settings) Defaults() {
	*s = Settings{
		Path: "/docs", Table: "/model/table.safetensors", Tokenizer: "/model/tokenizer.json",
		Include:    []string{"**/*.md", "**/*.markdown", "**/*.txt", "**/*.rst", "**/*.jsonl"},
		Exclude:    []string{"**/testdata/**", "**/vendor/**", "**/node_modules/**"},
		ChunkChars: corpus.DefaultChunkChars,
	}
}

// Validate refuses values out of their range.
func (s *Settings) Validate() error {
	switch {
	case s.Path == "" || s.Table == "" || s.Tokenizer == "":
		return errors.New("path, table and tokenizer must not be empty")
	case s.ChunkChars < 100:
		return fmt.Errorf("chunk_chars %d: below 100", s.ChunkChars)
	}
	return nil
}

// Retriever answers queries from the vectors of documents. It is immutable.
type Retriever struct {
	embedder retrieve.Embedder
	docs     []corpus.Document
	vectors  [][]float32 // of length 1; nil for a text without a known word
	stats    corpus.Stats
}

// batch is the number of texts that are embedded together. It bounds the memory for them.
const batch = 256

// Open reads the files of fsys, which is the folder that the settings name, and embeds them.
func Open(fsys fs.FS, e retrieve.Embedder, s *Settings) (*Retriever, error) {
	r := &Retriever{embedder: e}
	var err error
	r.stats, err = corpus.Read(fsys, corpus.Options{Include: s.Include, Exclude: s.Exclude, ChunkChars: s.ChunkChars}, func(d corpus.Document) {
		r.docs = append(r.docs, d)
	})
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", s.Path, err)
	}
	for docs := range slices.Chunk(r.docs, batch) {
		texts := make([]string, len(docs))
		for i := range docs {
			texts[i] = content(&docs[i])
		}
		vectors, err := r.embed(retrieve.SideDocument, texts)
		if err != nil {
			return nil, fmt.Errorf("index %s: %w", s.Path, err)
		}
		r.vectors = append(r.vectors, vectors...)
	}
	return r, nil
}

// embed returns the vectors of texts, of length 1.
func (r *Retriever) embed(side retrieve.Side, texts []string) ([][]float32, error) {
	vectors, err := retrieve.Embed(context.Background(), r.embedder, side, texts)
	for i := range vectors {
		vectors[i] = dense.Scaled(vectors[i])
	}
	return vectors, err
}

// Stats counts what was indexed.
func (r *Retriever) Stats() corpus.Stats { return r.stats }

// Retrieve returns the documents that are nearest to the query, at most topK; 0 means 10. Scores
// are cosines. Documents that are not near at all, with a cosine of 0 or less, are left out.
func (r *Retriever) Retrieve(query string, topK int) ([]abi.NewItem, error) {
	topK = cmp.Or(topK, 10)
	asked, err := r.embed(retrieve.SideQuery, []string{query})
	if err != nil || asked[0] == nil {
		return nil, err
	}
	type hit struct {
		doc    int
		cosine float64
	}
	var hits []hit
	for i, v := range r.vectors {
		if cosine := dense.Dot(v, asked[0]); cosine > 0 {
			hits = append(hits, hit{i, cosine})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.cosine, a.cosine) })
	hits = hits[:min(topK, len(hits))]
	items := make([]abi.NewItem, len(hits))
	for i, h := range hits {
		d := &r.docs[h.doc]
		items[i] = abi.NewItem{Key: d.ID, Content: content(d), Score: min(1, h.cosine), Metadata: metadata(d)}
	}
	return items, nil
}

// content is the text of a document after its title.
func content(d *corpus.Document) string {
	if d.Title == "" {
		return d.Text
	}
	return strings.TrimSpace(d.Title + "\n\n" + d.Text)
}

func metadata(d *corpus.Document) abi.Metadata {
	m := abi.Metadata{"retrieval_method": "vectors", "doc_id": d.ID}
	for key, value := range map[string]string{"title": d.Title, "path": d.Path} {
		if value != "" {
			m[key] = value
		}
	}
	return m
}
