package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Retriever searches a collection of the store.
type Retriever struct {
	Collection string      `key:"collection,required" doc:"The collection to search. anchor-host ingest makes it. It belongs to the tenant of the build."`
	By         string      `key:"by" enum:"words,vectors,hybrid" doc:"words ranks by the words of the query (BM25), vectors by meaning, hybrid by both. Default: hybrid if the collection has vectors of its embedder, else words."`
	Weight     *float64    `key:"weight" min:"0" max:"1" doc:"For hybrid: the weight of vectors; words have the rest. eval --tune finds a good value. Default: 0.3."`
	Fusion     string      `key:"fusion" enum:"weighted,rrf" doc:"For hybrid: how words and vectors are merged, as for retrievers of a step. Default: weighted."`
	K1         *float64    `key:"k1" min:"0" max:"100" doc:"For words: how much repetitions of a word count. With 0, one is as good as many. Default: 1.5."`
	B          *float64    `key:"b" min:"0" max:"1" doc:"For words: how much long texts are marked down. Default: 0.75."`
	Neighbours *float64    `key:"neighbours" min:"0" max:"1" doc:"For hybrid: the share of a result's score that comes from the results most like it. It helps where several texts answer a question. The better a result is by words and by vectors, the smaller its share. It changes the best 1000 results at most. Default: 0.8."`
	Depth      int         `key:"depth" min:"1" max:"10000" doc:"For hybrid: how many results of words and of vectors are merged. Default: 100, or top_k if that is more."`
	Filter     []Condition `key:"filter" doc:"Only chunks that meet all of these conditions are found."`
}

// Condition is one condition of a filter.
type Condition struct {
	Field  string   `key:"field,required" doc:"id, path, title, hash, time, heading, page, line, or a name in the metadata of documents."`
	Op     string   `key:"op" enum:"=,!=,prefix,>=,<=,>,<" default:"=" doc:"The field has one of the values, has none of them, begins with one of them, is at least the value, at most, above, or below it. A list in the metadata has each of its elements."`
	Values []string `key:"values,required" max:"10000" doc:"One or more values; exactly one for >=, <=, > and <. Times are written as 2026-01-31 or 2026-01-31T12:00:00Z."`
}

// Query returns the settings of every search of the retriever.
func (r *Retriever) Query() retrieve.Query {
	q := retrieve.Query{
		By: retrieve.By(r.By), Fusion: retrieve.Fusion(r.Fusion), VectorWeight: r.Weight, Neighbours: r.Neighbours, K1: r.K1, B: r.B, Depth: r.Depth,
	}
	for _, c := range r.Filter {
		q.Filter = append(q.Filter, retrieve.Condition{Field: c.Field, Op: retrieve.Op(cmp.Or(c.Op, string(retrieve.OpEqual))), Values: c.Values})
	}
	return q
}

// Member is one of several retrievers of a step, which are plugins or entries of retrievers. One that fails is left out
// and logged, and the timeout of the step holds for those that state none.
type Member struct {
	Plain
	Weight float64 `key:"weight" min:"0.001" max:"1000" default:"1" doc:"The weight of its results, relative to the other retrievers. It has no effect with fusion round_robin."`
	TopK   int     `key:"top_k" min:"1" max:"1048576" doc:"The maximum number of items that it returns. Default: top_k of the step."`
}

// UsesRetrievers reports whether a step searches a collection.
func (c *Config) UsesRetrievers() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool { return len(c.Searches(&s)) > 0 })
}

// Searches returns the names of the entries of retrievers that a step uses, each once.
func (c *Config) Searches(s *Step) (names []string) {
	add := func(name string) {
		if c.IsSearch(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	add(s.Use.Name)
	for i := range s.Retrievers {
		add(s.Retrievers[i].Name)
	}
	for _, label := range slices.Sorted(maps.Keys(s.Routes)) {
		add(s.Routes[label].Name)
	}
	return names
}

// Single returns the only retriever of a step that transforms queries, which is called without a merge. It is nil for
// other steps.
func (c *Config) Single(s *Step) *Use {
	if c.CallsPlugin(s) && len(s.Retrievers) == 1 && s.Fusion == "" {
		return s.Retrievers[0].Use()
	}
	return nil
}

// searches checks the entries of retrievers.
func (k *checker) searches() {
	for _, name := range slices.Sorted(maps.Keys(k.config.Retrievers)) {
		r, path := k.config.Retrievers[name], strict.Join("retrievers", name)
		if err := (retrieve.Collection{Tenant: "t", Name: r.Collection}).Validate(); err != nil {
			k.find(path+".collection", "%v", err)
		}
		if r.By != "" && r.By != string(retrieve.ByHybrid) && (r.Weight != nil || r.Fusion != "" || r.Neighbours != nil || r.Depth != 0) {
			k.find(path, "weight, fusion, neighbours and depth need by: hybrid (leave them out)")
		}
		if r.By == string(retrieve.ByVectors) && (r.K1 != nil || r.B != nil) {
			k.find(path, "k1 and b have no effect with by: vectors (leave them out)")
		}
		if used, _ := k.config.EmbedderOf(r.Collection); used == "" && r.By != "" && r.By != string(retrieve.ByWords) {
			k.find(path+".by", "%s needs an embedder for the collection, and collections says none of %s (name one there)", r.By, r.Collection)
		}
		for i, c := range r.Query().Filter {
			if err := c.Validate(); err != nil {
				k.find(fmt.Sprintf("%s.filter[%d]", path, i), "%v", err)
			}
		}
	}
}

// retrieverUse checks a retriever of a step: an entry of retrievers, or a plugin.
func (k *checker) retrieverUse(path string, u *Plain) {
	k.use(path, u.Use(), nil)
	if k.config.IsSearch(u.Name) && len(u.Settings) > 0 {
		k.find(path, "settings need a plugin (leave them out)")
	}
}
