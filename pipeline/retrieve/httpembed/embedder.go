package httpembed

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/anchor-host/anchor-host/internal/apiclient"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Embedder embeds texts with a server. It is safe for concurrent use.
type Embedder struct {
	o              Options
	request, shown string
	client         *apiclient.Client
	cache          *cache

	// most is how many texts are in a request. It starts with Options.Batch, and is halved when the
	// server does not answer in time.
	most atomic.Int32

	learning chan struct{} // holds a value while the dimension is asked for
	mu       sync.Mutex
	learned  retrieve.Model // without a dimension until that is known
}

// New returns an embedder. It sends nothing. The error says which option is not valid.
func New(o Options) (*Embedder, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	header, secrets, err := o.header()
	if err != nil {
		return nil, err
	}
	e := &Embedder{
		o: o, learning: make(chan struct{}, 1), learned: retrieve.Model{ID: o.id(), Dimension: o.Dimensions}, cache: newCache(o.Cache),
		client: apiclient.New(apiclient.Options{
			Name: fmt.Sprintf("embedding model %q", o.Model), Header: header, Secrets: secrets, Timeout: o.Timeout, Retries: o.Retries, Concurrency: o.Concurrency, Rate: o.Rate, Pause: o.pause,
			Advice: apiclient.Advice{Busy: "lower rate or concurrency, or wait", Slow: "raise timeout, or lower batch", Refused: "make chunks smaller, or lower batch"},
		}),
	}
	e.request, e.shown = o.address()
	e.most.Store(int32(o.Batch))
	return e, nil
}

// Close closes connections that no request uses. The embedder can be used on.
func (e *Embedder) Close() { e.client.Close() }

// Model returns the model. Without a known dimension it embeds a word to learn it.
func (e *Embedder) Model(ctx context.Context) (retrieve.Model, error) {
	if m := e.model(); m.Dimension > 0 {
		return m, nil
	}
	select {
	case e.learning <- struct{}{}:
		defer func() { <-e.learning }()
	case <-ctx.Done():
		return retrieve.Model{}, e.failed(ctx.Err())
	}
	if m := e.model(); m.Dimension > 0 {
		return m, nil
	}
	vectors := make([][]float32, 1)
	if err := e.send(ctx, []string{"dimension"}, vectors, 0, maxTimeouts); err != nil {
		return retrieve.Model{}, e.failed(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.learned.Dimension = len(vectors[0])
	return e.learned, nil
}

func (e *Embedder) model() retrieve.Model {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.learned
}

func (e *Embedder) failed(err error) error {
	return &retrieve.EmbedError{Model: e.o.id(), Place: e.shown, Err: err}
}

// Embed returns one vector for each text. It sends the texts in batches, several at the same
// time. The first batch that fails ends the call.
func (e *Embedder) Embed(ctx context.Context, side retrieve.Side, texts []string) ([][]float32, error) {
	m, err := e.Model(ctx)
	if err != nil {
		return nil, err
	}
	prefix := e.o.DocumentPrefix
	if side == retrieve.SideQuery {
		prefix = e.o.QueryPrefix
	}
	vectors := make([][]float32, len(texts))
	if len(texts) > e.o.Batch {
		return vectors, e.all(ctx, texts, prefix, vectors, m.Dimension)
	}
	missing, places := e.cache.lookup(prefix, texts, vectors)
	if len(missing) == 0 {
		return vectors, nil
	}
	found := make([][]float32, len(missing))
	if err := e.all(ctx, missing, prefix, found, m.Dimension); err != nil {
		return nil, err
	}
	for i, v := range found {
		vectors[places[i]] = v
	}
	e.cache.store(prefix, missing, found)
	return vectors, nil
}

// all embeds texts in batches.
func (e *Embedder) all(ctx context.Context, texts []string, prefix string, vectors [][]float32, dimension int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	own := make(chan struct{}, e.o.Concurrency) // no more batches wait for their turn than can run
	for from := 0; from < len(texts) && ctx.Err() == nil; {
		to := e.batch(texts, from, len(prefix))
		select {
		case own <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		part, into := prefixed(texts[from:to], prefix), vectors[from:to]
		wait.Go(func() {
			defer func() { <-own }()
			if err := e.send(ctx, part, into, dimension, maxTimeouts); err != nil {
				cancel(err)
			}
		})
		from = to
	}
	wait.Wait()
	if ctx.Err() != nil {
		return e.failed(context.Cause(ctx))
	}
	return nil
}

// batch returns the end of the batch that begins at from.
func (e *Embedder) batch(texts []string, from, prefix int) int {
	size, to := 0, from
	for to < len(texts) && to-from < int(e.most.Load()) {
		size += prefix + len(texts[to])
		if to > from && size > e.o.BatchBytes {
			break
		}
		to++
	}
	return to
}

// prefixed returns the texts to send. Servers refuse an empty text, so a space stands for it.
func prefixed(texts []string, prefix string) []string {
	out := slices.Clone(texts)
	for i, t := range out {
		if out[i] = prefix + t; out[i] == "" {
			out[i] = " "
		}
	}
	return out
}
