package chunk

import (
	"bytes"
	"context"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Document cuts a document into chunks. The meter pays for them: it is that of the parser. Besides
// that, only Semantic can fail once the options are valid: when its embedder does, or when ctx ends.
func Document(ctx context.Context, m *meter.Meter, d *parse.Document, o Options) ([]retrieve.Chunk, error) {
	o, err := o.Complete()
	if err != nil {
		return nil, err
	}
	c := cutter{Options: o, m: m}
	chunks, err := c.document(ctx, d)
	if m.Err() != nil {
		return nil, m.Err()
	}
	return chunks, err
}

func (o *cutter) document(ctx context.Context, d *parse.Document) ([]retrieve.Chunk, error) {
	by := o.By
	if by == Auto {
		by = Recursive
		if d.Code {
			by = Structure
		}
	}
	never := func([]string, int) bool { return false }
	list := o.pieces(d)
	switch by {
	case Tokens:
		return o.pack(o.cutAll(list, atWord, atWord), never), nil
	case Sentences:
		return o.pack(o.cutAll(list, atSentence, atSentence), never), nil
	case Headings:
		return o.pack(o.cutAll(list, atBlank, -1), newSection), nil
	case Structure:
		return o.pack(o.declarations(list), newSection), nil
	case Semantic:
		var cut []piece
		for p := range o.cutAll(list, atSentence, atSentence) {
			cut = meter.Append(o.m, cut, p)
		}
		far, err := o.gaps(ctx, cut)
		if err != nil {
			return nil, err
		}
		return o.pack(slices.Values(cut), func(_ []string, i int) bool { return far[i] }), nil
	case ParentChild:
		return o.parents(list), nil
	}
	return o.pack(o.cutAll(list, atBlank, -1), nil), nil
}

// newSection breaks where other headings are above.
func newSection(opens []string, _ int) bool { return len(opens) > 0 }

// cutAll cuts pieces that are too large. A place in always cuts all texts at that place.
func (o *cutter) cutAll(list iter.Seq[piece], place, always int) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for p := range list {
			p.tokens = o.Count(p.text)
			if whole := always < 0 || p.whole; whole && p.tokens <= o.Size {
				if !yield(p) { // most are small: this costs no iterator
					return
				}
				continue
			}
			for q := range o.cutOne(p, place, always) {
				if !yield(q) {
					return
				}
			}
		}
	}
}

func (o *cutter) cutOne(p piece, place, always int) iter.Seq[piece] {
	if always >= 0 && !p.whole {
		return o.counted(&p, o.parts(&p, o.splitAll(p.text, always), ""))
	}
	return o.cut(&p, place)
}

// open is the chunk that is being filled.
type open struct {
	b      []byte // the memory of the chunk before
	chunk  retrieve.Chunk
	tokens int
	pieces int
	exact  bool
}

// pack fills chunks with pieces. breaks says before which piece a chunk ends though it has room;
// nil is the rule of Recursive.
func (o *cutter) pack(list iter.Seq[piece], breaks func(opens []string, i int) bool) []retrieve.Chunk {
	var chunks []retrieve.Chunk
	var c open
	var before piece
	flush := func() {
		if text := bytes.TrimRight(c.b, " \t\n"); len(bytes.TrimSpace(text)) > 0 && o.pay(&c, len(text)) {
			c.chunk.Text = string(text)
			chunks = meter.Append(o.m, chunks, c.chunk)
		}
		c = open{b: c.b[:0]}
	}
	i := 0
	for p := range list {
		if !o.m.Work(32 + len(p.text)) {
			return nil
		}
		if c.pieces > 0 {
			ends := c.tokens+p.tokens > o.Size || p.alone || before.alone
			if !ends && breaks != nil {
				ends = breaks(p.opens, i)
			} else if !ends {
				ends = len(p.opens) > 0 && c.tokens >= o.Size/2
			}
			if ends {
				last, exact := "", c.exact
				if o.Overlap > 0 {
					last = string(c.b)
				}
				flush()
				if o.Overlap > 0 && !p.alone && !before.alone && p.tokens+o.Overlap <= o.Size && len(p.opens) == 0 {
					c.repeat(o, last, &before, exact)
				}
			}
		}
		c.add(&p)
		before = p
		i++
	}
	flush()
	return chunks
}

// pay draws the memory of a chunk of n bytes, with the copies of its headings that an index keeps.
func (o *cutter) pay(c *open, n int) bool {
	for _, h := range c.chunk.Headings {
		n += len(h)
	}
	return o.m.Take(n)
}

// repeat begins a chunk with the end of the one before.
func (c *open) repeat(o *cutter, last string, before *piece, exact bool) {
	at := o.tail(last, o.Overlap)
	if at >= len(last) {
		return
	}
	text := last[at:]
	c.b = append(c.b, text...)
	c.tokens, c.pieces = o.Count(text), 1
	c.exact = exact
	c.chunk.Headings, c.chunk.Page, c.chunk.Lines = before.headings, before.page, before.lines
	if exact {
		c.chunk.Lines.From = max(1, before.lines.To-strings.Count(strings.TrimRight(text, "\n"), "\n"))
	}
}

func (c *open) add(p *piece) {
	if c.pieces == 0 {
		c.chunk.Headings, c.chunk.Page, c.chunk.Lines = slices.Clip(p.headings), p.page, p.lines
		c.exact = p.exact
		c.b = append(c.b, p.text...)
	} else {
		c.b = append(c.b, p.glue...)
		for _, h := range p.opens {
			c.b = append(append(c.b, h...), '\n')
		}
		c.b = append(c.b, p.text...)
		c.chunk.Lines.To = max(c.chunk.Lines.To, p.lines.To)
		if p.page > max(c.chunk.Page, c.chunk.PageEnd) {
			c.chunk.PageEnd = p.page
		}
		c.exact = c.exact && p.exact && len(p.opens) == 0
	}
	c.tokens += p.tokens
	c.pieces++
}

// parents makes a chunk of each section, and smaller chunks in it that are searched.
func (o *cutter) parents(list iter.Seq[piece]) []retrieve.Chunk {
	large := *o
	large.Size, large.Overlap = o.Parent, 0
	var chunks []retrieve.Chunk
	for _, parent := range large.pack(large.cutAll(list, atBlank, -1), newSection) {
		chunks = meter.Append(o.m, chunks, parent)
		if o.Count(parent.Text) <= o.Size {
			continue
		}
		p := piece{text: parent.Text, lines: parent.Lines, exact: parent.Lines.To-parent.Lines.From == strings.Count(parent.Text, "\n")}
		number := len(chunks)
		for q := range o.parts(&p, o.split(parent.Text, 0, atBlank, o.Size), "") {
			if text := strings.TrimSpace(q.text); text != "" {
				chunks = meter.Append(o.m, chunks, retrieve.Chunk{Text: text, Headings: parent.Headings, Page: parent.Page, PageEnd: parent.PageEnd, Lines: q.lines, Parent: number})
			}
		}
	}
	return chunks
}

// embedBatch is how many sentences go to the embedder at once.
const embedBatch = 256

// gaps finds the pieces before which the meaning changes most.
func (o *cutter) gaps(ctx context.Context, list []piece) ([]bool, error) {
	far := make([]bool, len(list))
	if len(list) < 3 {
		return far, nil
	}
	if !o.m.Take(32 * len(list)) {
		return nil, o.m.Err()
	}
	distances := make([]float64, len(list))
	var last []float32
	for from := 0; from < len(list); from += embedBatch {
		texts := make([]string, 0, embedBatch)
		for i := from; i < min(len(list), from+embedBatch); i++ {
			texts = append(texts, list[i].text)
		}
		var vectors [][]float32
		err := o.m.Wait(func() (err error) {
			vectors, err = retrieve.Embed(ctx, o.Embedder, retrieve.SideDocument, texts)
			return err
		})
		if err != nil {
			return nil, err
		}
		for i, v := range vectors {
			if last != nil {
				distances[from+i] = 1 - cosine(last, v)
			}
			last = v
		}
	}
	sorted := slices.Sorted(slices.Values(distances[1:]))
	least := sorted[max(0, len(sorted)-max(1, int(math.Round(o.Cuts*float64(len(sorted))))))]
	for i := 1; i < len(list); i++ {
		far[i] = distances[i] >= least && distances[i] > 0
	}
	return far, nil
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}
