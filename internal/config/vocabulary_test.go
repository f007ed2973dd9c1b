package config

import (
	"strings"
	"testing"
)

// The ceilings of the vocabulary. They only go down: who adds a key finds one that can go, or says in the change why not.
const (
	maxTopLevel = 24
	// maxPaths bounds the paths of keys with what the schema refers to written out, and maxOwnPaths those that it
	// writes itself.
	maxPaths    = 540
	maxOwnPaths = 406
)

// The keys of a file do not become more.
func TestVocabulary(t *testing.T) {
	schema := Schema()
	top := schema["properties"].(map[string]any)
	all, own := map[string]bool{}, map[string]bool{}
	paths(schema, schema, "", all, true)
	paths(schema, schema, "", own, false)
	t.Logf("%d keys at the top level, %d paths, %d of them written by the schema itself", len(top), len(all), len(own))
	if len(top) > maxTopLevel || len(all) > maxPaths || len(own) > maxOwnPaths {
		t.Errorf("%d keys at the top level (want at most %d), %d paths (%d), %d without references (%d)", len(top), maxTopLevel, len(all), maxPaths, len(own), maxOwnPaths)
	}
	if !all["steps[].use"] || !all["pipelines[].window.max_tokens"] || own["pipelines[].window.max_tokens"] || len(own) < 200 {
		t.Error("the walk misses keys")
	}
}

// paths adds the paths of all keys below a schema. follow says that references are followed.
func paths(root, s map[string]any, at string, into map[string]bool, follow bool) {
	if ref, ok := s["$ref"].(string); ok && follow {
		target := root
		for _, key := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			target = target[key].(map[string]any)
		}
		paths(root, target, at, into, follow)
	}
	properties, _ := s["properties"].(map[string]any)
	for key, below := range properties {
		path := strings.TrimPrefix(at+"."+key, ".")
		into[path] = true
		paths(root, below.(map[string]any), path, into, follow)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if below, ok := s[key].(map[string]any); ok {
			paths(root, below, at+"[]", into, follow)
		}
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		list, _ := s[key].([]any)
		for _, below := range list {
			paths(root, below.(map[string]any), at, into, follow)
		}
	}
}
