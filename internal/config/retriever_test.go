package config

import (
	"reflect"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

const searching = `embedders: {local: {static: {table: t.safetensors, tokenizer: tokenizer.json}}}
collections: {docs: {embedder: local}}
retrievers:
  docs: {collection: docs, by: hybrid, weight: 0.4, depth: 50, k1: 0, b: 1, filter: [{field: lang, values: [en]}, {field: page, op: ">=", values: ["2"]}]}
  notes: {collection: notes}
steps:
  - {name: found, retriever: docs, top_k: 5}
  - {name: variants, plugin: p, operation: transform_query, retriever: docs}
  - {name: mixed, retrievers: [docs, {retriever: notes, weight: 2, top_k: 3}, {plugin: p}]}
  - {name: routed, classifier: {keywords: {a: [x]}}, routes: {a: docs, b: {retriever: notes, timeout: 1s}, c: {plugin: p}}, default: b}
`

func TestRetrievers(t *testing.T) {
	l, err := Parse("a.yaml", []byte(searching))
	if err != nil {
		t.Fatal(err)
	}
	s := l.Steps
	if s[0].Retriever.Retriever != "docs" || s[1].Retriever.Retriever != "docs" || s[2].Retrievers[0].Retriever != "docs" || s[2].Retrievers[1].Weight != 2 || s[2].Retrievers[2].Plugin != "p" {
		t.Errorf("steps %+v", s)
	}
	if r := s[3].Routes; r["a"].Retriever != "docs" || r["b"].Retriever != "notes" || r["c"].Plugin != "p" {
		t.Errorf("routes %+v", r)
	}
	if !reflect.DeepEqual(s[3].Searches(), []string{"docs", "notes"}) || !l.UsesRetrievers() {
		t.Errorf("searches %q", s[3].Searches())
	}
	zero, one, weight := 0.0, 1.0, 0.4
	docs := l.Retrievers["docs"]
	want := retrieve.Query{By: retrieve.ByHybrid, VectorWeight: &weight, K1: &zero, B: &one, Depth: 50, Filter: []retrieve.Condition{
		{Field: "lang", Op: retrieve.OpEqual, Values: []string{"en"}}, {Field: "page", Op: retrieve.OpAtLeast, Values: []string{"2"}},
	}}
	if got := docs.Query(); !reflect.DeepEqual(got, want) {
		t.Errorf("query %+v\nwant  %+v", got, want)
	}
	schema, err := compileSchema(t)
	if err == nil {
		err = schema.Validate(l.node.Any())
	}
	if err != nil {
		t.Error(err)
	}
}

func TestRetrieversAreChecked(t *testing.T) {
	step := func(s string) string { return "retrievers: {docs: {collection: docs}}\nsteps: [{name: a, " + s + "}]" }
	for _, c := range []struct{ name, text, want string }{
		{"no collection", "retrievers: {docs: {by: words}}", `a.yaml:1:20: retrievers.docs: missing key "collection"`},
		{"empty name", "retrievers: {docs: {collection: ''}}", `a.yaml:1:33: retrievers.docs.collection: invalid value: no collection`},
		{"unknown way", "retrievers: {docs: {collection: c, by: meaning}}", `a.yaml:1:40: retrievers.docs.by: unknown value "meaning" (want one of words, vectors, hybrid)`},
		{"weight of words", "retrievers: {docs: {collection: c, by: words, weight: 0.3}}", `a.yaml:1:20: retrievers.docs: weight, fusion, neighbours and depth need by: hybrid (leave them out)`},
		{"no embedder", "retrievers: {docs: {collection: c, by: hybrid}}", `a.yaml:1:40: retrievers.docs.by: hybrid needs an embedder for the collection (add collections: {c: {embedder: NAME}}, and an entry of embedders)`},
		{"two bounds", "retrievers: {docs: {collection: c, filter: [{field: page, op: '>=', values: ['1', '2']}]}}", `a.yaml:1:45: retrievers.docs.filter[0]: filter page: invalid value: 2 values for >= (want one)`},
		{"b too large", "retrievers: {docs: {collection: c, b: 1.5}}", `a.yaml:1:39: retrievers.docs.b: want 0 to 1, got 1.5`},
		{"unknown retriever", step("retriever: dogs"), `a.yaml:2:30: steps[0].retriever: no retriever "dogs" (did you mean "docs"?)`},
		{"no retrievers at all", "steps: [{name: a, retriever: docs}]", `a.yaml:1:30: steps[0].retriever: no retriever "docs" (add it to retrievers at the top level of the file)`},
		{"retriever and plugin", step("retrievers: [{retriever: docs, plugin: p}]"), `a.yaml:2:32: steps[0].retrievers[0]: retriever excludes plugin and instance (keep one)`},
		{"settings of a collection", step("retrievers: [{retriever: docs, settings: {a: 1}}]"), `a.yaml:2:32: steps[0].retrievers[0]: settings and reads need a plugin or an instance (leave them out)`},
		{"plugin as the only retriever", step("retriever: {plugin: p}"), `a.yaml:2:30: steps[0].retriever: a step that only calls a plugin names it itself (write plugin or instance in the place of retriever)`},
		{"operation", step("retriever: docs, operation: transform_query"), `a.yaml:2:9: steps[0]: a retriever without a plugin excludes operation, routes and default (leave those out)`},
		{"a number", step("retriever: [docs]"), `a.yaml:2:30: steps[0].retriever: want a string, got a list`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Parse("a.yaml", []byte(c.text)); err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
