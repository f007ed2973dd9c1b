package assemble

import (
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
)

// A build compiles nothing unless it overrides what is compiled.
func TestPipelinesAreCompiledOnce(t *testing.T) {
	c := &config.Config{Counting: config.Counting{Tokenizer: config.Choice{Name: "words"}}, Steps: []config.Step{{Name: "best", Use: config.Use{Name: "rerank"}}}}
	g, err := Open(LoadedOf(c), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close(t.Context())
	p, err := g.Pipeline(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := g.Pipeline(t.Context(), ""); again != p || err != nil {
		t.Errorf("the pipeline is compiled again: %v", err)
	}
	own, smaller := *p.config, *p.config
	own.Tenant, smaller.MaxTokens = "acme", 5
	for name, o := range map[string]Overrides{
		"nothing":        {Config: p.config},
		"a tenant":       {Config: &own, Overrides: pipeline.Overrides{Explain: true, Partial: true, Callbacks: []pipeline.Callback{{}}}},
		"a window":       {Config: &smaller, Reshaped: true},
		"a step":         {Config: p.config, Items: []pipeline.Item{}},
		"fewer steps":    {Config: p.config, Skip: []string{"best"}},
		"another format": {Config: p.config, Reshaped: true, Formatter: failing{}},
	} {
		got, counts, err := p.overridden(&o)
		same := o.Items == nil && o.Skip == nil && !o.Reshaped
		if err != nil || (got == p.compiled) != same || counts != p.parts.Tokenizer {
			t.Errorf("%s: the compiled pipeline: %t, want %t; %v", name, got == p.compiled, same, err)
		}
	}
}
