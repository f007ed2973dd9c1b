package server

import (
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

func collectionEndpoints() []endpoint {
	return []endpoint{
		{Route: Route{Method: "GET", Path: "/v1/collections", Action: "listCollections", Scope: ScopeCollections}, serve: (*call).listCollections},
		{Route: Route{Method: "GET", Path: "/v1/collections/{collection}", Action: "getCollection", Scope: ScopeCollections}, serve: (*call).getCollection},
		{Route: Route{Method: "POST", Path: "/v1/collections/{collection}/search", Action: "searchCollection", Scope: ScopeCollections}, body: jsonBody, serve: (*call).searchCollection},
	}
}

// collectionsDoc is a list of collections.
type collectionsDoc struct {
	Collections []retrieve.CollectionInfo `json:"collections"`
}

func (c *call) listCollections() (any, error) {
	list, err := c.s.app.Collections(c.ctx, c.info.Principal.Tenant)
	if err != nil {
		return nil, err
	}
	return collectionsDoc{list}, nil
}

func (c *call) collection() retrieve.Collection {
	return retrieve.Collection{Tenant: c.info.Principal.Tenant, Name: c.r.PathValue("collection")}
}

func (c *call) getCollection() (any, error) {
	return c.s.app.Collection(c.ctx, c.collection())
}

// searchInput is a search of a collection. Its members are those of retrievers in anchor.yaml.
type searchInput struct {
	Query      string             `key:"query,required"`
	TopK       int                `key:"top_k" min:"1" max:"1000"`
	By         string             `key:"by" enum:"words,vectors,hybrid"`
	Weight     *float64           `key:"weight" min:"0" max:"1"`
	Fusion     string             `key:"fusion" enum:"weighted,rrf"`
	K1         *float64           `key:"k1" min:"0" max:"100"`
	B          *float64           `key:"b" min:"0" max:"1"`
	Neighbours *float64           `key:"neighbours" min:"0" max:"1"`
	Depth      int                `key:"depth" min:"1" max:"10000"`
	Filter     []config.Condition `key:"filter" max:"100"`
}

// itemsDoc is what a search has found.
type itemsDoc struct {
	Items []pipeline.Item `json:"items"`
}

func (c *call) searchCollection() (any, error) {
	var in searchInput
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	q := (&config.Retriever{
		By: in.By, Weight: in.Weight, Fusion: in.Fusion, K1: in.K1, B: in.B, Neighbours: in.Neighbours, Depth: in.Depth, Filter: in.Filter,
	}).Query()
	q.Text, q.K = in.Query, in.TopK
	items, err := c.s.app.SearchCollection(c.ctx, c.collection(), q, nil)
	if err != nil {
		return nil, err
	}
	if items == nil {
		items = []pipeline.Item{}
	}
	return itemsDoc{items}, nil
}
