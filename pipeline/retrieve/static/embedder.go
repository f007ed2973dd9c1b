package static

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/tokens/ids"
)

// Options are those of [Open].
type Options struct {
	// Table is the path of the safetensors file.
	Table string
	// Tokenizer is the path of the tokenizer.json that the table was made with.
	Tokenizer string
	// Tensor names the matrix of the table. It may be empty if there is only one.
	Tensor string
}

// Embedder embeds texts with a table. It is immutable and safe for concurrent use.
type Embedder struct {
	table  *table
	lister *ids.Lister
	id     string
	work   sync.Pool // of *work
}

// Open reads a table and its tokenizer. The error names the file and what is wrong with it.
func Open(o Options) (*Embedder, error) {
	lister, err := ids.ReadFile(o.Tokenizer)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	t, err := readTable(o.Table, o.Tensor)
	if err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	if most := lister.MaxID(); int(most) >= t.tokens() {
		return nil, fmt.Errorf("table: %s: it has %d tokens, the tokenizer needs %d (take both from the same model)", o.Table, t.tokens(), int(most)+1)
	}
	sum := sha256.Sum256([]byte(t.digest + lister.Digest()))
	e := &Embedder{table: t, lister: lister, id: "static:" + hex.EncodeToString(sum[:8])}
	e.work.New = func() any { return &work{seen: make([]uint32, t.tokens())} }
	return e, nil
}

// Model returns the model. Its ID is made of the contents of both files.
func (e *Embedder) Model(context.Context) (retrieve.Model, error) {
	return retrieve.Model{ID: e.id, Dimension: e.table.dimension}, nil
}

// Bytes returns how much memory the table takes.
func (e *Embedder) Bytes() int {
	return 4 * (len(e.table.vectors) + len(e.table.weights) + len(e.table.rows))
}

// shareTexts is the least number of texts for which another processor is used.
const shareTexts = 64

// Embed returns one vector for each text, of length 1. That of a text without a known token is zero.
func (e *Embedder) Embed(ctx context.Context, _ retrieve.Side, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	shares := max(1, min(runtime.GOMAXPROCS(0), len(texts)/shareTexts))
	errs := make([]error, shares)
	var wait sync.WaitGroup
	for i := range shares {
		from, to := i*len(texts)/shares, (i+1)*len(texts)/shares
		wait.Go(func() { errs[i] = e.share(ctx, texts[from:to], vectors[from:to]) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, &retrieve.EmbedError{Model: e.id, Err: err}
		}
	}
	return vectors, nil
}

// work is the memory for one text.
type work struct {
	ids      []uint32
	distinct []uint32
	seen     []uint32 // how often each token occurs; zero between texts
}

// maxKept is the largest number of tokens for which memory is kept.
const maxKept = 1 << 18

func (e *Embedder) share(ctx context.Context, texts []string, vectors [][]float32) (err error) {
	w := e.work.Get().(*work)
	defer func() {
		if cap(w.ids) <= maxKept {
			e.work.Put(w)
		}
	}()
	all := make([]float32, len(texts)*e.table.dimension)
	for i, text := range texts {
		if w.ids, err = e.lister.Append(ctx, w.ids[:0], text); err != nil {
			return err
		}
		v := all[:e.table.dimension:e.table.dimension]
		all = all[e.table.dimension:]
		e.table.sum(w, v)
		normalize(v)
		vectors[i] = v
	}
	return nil
}

// sum adds the vectors of the tokens of w to v. A token that occurs several times is added once,
// multiplied, and four tokens are added at the same time, which takes half the time.
func (t *table) sum(w *work, v []float32) {
	w.distinct = w.distinct[:0]
	for _, id := range w.ids {
		if w.seen[id] == 0 {
			w.distinct = append(w.distinct, id)
		}
		w.seen[id]++
	}
	ids := w.distinct
	for ; len(ids)%4 != 0; ids = ids[1:] {
		x, factor := t.take(w, ids[0])
		x = x[:len(v)]
		for i := range v {
			v[i] += factor * x[i]
		}
	}
	for ; len(ids) > 0; ids = ids[4:] {
		a, fa := t.take(w, ids[0])
		b, fb := t.take(w, ids[1])
		c, fc := t.take(w, ids[2])
		d, fd := t.take(w, ids[3])
		a, b, c, d = a[:len(v)], b[:len(v)], c[:len(v)], d[:len(v)] // spares the checks below
		for i := range v {
			v[i] += fa*a[i] + fb*b[i] + (fc*c[i] + fd*d[i])
		}
	}
}

// take returns the vector of a token and its factor, and forgets how often it occurs.
func (t *table) take(w *work, id uint32) (vector []float32, factor float32) {
	factor = float32(w.seen[id])
	w.seen[id] = 0
	if t.weights != nil {
		factor *= t.weights[id]
	}
	row := int(id)
	if t.rows != nil {
		row = int(t.rows[id])
	}
	return t.vectors[row*t.dimension:][:t.dimension], factor
}

// normalize gives v the length 1, unless it is zero. The numbers of a table are finite, but their
// sum need not be.
func normalize(v []float32) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsInf(sum, 0) || math.IsNaN(sum) {
		return
	}
	factor := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * factor)
	}
}
