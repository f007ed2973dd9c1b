package steps_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// lengths is an embedder whose vectors are the number of bytes, and 1 for a question. It notes what
// it is asked.
type lengths struct {
	mu    sync.Mutex
	asked []string
	fail  error
}

func (e *lengths) Model(context.Context) (retrieve.Model, error) {
	return retrieve.Model{ID: "lengths", Dimension: 2}, nil
}

func (e *lengths) Embed(_ context.Context, side retrieve.Side, texts []string) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, fmt.Sprintf("%s %q", side, texts))
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = []float32{float32(len(text)), 0}
		if side == retrieve.SideQuery {
			out[i][1] = 1
		}
	}
	return out, e.fail
}

// seeing is allops with a filter that reads the given columns and parts.
func seeing(t *testing.T, names ...string) *spec.Spec {
	t.Helper()
	s := reading(t, abi.OpFilter, names)
	for i := range s.Operations {
		if s.Operations[i].Operation == abi.OpFilter {
			s.Operations[i].Reads, _, _ = abi.ReadsOf(abi.OpFilter, names)
		}
	}
	return s
}

// vectorsSeen builds with a filter that tells the vectors that it received, and returns them.
func vectorsSeen(t *testing.T, s *spec.Spec, lane host.Lane, e retrieve.Embedder, q pipeline.Query, items ...pipeline.Item) string {
	t.Helper()
	step := must[pipeline.Step](t)(steps.New(loadSpec(t, shared(t), s, host.PluginConfig{Lane: lane}), abi.OpFilter, steps.Options{Settings: map[string]any{"mode": "vectors"}}))
	source := pipeline.StepFunc(func(context.Context, *pipeline.Query, []pipeline.Item) ([]pipeline.Item, error) { return items, nil })
	p, err := pipeline.New(pipeline.Config{Tokenizer: pipeline.WordTokenizer(), Embedder: e,
		Steps: []pipeline.StepConfig{{Name: "source", Step: source}, {Name: "seen", Step: step}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Build(t.Context(), q)
	if err == nil {
		t.Fatal("the guest told nothing")
	}
	text := err.Error()
	return text[strings.LastIndex(text, ": ")+2:]
}

// Items have the vectors of their retriever, the embedder of the pipeline makes the missing ones
// of a build together, and only for a guest that reads them.
func TestVectorsAreSent(t *testing.T) {
	item := func(text, model string, v ...float32) pipeline.Item {
		it := pipeline.Item{ID: text, Content: text, Source: pipeline.SourceRetrieval, Priority: 5, Score: 0.5}
		it.SetVector(model, v)
		return it
	}
	list := []pipeline.Item{item("abc", "lengths", 7, 8), item("four!", "other", 9, 9), item("four!", ""), item(" ", "")}
	query := pipeline.Query{Text: "why?"}
	for _, lane := range []host.Lane{host.LaneBatch, host.LaneJSON} {
		for _, tc := range []struct {
			name  string
			reads []string
			e     *lengths
			query pipeline.Query
			want  string
			asked string
		}{
			{"both", []string{"embedding", "query_embedding"}, &lengths{}, query, "2 [7 8][5 0][5 0][] [4 1]", `[document ["four!"] query ["why?"]]`},
			{"rows", []string{"embedding", "none"}, &lengths{}, query, "2 [7 8][5 0][5 0][] []", `[document ["four!"]]`},
			{"the caller's", []string{"query_embedding"}, &lengths{}, pipeline.Query{Text: "why?", Embedding: []float32{0.5, 0.25}}, "0 [][][][] [0.5 0.25]", `[]`},
			{"whole query", []string{"score"}, &lengths{}, query, "0 [][][][] []", `[]`},
			{"other dimension", []string{"query_embedding"}, &lengths{}, pipeline.Query{Text: "why?", Embedding: []float32{1}}, "invalid value (want 2, those of lengths, or leave it out)", `[]`},
			{"no embedder", []string{"embedding", "query_embedding"}, nil, query, "2 [7 8][][][] []", ""},
			{"failure", []string{"embedding"}, &lengths{fail: errors.New("no server")}, query, "no server", `[document ["four!"]]`},
		} {
			t.Run(fmt.Sprint(lane, " ", tc.name), func(t *testing.T) {
				var e retrieve.Embedder
				if tc.e != nil {
					tc.e.asked, e = nil, tc.e
				}
				got := vectorsSeen(t, seeing(t, tc.reads...), lane, e, tc.query, list...)
				if got != tc.want {
					t.Errorf("the guest saw %s, want %s", got, tc.want)
				}
				if tc.e != nil && fmt.Sprint(tc.e.asked) != tc.asked {
					t.Errorf("asked for %s, want %s", tc.e.asked, tc.asked)
				}
			})
		}
	}
}

// An operator who narrows the columns narrows vectors too, and nothing is embedded for nobody.
func TestNarrowedVectors(t *testing.T) {
	e := &lengths{}
	s := seeing(t, "embedding", "query_embedding")
	step := must[pipeline.Step](t)(steps.New(loadSpec(t, shared(t), s, host.PluginConfig{}), abi.OpFilter,
		steps.Options{Settings: map[string]any{"mode": "vectors"}, Reads: []string{"score", "query_text"}}))
	p, err := pipeline.New(pipeline.Config{Tokenizer: pipeline.WordTokenizer(), Embedder: e,
		Steps: []pipeline.StepConfig{{Name: "seen", Step: step}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Build(t.Context(), pipeline.Query{Text: "why?"}); err == nil || len(e.asked) > 0 {
		t.Errorf("error %v, asked for %v", err, e.asked)
	}
}
