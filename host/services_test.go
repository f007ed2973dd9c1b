package host_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/internal/ledger"
)

// fakeServices are an embedder, collections and models in memory, of which models answer.
type fakeServices struct{ asked atomic.Int64 }

func (*fakeServices) Embed(context.Context, string, services.Side, []string) (service.Vectors, error) {
	return service.Vectors{}, errors.New("not asked in these tests")
}

func (*fakeServices) Search(context.Context, service.Search) ([]services.SearchHit, error) {
	return nil, errors.New("not asked in these tests")
}

func (f *fakeServices) Ask(_ context.Context, q service.Question) (service.Reply, error) {
	f.asked.Add(1)
	return service.Reply{Text: q.Model + ": " + q.Messages[0].Content, InputTokens: 3, OutputTokens: 2}, nil
}

var allServices = service.Grants{
	Embed: &service.EmbedGrant{Embedder: "local"}, Search: &service.SearchGrant{Collections: []string{"docs", "code"}},
	LLM: &service.LLMGrant{Models: []string{"small", "large"}},
}

// loadServices loads the guest that passes its input to services.
func loadServices(t *testing.T, f *fakeServices, g service.Grants, l host.Limits) *host.Plugin {
	t.Helper()
	l.BreakAfter = host.Unlimited
	h := newHost(t, host.Config{Services: service.Services{Embedder: f, Searcher: f, Models: f}})
	return load(t, h, "services", host.PluginConfig{Grants: host.Grants{Ask: g}, Limits: l})
}

const askHello = `{"requests":[{"messages":[{"role":"user","content":"hello"}]}]}`

// A grant of a service that the host does not have, or that names nothing, is refused.
func TestServiceGrantsAreChecked(t *testing.T) {
	for want, g := range map[string]service.Grants{
		"grants.llm: ": {LLM: &service.LLMGrant{Models: []string{"small"}}}, "grants.llm.models is empty (name at least one)": {LLM: &service.LLMGrant{}},
		"grants.search.collections: \"a\" is there twice": {Search: &service.SearchGrant{Collections: []string{"a", "a"}}},
		"grants.embed.embedder is empty (name one)":       {Embed: &service.EmbedGrant{}},
		"grants.llm: max_calls -1":                        {LLM: &service.LLMGrant{Models: []string{"a"}, MaxCalls: -1}},
	} {
		if _, err := newHost(t, host.Config{}).Load(t.Context(), fixture(t, "services").Spec, host.PluginConfig{Grants: host.Grants{Ask: g}}); !errors.Is(err, host.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// A budget holds for all calls of one build together, however many ask at the same time.
func TestLLMBudget(t *testing.T) {
	f := &fakeServices{}
	g := allServices
	g.LLM = &service.LLMGrant{Models: []string{"small"}, MaxCalls: 20}
	p := loadServices(t, f, g, host.Limits{Instances: 4, Timeout: 20 * time.Second})
	ctx, l := ledger.Under(t.Context())
	var calling sync.WaitGroup
	var spent atomic.Int64
	for range 40 {
		calling.Go(func() {
			r, err := p.Call(ctx, "llm", []byte(askHello))
			if err != nil {
				t.Error(err)
			} else if strings.Contains(string(r.Output), `"error":"budget"`) {
				spent.Add(1)
			}
		})
	}
	calling.Wait()
	if f.asked.Load() != 20 || spent.Load() != 20 {
		t.Errorf("%d questions were asked and %d refused, want 20 each", f.asked.Load(), spent.Load())
	}
	want := ledger.Line{Use: ledger.Use{Service: "llm", Name: "small", Plugin: "services"}, Amount: ledger.Amount{Calls: 40, Failed: 20, InputTokens: 60, OutputTokens: 40}}
	if got := l.Lines(); len(got) != 1 || got[0] != want {
		t.Errorf("used %+v, want %+v", got, want)
	}
	// Without a build, each call has the budget, and not each question.
	g.LLM = &service.LLMGrant{Models: []string{"small"}, MaxTokens: 12}
	p = loadServices(t, f, g, host.Limits{Timeout: 20 * time.Second})
	for range 2 {
		r, err := p.Call(t.Context(), "llm", []byte(`{"requests":[{"messages":[{"role":"user","content":"a"}]},{"messages":[{"role":"user","content":"a"}],"max_tokens":20}]}`))
		if err != nil || strings.Count(string(r.Output), `"error":"budget"`) != 1 {
			t.Errorf("%s, error %v", r.Output, err)
		}
	}
}
