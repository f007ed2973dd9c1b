package steps_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
)

func TestStepOptions(t *testing.T) {
	p := loadAllops(t, host.PluginConfig{})
	for _, tc := range []struct {
		name string
		op   abi.Operation
		o    steps.Options
		kind error
		want string
	}{
		{"not a step", abi.OpClassify, steps.Options{}, host.ErrNoOperation, `classify: no such operation (a step runs retrieve, process, filter or rerank)`},
		{"unknown setting", abi.OpFilter, steps.Options{Settings: map[string]any{"mim": 1}}, host.ErrConfig,
			`filter: settings: invalid configuration: unknown key "mim" (did you mean "min"?)`},
		{"wrong setting", abi.OpFilter, steps.Options{Settings: map[string]any{"min": "x"}}, host.ErrConfig,
			`filter: settings: invalid configuration: key "min": got string, want number`},
		{"unknown column", abi.OpFilter, steps.Options{Reads: []string{"scores"}}, host.ErrConfig,
			`filter: reads: invalid configuration: unknown column "scores" (want one of id, score, text, metadata, source, priority, token_count, created_at, embedding, query_text, query_embedding, query_metadata, chat_history, none)`},
		{"negative top_k", abi.OpRerank, steps.Options{TopK: -1}, host.ErrConfig, `rerank: top_k -1: invalid configuration (want 1 or more)`},
		{"negative timeout", abi.OpRerank, steps.Options{Timeout: -1}, host.ErrConfig, `rerank: timeout -1ns: invalid configuration (want 0 or more)`},
		{"system in scope", abi.OpFilter, steps.Options{Scope: []pipeline.Source{"system"}}, host.ErrConfig,
			`filter: scope: source "system": invalid configuration (want sources other than system)`},
		{"system as source", abi.OpRetrieve, steps.Options{Source: "system"}, host.ErrConfig,
			`retrieve: source "system": invalid configuration (want a source other than system)`},
		{"priority out of range", abi.OpRetrieve, steps.Options{MaxPriority: 11}, host.ErrConfig,
			`retrieve: max_priority 11: invalid configuration (want 1 to 10)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := steps.New(p, tc.op, tc.o)
			if !errors.Is(err, tc.kind) || err.Error() != `plugin "allops": `+tc.want {
				t.Errorf("error %v\nwant  %s", err, tc.want)
			}
		})
	}
	foreign := load(t, shared(t), "foreign", host.PluginConfig{})
	if _, err := steps.New(foreign, abi.OpFilter, steps.Options{}); !errors.Is(err, host.ErrNoOperation) || !strings.Contains(err.Error(), "called by name") {
		t.Errorf("step of a foreign module: error %v", err)
	}
}

// A guest reads what its manifest and the step name, in both lanes, and nothing
// else.
func TestReadsAreNarrowed(t *testing.T) {
	for _, lane := range lanes {
		p := loadAllops(t, host.PluginConfig{Lane: lane})
		for _, tc := range []struct {
			reads []string
			want  string
		}{
			{nil, `["ONE" "one"]`}, {[]string{"text", "metadata"}, `["ONE" "one"]`}, {[]string{"score"}, `["" ""]`}, {[]string{}, `["" ""]`},
		} {
			s, err := steps.New(p, abi.OpProcess, steps.Options{Reads: tc.reads})
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.Run(t.Context(), &pipeline.Query{}, twoItems())
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(out, func(it pipeline.Item) bool { return it.ID == "a" })
			if got := fmt.Sprintf("[%q %q]", out[i].Content, out[i].Metadata["was"]); got != tc.want {
				t.Errorf("%s, reads %q: %s (want %s)", lane, tc.reads, got, tc.want)
			}
		}
	}
}

// Whatever items hold, both lanes carry it to the guest and back alike.
func TestLanesCarryOddItems(t *testing.T) {
	items := []pipeline.Item{
		{ID: "\xff", Content: "caf\xe9 \x00 \U0001F600", Source: pipeline.SourceRetrieval, Score: 1, Priority: 5,
			Metadata: map[string]any{"n": int64(1) << 60, "f": 0.1, "l": []any{"a", nil, true}, "": map[string]any{"x": int64(-1)}}},
		{ID: "", Content: "", Source: pipeline.SourceTool, Score: 0, Priority: 1, CreatedAt: time.Unix(1, 5)},
		{ID: "c", Content: strings.Repeat("long ", 100_000), Source: pipeline.SourceUser, Score: 0.5, Priority: 10},
	}
	var results []string
	for _, lane := range lanes {
		p := loadAllops(t, host.PluginConfig{Lane: lane})
		s, err := steps.New(p, abi.OpProcess, steps.Options{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.Run(t.Context(), &pipeline.Query{Text: "q\xff", Embedding: []float32{1, 2}, Metadata: map[string]any{"k": "v"},
			ChatHistory: []pipeline.Turn{{Role: pipeline.RoleUser, Content: "hi"}}}, items)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, string(doc))
	}
	if results[0] != results[1] {
		t.Errorf("json lane\n%.2000s\nbatch lane\n%.2000s", results[0], results[1])
	}
}

// What a pipeline takes for granted and the contract or package host states on its own.
func TestDefaultsAreThePipelines(t *testing.T) {
	for _, src := range pipeline.Sources {
		if got, want := abi.DefaultPriority(string(src)), src.DefaultPriority(); got != want {
			t.Errorf("%s has the priority %d, in the pipeline %d", src, got, want)
		}
	}
	if abi.MaxPriority != pipeline.MaxPriority || host.DefaultTopK != pipeline.DefaultTopK {
		t.Errorf("highest priority %d, top_k %d", abi.MaxPriority, host.DefaultTopK)
	}
	h, err := host.New(host.Config{CacheDir: host.CacheOff})
	if err != nil {
		t.Fatal(err)
	}
	tokenizer, err := h.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	if got := tokenizer.Name(); got != pipeline.DefaultEncoding {
		t.Errorf("counts by %q", got)
	}
}
