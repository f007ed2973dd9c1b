package chunk

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Document cuts a document into chunks. Only Semantic can fail once the options are valid: when
// its embedder does, or when ctx ends.
func Document(ctx context.Context, d *parse.Document, o Options) ([]retrieve.Chunk, error) {
	o, err := o.Complete()
	if err != nil {
		return nil, err
	}
	by := o.By
	if by == Auto {
		by = Recursive
		if d.Code {
			by = Structure
		}
	}
	list := pieces(d)
	switch by {
	case Tokens:
		return o.pack(o.cutAll(list, atWord, atWord), func(*piece, int) bool { return false }), nil
	case Sentences:
		return o.pack(o.cutAll(list, atSentence, atSentence), func(*piece, int) bool { return false }), nil
	case Headings:
		return o.pack(o.cutAll(list, atBlank, -1), newSection), nil
	case Structure:
		return o.pack(o.declarations(list), newSection), nil
	case Semantic:
		list = o.cutAll(list, atSentence, atSentence)
		far, err := o.gaps(ctx, list)
		if err != nil {
			return nil, err
		}
		return o.pack(list, func(_ *piece, i int) bool { return far[i] }), nil
	case ParentChild:
		return o.parents(list), nil
	}
	return o.pack(o.cutAll(list, atBlank, -1), nil), nil
}

// newSection breaks where other headings are above.
func newSection(p *piece, _ int) bool { return len(p.opens) > 0 }

// cutAll cuts pieces that are too large. A place in always cuts all texts at that place.
func (o *Options) cutAll(list []piece, place, always int) []piece {
	cut := make([]piece, 0, len(list))
	for i := range list {
		p := &list[i]
		if always < 0 || p.whole {
			cut = append(cut, o.cut(p, place)...)
			continue
		}
		var spans []span
		for pos := 0; pos < len(p.text); {
			end := pos + nextCut(p.text[pos:], always)
			spans = o.appendSplit(spans, p.text[pos:end], pos, always, o.Size)
			pos = end
		}
		first := len(cut)
		cut = append(cut, p.parts(spans, "")...)
		for k := first; k < len(cut); k++ {
			cut[k].tokens = o.Count(cut[k].text)
		}
		if first < len(cut) {
			cut[first].glue = p.glue
		}
	}
	return cut
}

// open is the chunk that is being filled.
type open struct {
	b      strings.Builder
	chunk  retrieve.Chunk
	tokens int
	pieces int
	exact  bool
}

// pack fills chunks with pieces. breaks says before which piece a chunk ends though it has room;
// nil is the rule of Recursive.
func (o *Options) pack(list []piece, breaks func(p *piece, i int) bool) []retrieve.Chunk {
	var chunks []retrieve.Chunk
	var c open
	var before *piece
	flush := func() {
		if text := strings.TrimRight(c.b.String(), " \t\n"); strings.TrimSpace(text) != "" {
			c.chunk.Text = text
			chunks = append(chunks, c.chunk)
		}
		c = open{}
	}
	for i := range list {
		p := &list[i]
		if c.pieces > 0 {
			ends := c.tokens+p.tokens > o.Size || p.alone || before.alone
			if !ends && breaks != nil {
				ends = breaks(p, i)
			} else if !ends {
				ends = len(p.opens) > 0 && c.tokens >= o.Size/2
			}
			if ends {
				last, exact := c.b.String(), c.exact
				flush()
				if o.Overlap > 0 && !p.alone && !before.alone && p.tokens+o.Overlap <= o.Size && len(p.opens) == 0 {
					c.repeat(o, last, before, exact)
				}
			}
		}
		c.add(p)
		before = p
	}
	flush()
	return chunks
}

// repeat begins a chunk with the end of the one before.
func (c *open) repeat(o *Options, last string, before *piece, exact bool) {
	at := o.tail(last, o.Overlap)
	if at >= len(last) {
		return
	}
	text := last[at:]
	c.b.WriteString(text)
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
		c.b.WriteString(p.text)
	} else {
		c.b.WriteString(p.glue)
		for _, h := range p.opens {
			c.b.WriteString(h + "\n")
		}
		c.b.WriteString(p.text)
		c.chunk.Lines.To = max(c.chunk.Lines.To, p.lines.To)
		c.exact = c.exact && p.exact && len(p.opens) == 0
	}
	c.tokens += p.tokens
	c.pieces++
}

// parents makes a chunk of each section, and smaller chunks in it that are searched.
func (o *Options) parents(list []piece) []retrieve.Chunk {
	large := *o
	large.Size, large.Overlap = o.Parent, 0
	var chunks []retrieve.Chunk
	for _, parent := range large.pack(large.cutAll(list, atBlank, -1), newSection) {
		spans := o.split(parent.Text, atBlank, o.Size)
		chunks = append(chunks, parent)
		if len(spans) < 2 {
			continue
		}
		p := piece{text: parent.Text, lines: parent.Lines, exact: parent.Lines.To-parent.Lines.From == strings.Count(parent.Text, "\n")}
		number := len(chunks)
		for _, q := range p.parts(spans, "") {
			if text := strings.TrimSpace(q.text); text != "" {
				chunks = append(chunks, retrieve.Chunk{Text: text, Headings: parent.Headings, Page: parent.Page, Lines: q.lines, Parent: number})
			}
		}
	}
	return chunks
}

// embedBatch is how many sentences go to the embedder at once.
const embedBatch = 256

// gaps finds the pieces before which the meaning changes most.
func (o *Options) gaps(ctx context.Context, list []piece) ([]bool, error) {
	far := make([]bool, len(list))
	if len(list) < 3 {
		return far, nil
	}
	distances := make([]float64, len(list))
	var last []float32
	for from := 0; from < len(list); from += embedBatch {
		texts := make([]string, 0, embedBatch)
		for i := from; i < min(len(list), from+embedBatch); i++ {
			texts = append(texts, list[i].text)
		}
		vectors, err := retrieve.Embed(ctx, o.Embedder, retrieve.SideDocument, texts)
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
