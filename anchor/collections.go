package anchor

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/sharing"
	"github.com/anchor-host/anchor-host/internal/tape"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/llm"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// Embedder returns an embedder of the configuration by its name. All callers share it. It reads its
// secrets and files at its first call, and can be used after [App.Reload] and [App.Close]. The error
// wraps [ErrInvalid] if there is no such embedder.
func (a *App) Embedder(name string) (retrieve.Embedder, error) {
	g, err := a.newest()
	if err != nil {
		return nil, err
	}
	defer g.Release()
	return g.Embedder(name)
}

// CollectionEmbedder returns the embedder of a collection, as [App.Embedder] does: that of the program if the
// configuration names none, and nil if it says none.
func (a *App) CollectionEmbedder(collection string) (retrieve.Embedder, error) {
	return a.collectionEmbedder(context.Background(), collection)
}

func (a *App) collectionEmbedder(ctx context.Context, collection string) (retrieve.Embedder, error) {
	g, err := a.use(ctx)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	return g.CollectionEmbedder(collection), nil
}

// Ingest reads files, folders and pages into a collection of the store, and keeps the collection as
// they are; see [ingest.Run]. An empty tenant of the collection means that of the configuration.
// Without an embedder in o, the documents get vectors of the embedder of the collection: of the built-in table if the
// configuration names none, unless the collection was filled without vectors. Without Contexts, chunks get contexts if it names a plugin for them; and without
// Settings, the collection has those that it names. What the run asks of models and embedders of
// the configuration is in the report, also with an error.
func (a *App) Ingest(ctx context.Context, sources []ingest.Source, o ingest.Options) (ingest.Report, error) {
	index, c, err := a.writable(ctx, o.Collection)
	if err != nil {
		return ingest.Report{}, err
	}
	g, err := a.use(ctx)
	if err != nil {
		return ingest.Report{}, err
	}
	defer g.Release()
	o.Collection = c
	if o.Embedder == nil {
		if o.Embedder, err = embedderFor(ctx, g, index, c); err != nil {
			return ingest.Report{}, err
		}
	}
	if o.Settings == (retrieve.Settings{}) {
		of := g.Loaded.Collections[c.Name]
		o.Settings = of.Settings()
	}
	if o.Contexts == nil {
		if o.Contexts, err = g.Contexter(ctx, c.Name); err != nil {
			return ingest.Report{}, err
		}
	}
	o.Embedder = assemble.Counted(o.Embedder)
	ctx, used := g.CountIngest(host.WithTenant(ctx, c.Tenant), c.Name)
	report, err := ingest.Run(ctx, index, sources, o)
	report.Services = used.Lines()
	return report, err
}

// embedderFor returns what makes the vectors of documents that come into a collection: its embedder, but nil for a collection that was filled without it, unless the configuration names the embedder.
func embedderFor(ctx context.Context, g *assemble.Generation, x retrieve.Index, c retrieve.Collection) (retrieve.Embedder, error) {
	e := g.CollectionEmbedder(c.Name)
	if _, stated := g.Loaded.EmbedderOf(c.Name); stated || e == nil {
		return e, nil
	}
	settings, err := x.Settings(ctx, c)
	if errors.Is(err, retrieve.ErrNotFound) {
		return e, nil
	}
	if err != nil {
		return nil, err
	}
	if settings.Model != (retrieve.Model{}) {
		m, err := e.Model(ctx)
		if err != nil || m != settings.Model {
			return nil, err
		}
		return e, nil
	}
	info, err := x.Collection(ctx, c)
	if err != nil || info.Documents > 0 {
		return nil, err
	}
	return e, nil
}

// Reembed gives the documents of a collection vectors of the embedder in o, which the configuration
// does not replace; see [ingest.Reembed]. An empty tenant means that of the configuration.
func (a *App) Reembed(ctx context.Context, o ingest.Options) (ingest.Report, error) {
	index, c, err := a.writable(ctx, o.Collection)
	if err != nil {
		return ingest.Report{}, err
	}
	o.Collection = c
	return ingest.Reembed(ctx, index, o)
}

// Collections lists the collections of a tenant by name. An empty tenant means that of the
// configuration.
func (a *App) Collections(ctx context.Context, tenant string) ([]retrieve.CollectionInfo, error) {
	index, c, err := a.indexOf(ctx, retrieve.Collection{Tenant: tenant})
	if err != nil {
		return nil, err
	}
	list, err := index.Collections(ctx, c.Tenant)
	if list == nil {
		list = []retrieve.CollectionInfo{} // not nil, which JSON writes as null
	}
	return list, err
}

// Collection describes a collection. The error is [retrieve.ErrNotFound] if there is none.
func (a *App) Collection(ctx context.Context, c retrieve.Collection) (retrieve.CollectionInfo, error) {
	index, c, err := a.indexOf(ctx, c)
	if err != nil {
		return retrieve.CollectionInfo{}, err
	}
	return index.Collection(ctx, c)
}

// RemoveCollection removes a collection with its documents. The error is [retrieve.ErrNotFound] if
// there is none.
func (a *App) RemoveCollection(ctx context.Context, c retrieve.Collection) error {
	index, c, err := a.indexOf(ctx, c)
	if err != nil {
		return err
	}
	return index.Remove(ctx, c)
}

// CollectionDocuments lists the documents of a collection whose IDs are in the range by ID, without their
// texts.
func (a *App) CollectionDocuments(ctx context.Context, c retrieve.Collection, ids retrieve.IDs) iter.Seq2[retrieve.DocumentInfo, error] {
	index, c, err := a.indexOf(ctx, c)
	if err != nil {
		return func(yield func(retrieve.DocumentInfo, error) bool) { yield(retrieve.DocumentInfo{}, err) }
	}
	return index.Documents(ctx, c, ids)
}

// WritableCollection returns [ErrShared] if a collection belongs to another tenant, and nil if the tenant may
// write to it. An empty tenant means that of the configuration.
func (a *App) WritableCollection(ctx context.Context, c retrieve.Collection) error {
	if err := (retrieve.Collection{Tenant: "t", Name: c.Name}).Validate(); err != nil {
		return errkind.As(ErrInvalid, err)
	}
	_, _, err := a.writable(ctx, c)
	return err
}

// RemoveDocument removes a document of a collection with the records of its file, and returns how many it
// removed. The error is [retrieve.ErrNotFound] if there is no such collection.
func (a *App) RemoveDocument(ctx context.Context, c retrieve.Collection, id string) (int, error) {
	index, c, err := a.writable(ctx, c)
	if err != nil {
		return 0, err
	}
	return ingest.Remove(ctx, index, c, id)
}

// ExportCollection returns the documents of a collection by ID, with their texts and vectors.
func (a *App) ExportCollection(ctx context.Context, c retrieve.Collection) iter.Seq2[retrieve.Document, error] {
	index, c, err := a.indexOf(ctx, c)
	if err != nil {
		return func(yield func(retrieve.Document, error) bool) { yield(retrieve.Document{}, err) }
	}
	return index.Export(ctx, c)
}

// SearchCollection returns the chunks of a collection that match a query best, as items that a build
// can take ([BuildOptions.Items]). Scores are 0 to 1. The embedder makes the vector of the query; nil
// means the one that the configuration names for the collection. An empty By means what
// [retrieve.DefaultBy] says. The errors are those of [retrieve.Prepare], and [retrieve.ErrNotFound] if
// there is no such collection.
func (a *App) SearchCollection(ctx context.Context, c retrieve.Collection, q retrieve.Query, e retrieve.Embedder) ([]pipeline.Item, error) {
	index, c, err := a.indexOf(ctx, c)
	if err != nil {
		return nil, err
	}
	if e == nil {
		if e, err = a.collectionEmbedder(ctx, c.Name); err != nil {
			return nil, err
		}
	}
	r := retrieve.Retriever{Index: index, Collection: c, Embedder: e, Query: q}
	return r.Retrieve(ctx, &pipeline.Query{Text: q.Text, Embedding: q.Vector}, q.K)
}

// indexOf returns the index of the store, and the collection with its tenant.
func (a *App) indexOf(ctx context.Context, c retrieve.Collection) (retrieve.Index, retrieve.Collection, error) {
	conf, s, err := a.storeOf(ctx, c.Tenant)
	if err != nil {
		return nil, c, err
	}
	c.Tenant = conf.TenantName()
	index, err := indexIn(s)
	if err != nil {
		return nil, c, err
	}
	return sharing.Index(index, conf, &a.hidden), c, nil
}

// writable is indexOf for a collection that is to be written. The error is [ErrShared] if it belongs to
// another tenant.
func (a *App) writable(ctx context.Context, c retrieve.Collection) (retrieve.Index, retrieve.Collection, error) {
	g, err := a.use(ctx)
	if err != nil {
		return nil, c, err
	}
	defer g.Release()
	index, c, err := a.indexOf(ctx, c)
	if err == nil {
		err = sharing.Writable(&g.Loaded.Config, c)
	}
	return index, c, err
}

// warnHidden says that a collection is hidden by a shared one.
func (a *App) warnHidden(own retrieve.Collection) {
	a.options.Logger.Warn("a tenant's collection is hidden by a shared one of the same name (remove it: anchor-host collections remove NAME --tenant TENANT, which anchor-host doctor names; or take the tenant from collections.NAME.shared)", "collection", own.Name)
}

// openIndex opens the store, which plugins and retrievers may do at any time, and returns its index.
func (a *App) openIndex(ctx context.Context, loaded *config.Loaded) (retrieve.Index, error) {
	s, err := a.openStore(ctx, loaded)
	if err != nil {
		return nil, err
	}
	t := a.options.Tape.tape()
	if t.Playing() {
		return sharing.Index(t.Index(nil), &loaded.Config, nil), nil
	}
	index, err := indexIn(tape.Unwrap(s))
	if err != nil {
		return nil, err
	}
	if t != nil {
		return sharing.Index(t.Index(index), &loaded.Config, nil), nil // what it looks up on the way is not a part of the build
	}
	return sharing.Index(index, &loaded.Config, &a.hidden), nil
}

func indexIn(s store.Store) (retrieve.Index, error) {
	index, ok := agentstore.IndexOf(s)
	if !ok {
		return nil, fmt.Errorf("%w: the store has no index for collections (use the store that anchor opens itself)", ErrInvalid)
	}
	return index, nil
}

// Model returns a model of the configuration by its name. All callers share it. Its key is read at
// the first call. The error wraps [ErrInvalid] if there is no such model, or no key.
func (a *App) Model(name string) (*llm.Model, error) {
	g, err := a.newest()
	if err != nil {
		return nil, err
	}
	defer g.Release()
	return g.Model(name)
}
