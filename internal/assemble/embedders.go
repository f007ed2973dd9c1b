package assemble

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Embedder returns an embedder of the configuration by its name. All callers share it. Its secrets
// and files are read at its first call; if that fails, the next call tries again. The error wraps
// [config.ErrInvalid] if there is no such embedder.
func (g *Generation) Embedder(name string) (retrieve.Embedder, error) {
	e, ok := g.embedders[name]
	if !ok {
		return nil, fmt.Errorf("%w: no embedder %q%s (define it under embedders)", config.ErrInvalid, name, strict.Hint(name, slices.Sorted(maps.Keys(g.embedders))))
	}
	return e, nil
}

// setEmbedder sets what makes the vectors that plugins read.
func (b *builder) setEmbedder(context.Context) (err error) {
	if name := b.config.Embedder; name != "" {
		b.out.Embedder, err = b.generation.Embedder(name)
	}
	return err
}

// CollectionEmbedder returns the embedder of a collection, nil if the configuration says none.
func (g *Generation) CollectionEmbedder(collection string) retrieve.Embedder {
	name, _ := g.Loaded.EmbedderOf(collection)
	if e, ok := g.embedders[name]; ok {
		return e
	}
	return nil
}
