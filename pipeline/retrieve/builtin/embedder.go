package builtin

import (
	"context"
	_ "embed"
	"encoding/hex"
	"math"
	"runtime"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/words"
)

//go:embed table.bin
var data string

var embedder = sync.OnceValue(func() retrieve.Embedder {
	t, err := open(data)
	if err != nil {
		panic(err) // a test opens it
	}
	return newEmbedder(t)
})

// Embedder returns the embedder of the program. It is safe for concurrent use. A vector has the length 1, or
// is zero for a text without a known word.
func Embedder() retrieve.Embedder { return embedder() }

// vectorizer is the [retrieve.Embedder] of a table.
type vectorizer struct {
	table *table
	model retrieve.Model
	work  chan *work // what was learned: a sync.Pool loses it while a large ingestion collects garbage
}

func newEmbedder(t *table) *vectorizer {
	return &vectorizer{table: t, model: retrieve.Model{ID: "builtin:" + hex.EncodeToString([]byte(t.digest)), Dimension: t.dimension}, work: make(chan *work, maxKept)}
}

func (e *vectorizer) Model(context.Context) (retrieve.Model, error) { return e.model, nil }

// shareTexts is the least number of texts for which another processor is used.
const shareTexts = 64

func (e *vectorizer) Embed(ctx context.Context, _ retrieve.Side, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	shares := max(1, min(runtime.GOMAXPROCS(0), len(texts)/shareTexts))
	var wait sync.WaitGroup
	for i := range shares {
		from, to := i*len(texts)/shares, (i+1)*len(texts)/shares
		wait.Go(func() { e.share(ctx, texts[from:to], vectors[from:to]) })
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, &retrieve.EmbedError{Model: e.model.ID, Err: err}
	}
	return vectors, nil
}

func (e *vectorizer) share(ctx context.Context, texts []string, vectors [][]float32) {
	w := e.take()
	defer e.keep(w)
	all := make([]float32, len(texts)*e.table.dimension)
	for i, text := range texts {
		v := all[i*e.table.dimension:][:e.table.dimension:e.table.dimension]
		if !e.embed(ctx, w, text, v) {
			return
		}
		vectors[i] = v
	}
}

// take returns memory for a share.
func (e *vectorizer) take() *work {
	select {
	case w := <-e.work:
		return w
	default:
		return &work{recent: new(words.Recent), known: make(map[string]int32)}
	}
}

// keep keeps the memory for another share, unless there is enough. A text is not kept: it may be a piece of a large file.
func (e *vectorizer) keep(w *work) {
	w.scanner.Reset("")
	select {
	case e.work <- w:
	default:
	}
}

// work is the memory for one text, and the vectors of the words that were met before.
type work struct {
	scanner  words.Scanner
	recent   *words.Recent    // of known
	known    map[string]int32 // the number of a word, or unknown
	vectors  []float32        // of the words
	counts   []int32          // how often each is in the text; zero between texts
	distinct []int32          // the words of the text
}

const (
	unknown = -1 // the number of a word that is not counted
	// maxKnown is how many words are remembered when a text begins, 8 MiB of vectors, and how many it adds at most.
	maxKnown = 1 << 14
	// maxKept is how many shares have memory that is kept.
	maxKept = 2
	// checkEvery is how many words are read between two looks at the context.
	checkEvery = 1 << 12
)

// embed adds the vectors of a text's words to v. It returns false if ctx ended. Where the words of a text are
// added does not depend on what was known before it, because sums are rounded.
func (e *vectorizer) embed(ctx context.Context, w *work, text string, v []float32) bool {
	w.forget()
	w.scanner.Reset(text)
	for n := 1; w.scanner.Next(); n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			clear(w.counts)
			w.distinct = w.distinct[:0]
			return false
		}
		number := e.number(w, w.scanner.Word())
		if number == unknown {
			continue
		}
		if w.counts[number] == 0 {
			w.distinct = append(w.distinct, number)
		}
		w.counts[number]++
		if len(w.distinct) == maxKnown {
			e.add(w, v)
			w.forget()
		}
	}
	e.add(w, v)
	normalize(v)
	return ctx.Err() == nil
}

// forget forgets all words if there are many.
func (w *work) forget() {
	if len(w.counts) >= maxKnown {
		*w.recent, w.vectors, w.counts = words.Recent{}, w.vectors[:0], w.counts[:0]
		clear(w.known)
	}
}

// number returns the number of a word.
func (e *vectorizer) number(w *work, word []byte) int32 {
	recent := w.recent.Find(word)
	if recent != nil && recent.Known {
		return int32(recent.Number)
	}
	number, ok := w.known[string(word)]
	if !ok {
		number = e.learn(w, word)
	}
	if recent != nil {
		recent.Number, recent.Known = uint32(number), true
	}
	return number
}

// learn remembers a word. Those that say little have no vector.
func (e *vectorizer) learn(w *work, word []byte) int32 {
	text, number := string(word), int32(unknown)
	if !analysis.EnglishStopWord(text) {
		number = int32(len(w.counts))
		w.counts = append(w.counts, 0)
		at := len(w.vectors)
		w.vectors = append(w.vectors, make([]float32, e.table.dimension)...)
		e.table.each(word, func(token int) { e.table.add(w.vectors[at:], token) })
	}
	w.known[text] = number
	return number
}

// add adds the vectors of the words of a text, four at a time, and forgets their counts.
func (e *vectorizer) add(w *work, v []float32) {
	take := func(number int32) (vector []float32, factor float32) {
		factor = float32(math.Sqrt(float64(w.counts[number])))
		w.counts[number] = 0
		return w.vectors[int(number)*len(v):][:len(v)], factor
	}
	list := w.distinct
	for ; len(list)%4 != 0; list = list[1:] {
		x, f := take(list[0])
		for i := range v {
			v[i] += float32(f * x[i])
		}
	}
	for ; len(list) > 0; list = list[4:] {
		a, fa := take(list[0])
		b, fb := take(list[1])
		c, fc := take(list[2])
		d, fd := take(list[3])
		for i := range v {
			v[i] += (float32(fa*a[i]) + float32(fb*b[i])) + (float32(fc*c[i]) + float32(fd*d[i]))
		}
	}
	w.distinct = w.distinct[:0]
}

// normalize gives v the length 1, unless it is zero.
func normalize(v []float32) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return
	}
	factor := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * factor)
	}
}
