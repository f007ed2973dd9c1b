package pipeline

import (
	"context"
	"testing"
	"time"
)

// listed is a memory of fixed items.
type listed []Item

// Items returns them.
func (l listed) Items(context.Context, *Query) ([]Item, error) { return l, nil }

// Overrides hold for the pipeline that has them alone, and are added to what the pipeline has.
func TestWith(t *testing.T) {
	began := 0
	count := Callback{OnPipelineStart: func(context.Context, *Query) error { began++; return nil }}
	p, err := New(Config{
		Tokenizer: WordTokenizer(), Callbacks: []Callback{count}, SystemPrompts: []SystemPrompt{{Content: "be brief"}}, Memory: listed{},
	})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1000, 0)
	memory := listed{{ID: "m", Content: "own", Source: SourceMemory, Priority: 5}}
	with := p.With(Overrides{Memory: memory, Callbacks: []Callback{count}, Explain: true, Now: func() time.Time { return at }})
	r, err := with.Build(t.Context(), Query{Text: "q"})
	if err != nil || len(r.Window.Items) != 2 || began != 2 || r.Diagnostics.Items == nil || !r.Window.Items[0].CreatedAt.Equal(at) {
		t.Errorf("%+v, %v; %d callbacks", r, err, began)
	}
	r, err = p.Build(t.Context(), Query{Text: "q"})
	if err != nil || len(r.Window.Items) != 1 || began != 3 || r.Diagnostics.Items != nil || r.Window.Items[0].CreatedAt.Equal(at) {
		t.Errorf("without: %+v, %v; %d callbacks", r, err, began)
	}
}
