package anchor

import (
	"context"
	"fmt"
	"iter"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Ingest reads files, folders and pages into a collection of the store, and keeps the collection as
// they are; see [ingest.Run]. An empty tenant of the collection means that of the configuration.
func (a *App) Ingest(ctx context.Context, sources []ingest.Source, o ingest.Options) (ingest.Report, error) {
	index, c, err := a.indexOf(ctx, o.Collection)
	if err != nil {
		return ingest.Report{}, err
	}
	o.Collection = c
	return ingest.Run(ctx, index, sources, o)
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

// CollectionDocuments lists the documents of a collection by ID, without their texts.
func (a *App) CollectionDocuments(ctx context.Context, c retrieve.Collection) iter.Seq2[retrieve.DocumentInfo, error] {
	index, c, err := a.indexOf(ctx, c)
	if err != nil {
		return func(yield func(retrieve.DocumentInfo, error) bool) { yield(retrieve.DocumentInfo{}, err) }
	}
	return index.Documents(ctx, c, retrieve.IDs{})
}

// ExportCollection returns the documents of a collection by ID, with their texts and vectors.
func (a *App) ExportCollection(ctx context.Context, c retrieve.Collection) iter.Seq2[retrieve.Document, error] {
	index, c, err := a.indexOf(ctx, c)
	if err != nil {
		return func(yield func(retrieve.Document, error) bool) { yield(retrieve.Document{}, err) }
	}
	return index.Export(ctx, c)
}

// SearchCollection returns the chunks of a collection that match the words of a question best,
// at most topK, as items that a build can take ([BuildOptions.Items]). Scores are 0 to 1. topK 0
// means [retrieve.DefaultK]. The error is [retrieve.ErrNotFound] if there is no such collection.
func (a *App) SearchCollection(ctx context.Context, c retrieve.Collection, question string, topK int) ([]pipeline.Item, error) {
	index, c, err := a.indexOf(ctx, c)
	if err != nil {
		return nil, err
	}
	r := retrieve.Retriever{Index: index, Collection: c, Query: retrieve.Query{By: retrieve.ByWords}}
	return r.Retrieve(ctx, &pipeline.Query{Text: question}, topK)
}

// indexOf returns the index of the store, and the collection with its tenant.
func (a *App) indexOf(ctx context.Context, c retrieve.Collection) (retrieve.Index, retrieve.Collection, error) {
	conf, s, err := a.storeOf(ctx, c.Tenant)
	if err != nil {
		return nil, c, err
	}
	c.Tenant = conf.TenantName()
	index, ok := agentstore.IndexOf(s)
	if !ok {
		return nil, c, fmt.Errorf("%w: the store has no index for collections (use the store that anchor opens itself)", ErrInvalid)
	}
	return index, c, nil
}
