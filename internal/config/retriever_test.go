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
  - {name: found, use: docs, top_k: 5}
  - {name: variants, use: p, operation: transform_query, retrievers: [docs]}
  - {name: mixed, retrievers: [docs, {use: notes, weight: 2, top_k: 3}, {use: p}]}
  - {name: routed, classifier: {keywords: {a: [x]}}, routes: {a: docs, b: {use: notes, timeout: 1s}, c: {use: p}}, default: b}
`

func TestRetrievers(t *testing.T) {
	l, err := Parse("a.yaml", []byte(searching))
	if err != nil {
		t.Fatal(err)
	}
	s := l.Steps
	if s[0].Use.Name != "docs" || l.Single(&s[1]).Name != "docs" || s[2].Retrievers[0].Name != "docs" || s[2].Retrievers[1].Weight != 2 || s[2].Retrievers[2].Name != "p" || l.Single(&s[2]) != nil {
		t.Errorf("steps %+v", s)
	}
	if r := s[3].Routes; r["a"].Name != "docs" || r["b"].Name != "notes" || r["c"].Name != "p" {
		t.Errorf("routes %+v", r)
	}
	if !reflect.DeepEqual(l.Searches(&s[3]), []string{"docs", "notes"}) || !l.UsesRetrievers() {
		t.Errorf("searches %q", l.Searches(&s[3]))
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
		{"no embedder", "retrievers: {docs: {collection: c, by: hybrid}}\ncollections: {c: {embedder: none}}", `a.yaml:1:40: retrievers.docs.by: hybrid needs an embedder for the collection, and collections says none of c (name one there)`},
		{"two bounds", "retrievers: {docs: {collection: c, filter: [{field: page, op: '>=', values: ['1', '2']}]}}", `a.yaml:1:45: retrievers.docs.filter[0]: filter page: invalid value: 2 values for >= (want one)`},
		{"b too large", "retrievers: {docs: {collection: c, b: 1.5}}", `a.yaml:1:39: retrievers.docs.b: want 0 to 1, got 1.5`},
		{"settings of a collection", step("retrievers: [{use: docs, settings: {a: 1}}]"), `a.yaml:2:32: steps[0].retrievers[0]: settings need a plugin (leave them out)`},
		{"must of one retriever", step("retrievers: [{use: docs, must: true}]"), `a.yaml:2:44: steps[0].retrievers[0].must: was removed (leave it out, or rewrite the file with: anchor-host config migrate)`},
		{"operation", step("use: docs, operation: transform_query, retrievers: [p]"), `a.yaml:2:9: steps[0]: "docs" searches a collection, and excludes operation, retrievers, routes and default (leave those out)`},
		{"two meanings", "plugins: {instances: {docs: {plugin: p}}}\n" + step("use: docs"), `a.yaml:3:24: steps[0].use: "docs" is an instance, and also an entry of retrievers (rename the former)`},
		{"a list", step("use: [docs]"), `a.yaml:2:24: steps[0].use: want a string, got a list`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Parse("a.yaml", []byte(c.text)); err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
