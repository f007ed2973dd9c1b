package assemble

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/config"
	observing "github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// searches reports whether a step searches one collection and does nothing else.
func searches(c *config.Config, s *config.Step) bool {
	return s.Classifier == nil && c.IsSearch(s.Use.Name)
}

// search is a retriever that searches a collection. It opens the store when it is first asked.
type search struct {
	name       string // in the configuration
	generation *Generation
	config     config.Retriever
	// ids is the beginning of the ids of items. several means that a step searches several
	// collections, so that the name of the collection is a part of the ids.
	ids     string
	several bool
	source  pipeline.Source
	highest int // priority; 0 for no bound
	timeout time.Duration
}

// search makes the retriever that a step names.
func (p *plugins) search(s *config.Step, u *config.Use) (pipeline.Retriever, error) {
	r := p.config.Retrievers[u.Name]
	out := &search{
		name: u.Name, generation: p.owner, config: r, ids: r.Collection,
		source: pipeline.Source(s.Source), highest: s.MaxPriority, timeout: p.timeout(s, u),
	}
	if len(s.Retrievers) == 0 || p.config.Single(s) != nil {
		return out, nil
	}
	// The items of a plugin in this step have ids of the same form, so that the same key is
	// the same item.
	out.ids = s.Name
	for _, name := range p.config.Searches(s) {
		out.several = out.several || p.config.Retrievers[name].Collection != r.Collection
	}
	return out, nil
}

// Retrieve implements [pipeline.Retriever].
func (s *search) Retrieve(ctx context.Context, q *pipeline.Query, topK int) ([]pipeline.Item, error) {
	if s.timeout > 0 {
		bounded, cancel := context.WithTimeout(ctx, s.timeout)
		defer cancel()
		ctx = bounded
	}
	items, err := s.find(ctx, q, topK)
	if err != nil {
		return nil, fmt.Errorf("retriever %q: %w", s.name, err)
	}
	for i := range items {
		s.place(&items[i])
	}
	return items, nil
}

func (s *search) find(ctx context.Context, q *pipeline.Query, topK int) ([]pipeline.Item, error) {
	if s.generation.options.Index == nil {
		return nil, errNoStore
	}
	index, err := s.generation.options.Index(ctx)
	if err != nil {
		return nil, err
	}
	r := retrieve.Retriever{
		Index: index, Collection: retrieve.Collection{Tenant: host.TenantOf(ctx), Name: s.config.Collection},
		Embedder: Counted(s.generation.CollectionEmbedder(s.config.Collection)), Query: s.config.Query(),
	}
	items, err := r.Retrieve(ctx, q, topK)
	var lost *retrieve.EmbedError
	if r.Query.By == "" && errors.As(err, &lost) && ctx.Err() == nil {
		// A server of vectors that is away takes from a build what only vectors find, and no more.
		core.Degraded(ctx, core.Degradation{
			Kind: core.KindUnanswered, Reason: "embedder", Message: fmt.Sprintf("retriever %q searches by words alone: %s", s.name, observing.Text(ctx, err)),
		})
		s.generation.options.Logger.Warn("retriever searches by words alone", "retriever", s.name, "error", err)
		r.Embedder, r.Query.By = nil, retrieve.ByWords
		items, err = r.Retrieve(ctx, q, topK)
	}
	switch {
	case errors.Is(err, retrieve.ErrEmpty):
		core.Degraded(ctx, core.Degradation{
			Kind: core.KindMissing, Reason: "empty", Message: fmt.Sprintf("retriever %q finds nothing: %v", s.name, err),
		})
		s.warn("retriever finds nothing", err.Error())
		return nil, nil
	case r.Query.By == "" && r.Embedder != nil && s.stated() && len(items) > 0 && items[0].Metadata["retrieval_method"] == string(retrieve.ByWords):
		s.warn("retriever searches by words alone", fmt.Sprintf("collection %s has no vectors of its embedder (make them with anchor-host collections reembed %s, or say by: words)", r.Collection, r.Collection.Name))
	}
	return items, err
}

// stated reports whether the configuration names the embedder of the collection.
func (s *search) stated() bool {
	_, stated := s.generation.Loaded.EmbedderOf(s.config.Collection)
	return stated
}

// warn says once what every build would say.
func (s *search) warn(what, reason string) {
	if _, said := s.generation.warned.LoadOrStore(s.name+"\n"+reason, true); !said {
		s.generation.options.Logger.Warn(what, "retriever", s.name, "error", reason)
	}
}

// place gives an item its id, its source and its priority in the build.
func (s *search) place(it *pipeline.Item) {
	if s.several {
		it.ID = s.config.Collection + "/" + it.ID
	}
	it.ID = s.ids + ":" + it.ID
	if s.source != "" {
		it.Source, it.Priority = s.source, s.source.DefaultPriority()
	}
	if s.highest > 0 {
		it.Priority = min(it.Priority, s.highest)
	}
}

// Isolated declares that a search does not change its input.
func (*search) Isolated() {}
