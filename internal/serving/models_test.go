package serving

import (
	"context"
	"net/http"
	"testing"

	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/pipeline/llm"
)

type seen struct{ work []observe.Work }

func (s *seen) Begin(ctx context.Context, w observe.Work) (context.Context, observe.Ending) {
	s.work = append(s.work, w)
	return ctx, s
}

func (*seen) Header(context.Context, http.Header) {}

func (*seen) End(observe.Result) {}

type silent struct{}

func (silent) Ask(context.Context, llm.Request) (llm.Answer, error) { return llm.Answer{}, nil }

// A model in Go whose entry names no model goes by the name of the entry in traces, as in prices.
func TestNameOfModelInGo(t *testing.T) {
	own := func(string, map[string]any) (llm.Asker, error) { return silent{}, nil }
	for model, want := range map[string]string{"": "mine", "small-1": "small-1"} {
		m, s := NewModels(map[string]config.Model{"mine": {Use: "silent", Model: model}}, nil, own), new(seen)
		q := service.Question{}
		q.Model = "mine"
		if _, err := m.Ask(observe.Under(t.Context(), s), q); err != nil {
			t.Fatal(err)
		}
		if len(s.work) != 1 || s.work[0].ServerModel != want {
			t.Errorf("model %q: %+v, want %q", model, s.work, want)
		}
	}
}
