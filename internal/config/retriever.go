package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
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
	Neighbours *float64    `key:"neighbours" min:"0" max:"1" doc:"For hybrid: the share of a result's score that comes from the results most like it. It helps where several texts answer a question, and harms where only one does. It changes the best 1000 results at most. Default: 0."`
	Depth      int         `key:"depth" min:"1" max:"10000" doc:"For hybrid: how many results of words and of vectors are merged. Default: 100, or top_k if that is more."`
	Filter     []Condition `key:"filter" doc:"Only chunks that meet all of these conditions are found."`
}

// Condition is one condition of a filter.
type Condition struct {
	Field  string   `key:"field,required" doc:"id, path, title, hash, time, heading, page, line, or a name in the metadata of documents."`
	Op     string   `key:"op" enum:"=,!=,prefix,>=,<=" default:"=" doc:"The field has one of the values, has none of them, begins with one of them, is at least the value, or is at most the value."`
	Values []string `key:"values,required" max:"10000" doc:"One or more values; exactly one for >= and <=. Times are written as 2026-01-31 or 2026-01-31T12:00:00Z."`
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

// RetrieverUse names a retriever of a step: an entry of retrievers, or a plugin. In the file, a
// text is the name of an entry.
type RetrieverUse struct {
	Retriever string         `key:"retriever" doc:"Name of an entry of retrievers at the top level of the file."`
	Plugin    string         `key:"plugin" doc:"Name of a plugin in the plugin folder that needs no configuration."`
	Instance  string         `key:"instance" doc:"Name of an entry of instances."`
	Settings  map[string]any `key:"settings" doc:"Settings of this use of a plugin."`
	Timeout   Duration       `key:"timeout" doc:"Time limit of one call."`
	Reads     []string       `key:"reads" doc:"The plugin receives only these columns and parts of the request, of those that it reads. An empty list allows nothing."`
}

// plainRetrieverUse has the fields of a RetrieverUse without its methods.
type plainRetrieverUse RetrieverUse

// UnmarshalNode decodes a name or a map.
func (u *RetrieverUse) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	if n.Kind == strict.Map {
		d.Value(n, reflect.ValueOf((*plainRetrieverUse)(u)).Elem(), path)
		return
	}
	d.Value(n, reflect.ValueOf(&u.Retriever).Elem(), path)
}

// JSONSchema describes both forms.
func (*RetrieverUse) JSONSchema() map[string]any { return nameOr[plainRetrieverUse]() }

// nameOr is the schema of the name of a retriever, or of a map.
func nameOr[T any]() map[string]any {
	return map[string]any{"oneOf": []any{map[string]any{"type": "string"}, strict.Schema(reflect.TypeFor[T]())}}
}

// Use returns the plugin, which is empty if the retriever searches a collection.
func (u *RetrieverUse) Use() Use {
	return Use{Plugin: u.Plugin, Instance: u.Instance, Settings: u.Settings, Timeout: u.Timeout, Reads: u.Reads}
}

// Member is one of several retrievers of a step. In the file, a text is the name of an entry of
// retrievers.
type Member struct {
	Retriever string         `key:"retriever" doc:"Name of an entry of retrievers at the top level of the file."`
	Plugin    string         `key:"plugin" doc:"Name of a plugin in the plugin folder that needs no configuration."`
	Instance  string         `key:"instance" doc:"Name of an entry of instances."`
	Settings  map[string]any `key:"settings" doc:"Settings of this use of a plugin."`
	Timeout   Duration       `key:"timeout" doc:"Time limit of one call. A retriever that fails is left out and logged. Default: the timeout of the step."`
	Reads     []string       `key:"reads" doc:"The plugin receives only these columns and parts of the request, of those that it reads."`
	Weight    float64        `key:"weight" min:"0.001" max:"1000" default:"1" doc:"The weight of its results, relative to the other retrievers. It has no effect with fusion round_robin."`
	TopK      int            `key:"top_k" min:"1" max:"1048576" doc:"The maximum number of items that it returns. Default: top_k of the step."`
}

// plainMember has the fields of a Member without its methods.
type plainMember Member

// UnmarshalNode decodes a name or a map.
func (m *Member) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	if n.Kind == strict.Map {
		d.Value(n, reflect.ValueOf((*plainMember)(m)).Elem(), path)
		return
	}
	d.Value(n, reflect.ValueOf(&m.Retriever).Elem(), path)
}

// JSONSchema describes both forms.
func (*Member) JSONSchema() map[string]any { return nameOr[plainMember]() }

// Use returns the retriever without its weight.
func (m *Member) Use() RetrieverUse {
	return RetrieverUse{Retriever: m.Retriever, Plugin: m.Plugin, Instance: m.Instance, Settings: m.Settings, Timeout: m.Timeout, Reads: m.Reads}
}

// Title names the retriever in logs and errors.
func (m *Member) Title() string { return cmp.Or(m.Retriever, m.Instance, m.Plugin) }

// UsesRetrievers reports whether a step searches a collection.
func (c *Config) UsesRetrievers() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool { return len(s.Searches()) > 0 })
}

// Searches returns the names of the entries of retrievers that the step uses, each once.
func (s *Step) Searches() (names []string) {
	seen := map[string]bool{"": true}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	if s.Retriever != nil {
		add(s.Retriever.Retriever)
	}
	for i := range s.Retrievers {
		add(s.Retrievers[i].Retriever)
	}
	for _, label := range slices.Sorted(maps.Keys(s.Routes)) {
		add(s.Routes[label].Retriever)
	}
	return names
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
		if r.By != "" && r.By != string(retrieve.ByWords) && k.config.Collections[r.Collection].Embedder == "" {
			k.find(path+".by", "%s needs an embedder for the collection (add collections: {%s: {embedder: NAME}}, and an entry of embedders)", r.By, r.Collection)
		}
		for i, c := range r.Query().Filter {
			if err := c.Validate(); err != nil {
				k.find(fmt.Sprintf("%s.filter[%d]", path, i), "%v", err)
			}
		}
	}
}

// retrieverUse checks that a retriever is named in exactly one way, and that what it names
// exists.
func (k *checker) retrieverUse(path string, u RetrieverUse) {
	plugin := u.Use()
	switch {
	case u.Retriever == "" && u.Plugin == "" && u.Instance == "":
		k.find(path, "name a retriever, a plugin or an instance")
	case u.Retriever == "":
		k.use(path, plugin)
	case u.Plugin != "" || u.Instance != "":
		k.find(path, "retriever excludes plugin and instance (keep one)")
	case len(u.Settings) > 0 || u.Reads != nil:
		k.find(path, "settings and reads need a plugin or an instance (leave them out)")
	default:
		if _, ok := k.config.Retrievers[u.Retriever]; !ok {
			k.find(path, "no retriever %q%s", u.Retriever, cmp.Or(hint(k, u.Retriever, k.config.Retrievers), " (add it to retrievers at the top level of the file)"))
		}
	}
}

// retrieverStep checks a step without a plugin that has a retriever.
func (k *checker) retrieverStep(path string, s *Step) {
	switch {
	case len(s.Retrievers) > 0: // another check reports it
	case s.Operation != "" || len(s.Routes) > 0 || s.Default != "":
		k.find(path, "a retriever without a plugin excludes operation, routes and default (leave those out)")
	case s.Retriever.Retriever == "":
		k.find(path+".retriever", "a step that only calls a plugin names it itself (write plugin or instance in the place of retriever)")
	}
}
