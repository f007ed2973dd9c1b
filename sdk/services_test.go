package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/sdk"
)

// fakeServices answer with what they are asked.
type fakeServices struct{}

func (fakeServices) Embed(_ context.Context, embedder string, side services.Side, texts []string) (service.Vectors, error) {
	v := service.Vectors{Model: fmt.Sprintf("%s/%s", embedder, side), Dimension: 3}
	for _, t := range texts {
		v.Values = append(v.Values, float32(len(t))/4, -0.25, 0.5)
	}
	return v, nil
}

func (fakeServices) Search(_ context.Context, q service.Search) ([]services.SearchHit, error) {
	switch {
	case q.Collection == "gone":
		return nil, &service.Error{Word: services.NotFound, Message: "no collection gone"}
	case q.Vector == nil:
		return nil, nil
	}
	q.SearchRequest.Vector = 0 // a handle, which differs
	asked, err := json.Marshal(q.SearchRequest)
	return []services.SearchHit{{
		Document: "guide.md", Chunk: 3, Score: 0.75, Text: fmt.Sprintf("%s%v", asked, q.Vector), Title: "T", Path: "p", Headings: []string{"A", "B\n"},
		Page: 1, LineFrom: 10, LineTo: 14, Metadata: map[string]string{"k": "ü"},
	}, {Document: "bare.md"}}, err
}

func (fakeServices) Ask(_ context.Context, q service.Question) (service.Reply, error) {
	asked, err := json.Marshal(q.LLMRequest)
	switch {
	case q.Messages[0].Content == "spend":
		return service.Reply{}, &service.Error{Word: services.Budget, Message: "spent"}
	case q.Temperature != nil:
		if string(asked) != strictRequest {
			return service.Reply{}, &service.Error{Word: services.Refused, Message: string(asked)}
		}
		return service.Reply{Text: `{"n":7}`, InputTokens: 31, OutputTokens: 8, Finish: services.LLMLength}, nil
	case q.Schema != nil:
		return service.Reply{Text: `{"n":1}`}, nil
	}
	return service.Reply{Text: string(asked)}, err
}

const (
	strictRequest = `{"model":"small","messages":[{"role":"system","content":"Be brief.\n"},{"role":"user","content":"q\"ü"},{"role":"assistant","content":""}],` +
		`"schema":{"type":"object","properties":{"n":{"type":"number"}}},"max_tokens":50,"temperature":0}`
	servicesLabel = `words/query 3 4 -1 ` +
		`{"collection":"docs","text":"q\"ü","dimension":3,"by":"hybrid","k":2,"filter":[{"field":"path","op":"prefix","values":["a/","b\""]}]}[1 -0.25 0.5] ` +
		"guide.md T p 3 3 1 10 14 A B\n ü bare.md 0 no collection gone 0 " +
		`7 small length 31 8 spent {"model":"large","messages":[{"role":"user","content":"q\"ü"}]} {"n":1} `
)

// ownTests run what the helper libraries test without a host, with the answers of their mocks.
var ownTests = map[string][][]string{
	"c":    {{"cc", "-Ianchor", "-o", "test-c", "plugin_test.c"}, {"./test-c"}, {"c++", "-std=c++20", "-x", "c++", "-Ianchor", "-o", "test-cpp", "plugin_test.c"}, {"./test-cpp"}},
	"rust": {{"cargo", "test", "--quiet", "--lib", "-p", "reach", "-p", "anchor-pdk"}},
	"zig":  {{"zig", "test", "plugin.zig"}, {"zig", "test", "anchor/batch.zig"}},
	"ts":   {{"node", "anchor/test.mjs"}},
}

// checkServices classifies by what the services answer.
func checkServices(t *testing.T, h *host.Host, spec *spec.Spec) {
	t.Helper()
	p, err := h.Load(t.Context(), spec, host.PluginConfig{Grants: host.Grants{Ask: service.Grants{
		Embed: &service.EmbedGrant{Embedder: "words"}, Search: &service.SearchGrant{Collections: []string{"none", "docs", "gone"}},
		LLM: &service.LLMGrant{Models: []string{"large", "small"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := steps.Classifier(p, steps.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if label, err := c.Classify(t.Context(), &pipeline.Query{Text: "q\"ü"}); err != nil || label != servicesLabel {
			t.Errorf("label, %v\n%q, want\n%q", err, label, servicesLabel)
		}
	}
}

// checkVectors reranks by vectors, in each lane that a plugin has.
func checkVectors(t *testing.T, h *host.Host, spec *spec.Spec) {
	t.Helper()
	rerank, err := spec.Operation(abi.OpRerank)
	if err != nil {
		t.Fatal(err)
	}
	for _, lane := range rerank.Lanes {
		p, err := h.Load(t.Context(), spec, host.PluginConfig{Lane: lane})
		if err != nil {
			t.Fatal(err)
		}
		step, err := steps.New(p, abi.OpRerank, steps.Options{})
		if err != nil {
			t.Fatal(err)
		}
		items := []pipeline.Item{{ID: "none"}, {ID: "second"}, {ID: "first"}}
		for i := range items {
			items[i].Content, items[i].Source, items[i].Priority = "x", pipeline.SourceRetrieval, 5
		}
		items[1].SetVector("m", []float32{0.5, 1, 0})
		items[2].SetVector("m", []float32{1, 1, -0.5})
		got, err := step.Run(t.Context(), &pipeline.Query{Text: "q", Embedding: []float32{0.5, 0.25, 0}}, items)
		if err != nil || len(got) != 3 {
			t.Fatalf("%s: %d items, %v", lane, len(got), err)
		}
		if got[0].ID != "first" || got[0].Score != 0.75 || got[1].Score != 0.5 || got[2].ID != "none" || got[2].Score != 0.25 {
			t.Errorf("%s: items %+v", lane, got)
		}
	}
}

// runOwnTests runs the tests of a language in a project with its helper library.
func runOwnTests(t *testing.T, language string) {
	t.Helper()
	if len(ownTests[language]) == 0 {
		return
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "reach", language))); err != nil {
		t.Fatal(err)
	}
	anchor := filepath.Join(dir, "anchor")
	if err := os.RemoveAll(anchor); err != nil { // a link, for editors
		t.Fatal(err)
	}
	helper, err := fs.Sub(sdk.Files, map[string]string{"c": "pdk-c", "rust": "pdk-rust", "zig": "pdk-zig", "ts": "pdk-as"}[language])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(anchor, helper); err != nil {
		t.Fatal(err)
	}
	for _, words := range ownTests[language] {
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CARGO_TARGET_DIR="+filepath.Join(dir, "target"), "ZIG_LOCAL_CACHE_DIR="+filepath.Join(dir, "zig"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(words, " "), err, out)
		}
	}
}
