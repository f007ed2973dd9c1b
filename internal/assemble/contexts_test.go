package assemble

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/testkit/modeltest"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/llm"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// placing asks a model once for each item, and notes that as the host does for a plugin.
type placing struct{ model *llm.Model }

func (p placing) Process(ctx context.Context, _ *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	_, l := ledger.Under(ctx)
	for i := range items {
		_, err := p.model.Ask(ctx, llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: items[i].Content}}})
		used := ledger.Amount{Calls: 1}
		if err != nil {
			used.Failed = 1
		}
		l.Note(ledger.Use{Service: "llm", Name: "small", Plugin: "placed"}, used)
		if err != nil {
			return nil, errors.New("the plugin says that a model failed")
		}
		items[i].Metadata["context"] = "where it stands"
	}
	return items, nil
}

// ingestion returns a function that asks for the contexts of the next document of a run, with n chunks.
func ingestion(t *testing.T, text string, answer func(modeltest.Request) modeltest.Answer) (next func(n int) error, server *modeltest.Server, used *ledger.Ledger) {
	t.Helper()
	server = modeltest.New(t, answer)
	l, err := config.Parse("a.yaml", []byte(strings.ReplaceAll(text, "URL", server.URL)))
	if err != nil {
		t.Fatal(err)
	}
	g, err := Open(l, Options{})
	if err != nil {
		t.Fatal(err)
	}
	model, err := g.Model("small")
	if err != nil {
		t.Fatal(err)
	}
	c := &contexter{process: placing{model}, host: new(hostTokenizer), counts: pipeline.WordTokenizer()}
	ctx, used := g.CountIngest(t.Context(), "docs")
	return func(n int) error {
		chunks := make([]*retrieve.Chunk, n)
		for i := range chunks {
			chunks[i] = &retrieve.Chunk{Text: fmt.Sprint("chunk ", i)}
		}
		_, err := c.Contexts(ctx, &retrieve.Document{ID: "d"}, chunks)
		return err
	}, server, used
}

// A document with many chunks is not bound by the budget of a build, but by that of the run, which ends
// and names the key.
func TestBudgetOfAnIngestion(t *testing.T) {
	next, server, used := ingestion(t, `models: {small: {api: openai, base_url: "URL", model: m, max_calls_per_build: 20, retries: 0}}
collections: {docs: {context: {use: p}, context_budget: {max_calls: 200}}}`, nil)
	if err := next(190); err != nil {
		t.Fatal(err)
	}
	err := next(11)
	if !errors.Is(err, retrieve.ErrUnavailable) || !errors.Is(err, ledger.ErrSpent) || !strings.Contains(err.Error(), "200 of 200 calls are made (raise collections.docs.context_budget.max_calls)") {
		t.Errorf("%v", err)
	}
	if n := len(server.Requests()); n != 200 || used.Lines()[0].Calls != 201 {
		t.Errorf("%d requests, used %+v", n, used.Lines())
	}
}

// Without a stated budget there is one all the same.
func TestDefaultBudgetOfAnIngestion(t *testing.T) {
	next, _, _ := ingestion(t, `models: {small: {api: openai, base_url: "URL", model: m, retries: 0}}
collections: {docs: {context: {use: p}}}`, nil)
	if err := next(DefaultContextCalls); err != nil {
		t.Fatal(err)
	}
	if err := next(1); !errors.Is(err, ledger.ErrSpent) {
		t.Errorf("%v", err)
	}
}

// A model that does not answer is asked for three documents in a row and not for a fourth one: the run
// ends. An answer between them begins anew.
func TestDeadModelEndsAnIngestion(t *testing.T) {
	dead := true
	next, server, _ := ingestion(t, `models: {small: {api: openai, base_url: "URL", model: m, retries: 0}}
collections: {docs: {context: {use: p}}}`, func(modeltest.Request) modeltest.Answer {
		if dead {
			return modeltest.Answer{Status: 500}
		}
		return modeltest.Answer{Text: "x"}
	})
	for i, want := range []bool{false, false, true} {
		if err := next(2); err == nil || errors.Is(err, retrieve.ErrUnavailable) != want {
			t.Errorf("document %d: %v", i+1, err)
		}
		if i == 1 {
			dead = false
			if err := next(1); err != nil {
				t.Error(err)
			}
			dead = true
			for range 2 {
				if err := next(1); err == nil || errors.Is(err, retrieve.ErrUnavailable) {
					t.Errorf("after an answer: %v", err)
				}
			}
		}
	}
	if n := len(server.Requests()); n != 6 {
		t.Errorf("%d requests, want one for each document that failed, and one that was answered", n)
	}
}
