package factmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/testkit/modeltest"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/llm"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

var known = []memory.Entry{{ID: "a-long-id", Content: "Ann is in Oslo."}, {ID: "b", Content: "Ann likes tea."}}

func newExtractor(t *testing.T, api llm.API, answer func(modeltest.Request) modeltest.Answer, budget ledger.Limit) (*Extractor, *modeltest.Server) {
	t.Helper()
	s := modeltest.New(t, answer)
	m, err := llm.New(llm.Options{Name: "small", API: api, BaseURL: s.URL, Model: "m", Retries: -1, Budget: budget, Cache: llm.NewCache(1 << 20)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	named := &Model{"small", m}
	return &Extractor{Extracts: named, Consolidates: named}, s
}

func turns(texts ...string) (out []pipeline.Turn) {
	for _, text := range texts {
		out = append(out, pipeline.Turn{Role: pipeline.RoleUser, Content: text})
	}
	return out
}

// A model sees the turns and the facts by number. Its answer names facts by their real ids.
func TestExtract(t *testing.T) {
	for _, api := range []llm.API{llm.OpenAI, llm.Anthropic} {
		x, s := newExtractor(t, api, func(modeltest.Request) modeltest.Answer {
			return modeltest.Answer{Text: `{"add":[{"content":"Ann has a cat.","tags":["pets"]}],"update":[{"id":"1","content":"Ann is in Bergen."}],"remove":["2"]}`, Input: 100, Output: 20}
		}, ledger.Limit{})
		ctx, used := ledger.Under(t.Context())
		for range 2 { // the second answer is kept
			got, err := x.Extract(ctx, turns("I moved to Bergen with my cat", strings.Repeat("é", 100_000)), known)
			if err != nil || len(got.Add) != 1 || got.Add[0].Content != "Ann has a cat." || got.Add[0].Tags[0] != "pets" ||
				len(got.Update) != 1 || got.Update[0].ID != "a-long-id" || got.Update[0].Content != "Ann is in Bergen." || len(got.Remove) != 1 || got.Remove[0] != "b" {
				t.Fatalf("%s: %+v, %v", api, got, err)
			}
		}
		requests := s.Requests()
		if last := requests[0].Last(); len(requests) != 1 || strings.Contains(last, "a-long-id") || !strings.Contains(last, "Bergen") || len(last) > 2*maxTurn || !json.Valid([]byte(last)) {
			t.Errorf("%s: %d requests, the first has %d bytes", api, len(requests), len(last))
		}
		want := ledger.Line{Use: ledger.Use{Service: "llm", Name: "small"}, Amount: ledger.Amount{Calls: 2, Cached: 1, InputTokens: 100, OutputTokens: 20}}
		if lines := used.Lines(); len(lines) != 1 || lines[0] != want {
			t.Errorf("%s: used %+v", api, lines)
		}
	}
}

// Nothing of an answer is used that is not what was asked for, and no error repeats it.
func TestAnswersAreChecked(t *testing.T) {
	long := strings.Repeat("x", maxContent+1)
	many := strings.TrimSuffix(strings.Repeat(`{"content":"secret","tags":[]},`, maxAdded+1), ",")
	for name, answer := range map[string]string{
		"no JSON":           `Sure! secret`,
		"another form":      `{"facts":["secret"]}`,
		"a list":            `[]`,
		"null":              `null`,
		"unknown member":    `{"add":[],"update":[],"remove":[],"secret":1}`,
		"too many":          `{"add":[` + many + `],"update":[],"remove":[]}`,
		"too long":          `{"add":[{"content":"` + long + `","tags":[]}],"update":[],"remove":[]}`,
		"empty":             `{"add":[{"content":" ","tags":[]}],"update":[],"remove":[]}`,
		"an owner":          `{"add":[{"content":"x","tags":[],"user_id":"secret"}],"update":[],"remove":[]}`,
		"unknown id":        `{"add":[{"content":"x","tags":[]}],"update":[{"id":"3","content":"secret"}],"remove":[]}`,
		"a real id":         `{"add":[],"update":[],"remove":["b"]}`,
		"id twice":          `{"add":[],"update":[{"id":"1","content":"x"}],"remove":["1"]}`,
		"id is a number":    `{"add":[],"update":[],"remove":[1]}`,
		"id in other forms": `{"add":[],"update":[],"remove":["01"]}`,
		"more ids":          `{"add":[],"update":[],"remove":["1","2","1"]}`,
		"many tags":         `{"add":[{"content":"x","tags":["` + strings.Repeat(`a","`, maxTags) + `a"]}],"update":[],"remove":[]}`,
	} {
		x, _ := newExtractor(t, llm.OpenAI, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: answer} }, ledger.Limit{})
		got, err := x.Extract(t.Context(), turns("hello"), known)
		if err == nil || len(got.Add)+len(got.Update)+len(got.Remove) > 0 || errors.Is(err, retrieve.ErrUnavailable) {
			t.Errorf("%s: %+v, %v", name, got, err)
		} else if strings.Contains(err.Error(), "secret") || len(err.Error()) > 300 {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	// A model that merges facts must not add any.
	x, s := newExtractor(t, llm.OpenAI, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: `{"add":[{"content":"x","tags":[]}],"update":[],"remove":["2"]}`}
	}, ledger.Limit{})
	if _, err := x.Extract(t.Context(), nil, known); err == nil || strings.Contains(s.Requests()[0].Last(), "turns") {
		t.Errorf("consolidation adds a fact: %v", err)
	}
	if _, err := (&Extractor{}).Extract(t.Context(), turns("x"), nil); !errors.Is(err, errNoModel) {
		t.Errorf("without a model: %v", err)
	}
}

// A model that does not work for now is told apart from one that answers wrongly.
func TestModelIsUnavailable(t *testing.T) {
	x, s := newExtractor(t, llm.OpenAI, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Status: 500, Raw: "{}"} }, ledger.Limit{Calls: 1})
	ctx, used := ledger.Under(t.Context())
	for i := range 2 { // the second is over budget
		if _, err := x.Extract(ctx, turns(fmt.Sprint(i)), known); !errors.Is(err, retrieve.ErrUnavailable) || errors.Is(err, ledger.ErrSpent) != (i == 1) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if lines := used.Lines(); len(lines) != 1 || lines[0].Failed != 2 || len(s.Requests()) != 1 {
		t.Errorf("used %+v, %d requests", lines, len(s.Requests()))
	}
}

// FuzzAnswer holds that any answer gives changes of known facts, each once, or an error.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"add":[{"content":"x","tags":["y"]}],"update":[{"id":"1","content":"x"}],"remove":["2"]}`)
	f.Add(`{"update":[],"remove":[]}`)
	f.Add(`[`)
	f.Fuzz(func(t *testing.T, data string) {
		a := answer{known: known, maxAdded: maxAdded}
		if a.read(json.RawMessage(data)) != nil {
			return
		}
		seen := map[string]bool{}
		ids := append([]string{}, a.extraction.Remove...)
		for _, e := range a.extraction.Update {
			ids = append(ids, e.ID)
		}
		for _, id := range ids {
			if seen[id] || id != "a-long-id" && id != "b" {
				t.Fatalf("%q changes %q", data, ids)
			}
			seen[id] = true
		}
	})
}
