// Package chunk cuts documents into the parts that an index finds.
//
//	chunks, err := chunk.Document(ctx, m, &doc, chunk.Options{By: chunk.Recursive, Size: 256})
//
// Every chunk knows the headings above it, its page and its lines. Tables stay whole, and if one
// is too large for that, every part of it has the header.
package chunk

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// By names a way to cut.
type By string

// The ways to cut.
const (
	// Auto cuts source code by Structure, and all else by Recursive.
	Auto By = "auto"
	// Tokens cuts after Size tokens, wherever that is.
	Tokens By = "tokens"
	// Recursive fills chunks with whole paragraphs, and cuts a paragraph that is too large at
	// its lines, its sentences or its words. It begins a chunk at a heading once the chunk
	// before it is half full.
	Recursive By = "recursive"
	// Sentences fills chunks with whole sentences.
	Sentences By = "sentences"
	// Headings makes a chunk of each section, and cuts one that is too large like Recursive.
	Headings By = "headings"
	// Structure cuts source code between its declarations: at blank lines before lines of the
	// lowest indentation. Small neighbours share a chunk, and the parts of a large one have
	// its first line as heading.
	Structure By = "code"
	// Semantic cuts between sentences whose vectors are far apart. It needs an embedder.
	Semantic By = "semantic"
	// ParentChild finds small chunks, and returns the section around them.
	ParentChild By = "parent-child"
)

// All returns the names of all ways to cut.
func All() []By {
	return []By{Auto, Tokens, Recursive, Sentences, Headings, Structure, Semantic, ParentChild}
}

// Options say how documents are cut. The zero value has the defaults.
type Options struct {
	// By is the way to cut. Empty means Auto.
	By By
	// Size is the most tokens in a chunk. 0 means 256.
	Size int
	// Overlap is how many tokens from the end of a chunk the next one repeats. It must be less than
	// Size. 0 means none.
	Overlap int
	// Parent is the most tokens in a parent of ParentChild. 0 means four times Size.
	Parent int
	// Count counts tokens. nil means one token for each four bytes, which is close for
	// English and much faster than any tokenizer.
	Count func(text string) int
	// Embedder is needed by Semantic alone.
	Embedder retrieve.Embedder
	// Cuts is the share of the gaps between sentences at which Semantic cuts: the widest
	// ones. 0 means 0.1.
	Cuts float64
}

// DefaultSize is the default of [Options.Size].
const DefaultSize = 256

// wholeTables is how many times Size a table may have before it is cut.
const wholeTables = 8

// Complete returns the options with their defaults, or an error that says what is wrong.
func (o Options) Complete() (Options, error) {
	o.By, o.Size, o.Cuts = cmp.Or(o.By, Auto), cmp.Or(o.Size, DefaultSize), cmp.Or(o.Cuts, 0.1)
	o.Parent = cmp.Or(o.Parent, 4*o.Size)
	if o.Count == nil {
		o.Count = func(text string) int { return (len(text) + 3) / 4 }
	}
	switch {
	case !slices.Contains(All(), o.By):
		return o, fmt.Errorf("chunker %.40q: %w (want one of %v)", o.By, decode.ErrInvalid, All())
	case o.Size < 8 || o.Size > 1<<20:
		return o, fmt.Errorf("chunk size %d: %w (want 8 to %d tokens)", o.Size, decode.ErrInvalid, 1<<20)
	case o.Overlap < 0 || o.Overlap >= o.Size:
		return o, fmt.Errorf("chunk overlap %d: %w (want 0 to less than the size, %d)", o.Overlap, decode.ErrInvalid, o.Size)
	case o.Parent < o.Size || o.Parent > 1<<24:
		return o, fmt.Errorf("parent size %d: %w (want at least the size, %d)", o.Parent, decode.ErrInvalid, o.Size)
	case !(o.Cuts > 0 && o.Cuts <= 1):
		return o, fmt.Errorf("semantic cuts %v: %w (want above 0, to 1)", o.Cuts, decode.ErrInvalid)
	case o.By == Semantic && o.Embedder == nil:
		return o, fmt.Errorf("chunker semantic: %w: it needs an embedder (name one, or choose recursive)", decode.ErrInvalid)
	}
	return o, nil
}

// Name identifies the options: documents that were cut with options of another name are cut
// again.
func (o Options) Name() string {
	return fmt.Sprintf("%s/%d/%d/%d/%v", o.By, o.Size, o.Overlap, o.Parent, o.Cuts)
}

// cutter is the work on one document. Pieces go through it one by one, because there may be one for
// each word.
type cutter struct {
	Options
	m *meter.Meter
}
