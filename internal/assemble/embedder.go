package assemble

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/internal/components"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/tape"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	program "github.com/anchor-host/anchor-host/pipeline/retrieve/builtin"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/httpembed"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/static"
)

// embedders returns the embedders of a configuration, none of them open.
func embedders(c *config.Config, path func(string) string, t *tape.Tape, live *components.Live) map[string]*lazyEmbedder {
	all := make(map[string]*lazyEmbedder, len(c.Embedders)+1)
	for name, e := range c.AllEmbedders() {
		all[name] = &lazyEmbedder{name: name, opening: make(chan struct{}, 1), open: func(ctx context.Context) (retrieve.Embedder, error) { return openTaped(ctx, name, e, path, t, live) }}
	}
	return all
}

// openTaped opens an embedder that a tape hears. It opens none for a tape that plays.
func openTaped(ctx context.Context, name string, e config.Embedder, path func(string) string, t *tape.Tape, live *components.Live) (retrieve.Embedder, error) {
	if t.Playing() {
		return t.Embedder(name, nil), nil
	}
	var real retrieve.Embedder
	var err error
	if e.Use == "" {
		real, err = openEmbedder(e, path)
	} else if made, failed := live.Get(ctx, e.Use, e.Settings); failed == nil {
		real = made.Embedder()
	} else {
		err = failed
	}
	if err != nil || t == nil {
		return real, err
	}
	return t.Embedder(name, real), nil
}

func openEmbedder(e config.Embedder, path func(string) string) (retrieve.Embedder, error) {
	switch s := e.Static; {
	case s != nil:
		return static.Open(static.Options{Table: path(s.Table), Tokenizer: path(s.Tokenizer), Tensor: s.Tensor})
	case e.HTTP != nil:
		return openServer(e.HTTP, path)
	}
	return program.Embedder(), nil
}

func openServer(h *config.HTTPEmbedder, path func(string) string) (retrieve.Embedder, error) {
	key, headers, secrets, err := config.Credentials(h.Key, h.Headers, path)
	if err != nil {
		return nil, err
	}
	o := httpembed.Options{
		BaseURL: h.BaseURL, Model: h.Model, Key: key, Headers: headers, Secrets: secrets, Dimensions: h.Dimensions,
		QueryPrefix: h.QueryPrefix, DocumentPrefix: h.DocumentPrefix, Batch: h.Batch, BatchBytes: int(h.BatchBytes),
		Concurrency: h.Concurrency, Rate: h.Rate, Timeout: time.Duration(h.Timeout), Encoding: h.Encoding,
	}
	if h.Retries != nil {
		if o.Retries = *h.Retries; o.Retries == 0 {
			o.Retries = -1
		}
	}
	return httpembed.New(o)
}

// lazyEmbedder opens an embedder at the first call.
type lazyEmbedder struct {
	name    string
	open    func(context.Context) (retrieve.Embedder, error)
	opening chan struct{} // holds a value while the embedder is opened

	mu   sync.Mutex
	made retrieve.Embedder // nil until it is open
}

// ServiceName is the name of the embedder in the configuration; see [ledger.NameOf].
func (l *lazyEmbedder) ServiceName() string { return l.name }

// Model implements [retrieve.Embedder].
func (l *lazyEmbedder) Model(ctx context.Context) (retrieve.Model, error) {
	e, err := l.embedder(ctx)
	if err != nil {
		return retrieve.Model{}, err
	}
	return e.Model(ctx)
}

// Embed implements [retrieve.Embedder].
func (l *lazyEmbedder) Embed(ctx context.Context, side retrieve.Side, texts []string) ([][]float32, error) {
	e, err := l.embedder(ctx)
	if err != nil {
		return nil, err
	}
	return e.Embed(ctx, side, texts)
}

func (l *lazyEmbedder) opened() retrieve.Embedder {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made
}

func (l *lazyEmbedder) embedder(ctx context.Context) (retrieve.Embedder, error) {
	if e := l.opened(); e != nil {
		return e, nil
	}
	select {
	case l.opening <- struct{}{}:
		defer func() { <-l.opening }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if e := l.opened(); e != nil {
		return e, nil
	}
	e, err := l.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("embedder %q: %w", l.name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made = e
	return e, nil
}

// close closes what the embedder keeps open. It can be used on.
func (l *lazyEmbedder) close() {
	if c, ok := l.opened().(interface{ Close() }); ok {
		c.Close()
	}
}

// Counted returns an embedder of a configuration so that its requests are in the ledger of their build or
// run. Any other embedder stays as it is. The host notes the requests of plugins for vectors, and the
// pipeline those for the items of a build.
func Counted(e retrieve.Embedder) retrieve.Embedder {
	if lazy, ok := e.(*lazyEmbedder); ok {
		return counted{lazy}
	}
	return e
}

type counted struct{ *lazyEmbedder }

// Embed implements [retrieve.Embedder].
func (c counted) Embed(ctx context.Context, side retrieve.Side, texts []string) ([][]float32, error) {
	vectors, err := c.lazyEmbedder.Embed(ctx, side, texts)
	used := ledger.Amount{Calls: 1, Texts: int64(len(texts))}
	if err != nil {
		used.Failed = 1
	}
	_, l := ledger.Under(ctx)
	l.Note(ledger.Use{Service: manifest.ServiceEmbed, Name: c.name, Plugin: ledger.PluginOf(ctx)}, used)
	return vectors, err
}
