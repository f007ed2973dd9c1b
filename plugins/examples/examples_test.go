// Package examples_test holds the manifests and documents of the example
// plugins against their code.
package examples_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	bm25 "github.com/anchor-host/anchor-host/plugins/examples/bm25-retriever/plugin"
	contextual "github.com/anchor-host/anchor-host/plugins/examples/contextual-chunks/plugin"
	crm "github.com/anchor-host/anchor-host/plugins/examples/crm-snapshot/plugin"
	encoder "github.com/anchor-host/anchor-host/plugins/examples/cross-encoder/plugin"
	dedupe "github.com/anchor-host/anchor-host/plugins/examples/dedupe/plugin"
	rerank "github.com/anchor-host/anchor-host/plugins/examples/dense-rerank/plugin"
	near "github.com/anchor-host/anchor-host/plugins/examples/dense-retriever/plugin"
	notes "github.com/anchor-host/anchor-host/plugins/examples/fact-notes/plugin"
	field "github.com/anchor-host/anchor-host/plugins/examples/field-reranker/plugin"
	hyde "github.com/anchor-host/anchor-host/plugins/examples/hyde/plugin"
	screen "github.com/anchor-host/anchor-host/plugins/examples/injection-screen/plugin"
	intent "github.com/anchor-host/anchor-host/plugins/examples/intent-classifier/plugin"
	listwise "github.com/anchor-host/anchor-host/plugins/examples/llm-reranker/plugin"
	mmr "github.com/anchor-host/anchor-host/plugins/examples/mmr-reranker/plugin"
	multi "github.com/anchor-host/anchor-host/plugins/examples/multi-query/plugin"
	pii "github.com/anchor-host/anchor-host/plugins/examples/pii-redact/plugin"
	expand "github.com/anchor-host/anchor-host/plugins/examples/query-expand/plugin"
	recency "github.com/anchor-host/anchor-host/plugins/examples/recency-rerank/plugin"
	score "github.com/anchor-host/anchor-host/plugins/examples/score-filter/plugin"
	back "github.com/anchor-host/anchor-host/plugins/examples/step-back/plugin"
	summary "github.com/anchor-host/anchor-host/plugins/examples/turn-summary/plugin"
	web "github.com/anchor-host/anchor-host/plugins/examples/web-search/plugin"
)

// settings of every example, as its Defaults method sets them.
var settings = map[string]func() any{
	"bm25-retriever":    defaults[bm25.Settings],
	"contextual-chunks": defaults[contextual.Settings],
	"crm-snapshot":      defaults[crm.Settings],
	"cross-encoder":     defaults[encoder.Settings],
	"dedupe":            defaults[dedupe.Settings],
	"dense-rerank":      defaults[rerank.Settings],
	"dense-retriever":   defaults[near.Settings],
	"fact-notes":        defaults[notes.Settings],
	"field-reranker":    defaults[field.Settings],
	"hyde":              defaults[hyde.Settings],
	"injection-screen":  defaults[screen.Settings],
	"intent-classifier": defaults[intent.Settings],
	"llm-reranker":      defaults[listwise.Settings],
	"mmr-reranker":      defaults[mmr.Settings],
	"multi-query":       defaults[multi.Settings],
	"pii-redact":        defaults[pii.Settings],
	"query-expand":      defaults[expand.Settings],
	"recency-rerank":    defaults[recency.Settings],
	"score-filter":      defaults[score.Settings],
	"step-back":         defaults[back.Settings],
	"turn-summary":      defaults[summary.Settings],
	"web-search":        defaults[web.Settings],
}

func defaults[S any, P interface {
	*S
	Defaults()
}]() any {
	s := new(S)
	P(s).Defaults()
	return s
}

// schema is as much of a JSON Schema as the manifests use at the top.
type schema struct {
	Properties map[string]struct {
		Description string
		Default     json.RawMessage
	}
}

func names(t *testing.T) (found []string) {
	t.Helper()
	files, err := filepath.Glob("*/main.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		found = append(found, filepath.Dir(file))
	}
	return found
}

// namesOfOthers are the examples in other languages.
func namesOfOthers(t *testing.T) (found []string) {
	t.Helper()
	files, err := filepath.Glob("*/plugin.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), "main.go")); err != nil {
			found = append(found, filepath.Dir(file))
		}
	}
	return found
}

func readManifest(t *testing.T, name string) *manifest.Manifest {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(name, "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// settingsSchema is the one schema of settings that a manifest has.
func settingsSchema(t *testing.T, m *manifest.Manifest) (s schema) {
	t.Helper()
	raw := m.Settings
	for _, op := range m.Operations {
		if op.Settings != nil {
			raw = op.Settings
		}
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestManifests(t *testing.T) {
	for _, name := range append(names(t), namesOfOthers(t)...) {
		t.Run(name, func(t *testing.T) {
			m := readManifest(t, name)
			if m.Name != name {
				t.Errorf("the name is %q", m.Name)
			}
			if m.Description == "" || m.License == "" {
				t.Error("description or license is missing")
			}
			for op, spec := range m.Operations {
				if info, _ := abi.LookupOperation(op); len(info.Writes) > 0 && spec.Writes == nil {
					t.Errorf("%s: does not say what it writes", op)
				}
			}
			for key, p := range settingsSchema(t, m).Properties {
				if p.Description == "" {
					t.Errorf("setting %s is not described", key)
				}
			}
		})
	}
}

// TestDefaults compares what the schema states with what the code does when a
// host fills in nothing.
func TestDefaults(t *testing.T) {
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			make, ok := settings[name]
			if !ok {
				t.Fatal("missing in the table of this test")
			}
			document := map[string]json.RawMessage{}
			for key, p := range settingsSchema(t, readManifest(t, name)).Properties {
				if p.Default != nil {
					document[key] = p.Default
				}
			}
			text, err := json.Marshal(document)
			if err != nil {
				t.Fatal(err)
			}
			filled := reflect.New(reflect.TypeOf(make()).Elem()).Interface()
			if err := json.Unmarshal(text, filled); err != nil {
				t.Fatal(err)
			}
			if want := make(); !reflect.DeepEqual(filled, want) {
				t.Errorf("the schema says\n%+v\nthe code\n%+v", filled, want)
			}
		})
	}
}

// galleryCells are the cells of a row of the table: plugin, language, operation, what it
// does, what it costs.
const galleryCells = 5

// row returns the cells of the row of an example.
func row(table, name string) (cells []string) {
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| ["+name+"]("+name+"/README.md) |") {
			continue
		}
		for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
	}
	return cells
}

// TestReadmes wants a description of every setting in the manifest of its plugin, and every plugin
// in the table of all.
func TestReadmes(t *testing.T) {
	all, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names(t), namesOfOthers(t)...) {
		t.Run(name, func(t *testing.T) {
			if cells := row(string(all), name); len(cells) != galleryCells || slices.Contains(cells, "") {
				t.Errorf("its row in the table of plugins/examples/README.md has the cells %q, want %d with text", cells, galleryCells)
			}
			for key, p := range settingsSchema(t, readManifest(t, name)).Properties {
				if p.Description == "" {
					t.Errorf("setting %s has no description", key)
				}
			}
		})
	}
}
