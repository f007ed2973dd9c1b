package main

import (
	"strings"
	"testing"
)

// Several retrievers of one step are asked together, and what they found is merged: what
// both found with one key counts for both. One that fails is left out with a line.
func TestRetrieversAreMerged(t *testing.T) {
	for _, tt := range []struct{ name, step, want, stderr string }{
		{"weighted", "retrievers: [{use: one, weight: 3}, {use: allops, top_k: 2}], top_k: 3",
			"hi q 0\nhi q 1\nhi q 2\n", ""},
		{"rrf", "retrievers: [{use: one}, {use: allops, settings: {mode: list, path: /}}, {use: allops}], fusion: rrf, top_k: 1",
			"hi q 0\n", `msg="retriever left out" retriever=allops `},
		{"round robin", "retrievers: [{use: one}, {use: lost}], fusion: round_robin, top_k: 2",
			"hi q 0\nhi q 1\n", `msg="retriever left out" retriever=lost `},
		{"variants", "use: allops, operation: transform_query, settings: {word: w}, retrievers: [{use: one}, {use: lost}], top_k: 2",
			"hi q 0\nhi q 1\n", `msg="retriever left out" retriever=lost `},
	} {
		flags := buildFolder(t, "counting: {tokenizer: words}\nplugins: {instances: {one: {plugin: allops, settings: {greeting: hi}}}}\nsteps:\n  - {name: find, "+tt.step+"}\n")
		code, stdout, stderr := run(t, "", append([]string{"build", "q"}, flags...)...)
		if code != codeOK || stdout != "=== CONTEXT ===\n"+tt.want+"\n=== QUESTION ===\nq\n" || !strings.Contains(stderr, tt.stderr) {
			t.Errorf("%s: code %d, %q, want %q\n%s", tt.name, code, stdout, tt.want, stderr)
		}
	}
}

// A query goes to the retriever of the first label whose keyword is in it.
func TestKeywordsChooseTheRetriever(t *testing.T) {
	flags := buildFolder(t, `
counting: {tokenizer: words}
plugins:
  instances: {code: {plugin: allops, settings: {greeting: code}}, text: {plugin: allops, settings: {greeting: text}}}
steps:
  - name: route
    classifier: {keywords: {prose: [essay], code: [func, struct]}}
    routes: {code: {use: code}, prose: {use: text}}
    default: prose
    top_k: 1
`)
	for query, want := range map[string]string{"a FUNCtion": "code", "func in an essay": "text", "neither": "text"} {
		code, stdout, stderr := run(t, "", append([]string{"build", query}, flags...)...)
		if code != codeOK || !strings.HasPrefix(stdout, "=== CONTEXT ===\n"+want+" "+query) {
			t.Errorf("%s: code %d, %q\n%s", query, code, stdout, stderr)
		}
	}
}
