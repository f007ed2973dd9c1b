package retrieve

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
)

// stopWords are the lists of stop words by name.
var stopWords = map[string]func(string) bool{
	"lucene": analysis.LuceneStopWord, "english": analysis.EnglishStopWord, "none": nil,
}

// Complete returns the settings with their defaults. It returns an error that wraps
// [ErrInvalid] if a setting is not valid.
func (s Settings) Complete() (Settings, error) {
	yes := true
	s.Stem, s.SplitIdentifiers = cmp.Or(s.Stem, &yes), cmp.Or(s.SplitIdentifiers, &yes)
	s.StopWords, s.Vectors = cmp.Or(s.StopWords, "lucene"), cmp.Or(s.Vectors, VectorsF32)
	if _, ok := stopWords[s.StopWords]; !ok {
		return s, fmt.Errorf("stop_words %.100q: %w (want lucene, english or none)", s.StopWords, ErrInvalid)
	}
	if s.Vectors != VectorsF32 && s.Vectors != VectorsInt8 {
		return s, fmt.Errorf("vectors %.100q: %w (want f32 or int8)", s.Vectors, ErrInvalid)
	}
	if s.Model != (Model{}) {
		return s, s.Model.Validate()
	}
	return s, nil
}

// Analyzer returns what makes terms of the texts of a collection. The settings must be
// complete.
func (s Settings) Analyzer() *analysis.Analyzer {
	o := analysis.Options{Stop: stopWords[s.StopWords], Stem: *s.Stem, SplitIdentifiers: *s.SplitIdentifiers}
	if o.Stop != nil {
		o.Weak = analysis.EnglishStopWord
	}
	return analysis.New(o)
}

// ValidateDocuments returns an error that names the document unless an index of the model can
// take all of them in one call.
func ValidateDocuments(docs []Document, m Model) error {
	if len(docs) > MaxBatch {
		return fmt.Errorf("%w: %d documents in one call (at most %d)", ErrInvalid, len(docs), MaxBatch)
	}
	seen := make(map[string]bool, len(docs))
	size, chunks, vectors := 0, 0, 0
	for i := range docs {
		d := &docs[i]
		if seen[d.ID] {
			return fmt.Errorf("%w: document %.100q twice in one call", ErrInvalid, d.ID)
		}
		seen[d.ID] = true
		if err := d.validate(m); err != nil {
			return fmt.Errorf("document %.100q: %w", d.ID, err)
		}
		chunks += len(d.Chunks)
		size += d.Bytes()
		for j := range d.Chunks {
			vectors += 4 * len(d.Chunks[j].Vector)
		}
	}
	for _, l := range []struct {
		what       string
		have, most int
	}{{"chunks", chunks, MaxChunks}, {"bytes of text", size, MaxBatchBytes}, {"bytes of vectors", vectors, MaxBatchVectorBytes}} {
		if l.have > l.most {
			return fmt.Errorf("%w: %d %s in one call (at most %d)", ErrInvalid, l.have, l.what, l.most)
		}
	}
	return nil
}

// Bytes is the size of all texts of a document.
func (d *Document) Bytes() int {
	n := len(d.ID) + len(d.Path) + len(d.Root) + len(d.Hash) + len(d.Title)
	for k, v := range d.Meta {
		n += len(k) + len(v)
	}
	for i := range d.Chunks {
		c := &d.Chunks[i]
		n += len(c.Text) + len(c.Context)
		for _, h := range c.Headings {
			n += len(h)
		}
	}
	return n
}

func (d *Document) validate(m Model) error {
	if err := checkText("id", d.ID, MaxID, true); err != nil {
		return err
	}
	if err := checkText("path", d.Path, MaxID, false); err != nil {
		return err
	}
	if err := checkText("root", d.Root, MaxID, false); err != nil {
		return err
	}
	if err := checkText("hash", d.Hash, MaxName, false); err != nil {
		return err
	}
	if d.Size < 0 {
		return fmt.Errorf("%w: size %d", ErrInvalid, d.Size)
	}
	for i := range d.Chunks {
		if err := d.validateChunk(i, m); err != nil {
			return fmt.Errorf("chunk %d: %w", i+1, err)
		}
	}
	return nil
}

func (d *Document) validateChunk(i int, m Model) error {
	c := &d.Chunks[i]
	for _, n := range []int{c.Page, c.PageEnd, c.Lines.From, c.Lines.To} {
		if n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("%w: page or line %d", ErrInvalid, n)
		}
	}
	if c.Parent != 0 && (c.Parent < 0 || c.Parent > len(d.Chunks) || c.Parent == i+1 || d.Chunks[c.Parent-1].Parent != 0) {
		return fmt.Errorf("%w: parent %d (want another chunk of the document, without a parent)", ErrInvalid, c.Parent)
	}
	if c.Vector == nil {
		return nil
	}
	if m == (Model{}) {
		return fmt.Errorf("%w: the collection has no model for vectors (set one)", ErrModel)
	}
	if len(c.Vector) != m.Dimension {
		return fmt.Errorf("%w: a vector of %d dimensions, the collection's model is %s", ErrModel, len(c.Vector), m)
	}
	return m.Check(1, [][]float32{c.Vector})
}

// Complete returns the query with its defaults. It returns an error that wraps [ErrInvalid] if
// it is not valid.
func (q Query) Complete() (Query, error) {
	switch {
	case q.By == "" && q.Vector == nil:
		q.By = ByWords
	case q.By == "" && q.Text == "":
		q.By = ByVectors
	case q.By == "":
		q.By = ByHybrid
	}
	if !slices.Contains([]By{ByWords, ByVectors, ByHybrid}, q.By) {
		return q, fmt.Errorf("query: by %.100q: %w (want words, vectors or hybrid)", q.By, ErrInvalid)
	}
	if q.By != ByWords && q.Vector == nil {
		return q, fmt.Errorf("query: by %s: %w: no vector", q.By, ErrInvalid)
	}
	k1, b, weight, neighbours := DefaultK1, DefaultB, DefaultVectorWeight, DefaultNeighbours
	q.K1, q.B, q.VectorWeight, q.Neighbours = cmp.Or(q.K1, &k1), cmp.Or(q.B, &b), cmp.Or(q.VectorWeight, &weight), cmp.Or(q.Neighbours, &neighbours)
	q.K, q.Fusion = cmp.Or(q.K, DefaultK), cmp.Or(q.Fusion, FusionWeighted)
	q.Depth = cmp.Or(q.Depth, max(q.K, DefaultDepth))
	for _, l := range []struct {
		what              string
		have, least, most float64
	}{{"k", float64(q.K), 1, MaxK}, {"depth", float64(q.Depth), 1, MaxK}, {"k1", *q.K1, 0, 100}, {"b", *q.B, 0, 1}, {"vector_weight", *q.VectorWeight, 0, 1}, {"neighbours", *q.Neighbours, 0, 1}} {
		if !(l.have >= l.least && l.have <= l.most) {
			return q, fmt.Errorf("query: %s %v: %w (want %v to %v)", l.what, l.have, ErrInvalid, l.least, l.most)
		}
	}
	for i := range q.Filter {
		if err := q.Filter[i].Validate(); err != nil {
			return q, err
		}
	}
	o := FuseOptions{Fusion: q.Fusion}
	return q, o.Validate(2)
}
