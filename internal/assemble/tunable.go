package assemble

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
)

// Tunable is a step whose results depend on numbers of the configuration: it searches collections,
// or merges the results of several retrievers.
type Tunable struct {
	Step *config.Step
	// Parts are its retrievers, in the order of the configuration.
	Parts []Part
}

// Part is one retriever of a step, which can be asked alone.
type Part struct {
	// Name is that of the entry of retrievers, the instance or the plugin.
	Name string
	// Search has the settings of a search of a collection. It is nil for a plugin.
	Search *config.Retriever
	// Weight is the weight of its results among those of the other parts.
	Weight float64
	// TopK is the number of results that the step asks it for.
	TopK int

	pipeline  *Pipeline
	retriever pipeline.Retriever
}

// Tunables returns the steps of the pipeline that can be tuned.
func (p *Pipeline) Tunables() (list []Tunable, err error) {
	for i := range p.config.Steps {
		s := &p.config.Steps[i]
		t := Tunable{Step: s}
		switch {
		case len(s.Retrievers) > 1:
			for j := range s.Retrievers {
				m := &s.Retrievers[j]
				if err := p.addPart(&t, fmt.Sprintf("steps[%d].retrievers[%d]", i, j), m.Use(), m.Weight, m.TopK); err != nil {
					return nil, &StepError{s.Name, err}
				}
			}
		default:
			for _, name := range p.config.Searches(s) {
				if err := p.addPart(&t, "", &config.Use{Name: name}, 1, 0); err != nil {
					return nil, &StepError{s.Name, err}
				}
			}
		}
		if len(t.Parts) > 0 {
			list = append(list, t)
		}
	}
	return list, nil
}

func (p *Pipeline) addPart(t *Tunable, path string, u *config.Use, weight float64, topK int) error {
	retriever, err := p.plugins.retriever(path, t.Step, u, topK)
	if err != nil {
		return err
	}
	part := Part{
		Name: u.Name, Weight: cmp.Or(weight, 1),
		TopK: cmp.Or(topK, t.Step.TopK, pipeline.DefaultTopK), pipeline: p, retriever: retriever,
	}
	if s, ok := retriever.(*search); ok {
		settings := s.config
		part.Search = &settings
	}
	t.Parts = append(t.Parts, part)
	return nil
}

// Retrieve asks the retriever for the tenant of the configuration. A search of a collection has
// the given settings; nil means its own.
func (p *Part) Retrieve(ctx context.Context, q *pipeline.Query, topK int, settings *config.Retriever) ([]pipeline.Item, error) {
	retriever := p.retriever
	if s, ok := retriever.(*search); ok && settings != nil {
		other := *s
		other.config = *settings
		retriever = &other
	}
	own := p.pipeline
	ctx = host.WithTenant(own.generation.tokenizer.counting(ctx, own.parts.Tokenizer), own.config.TenantName())
	items, err := retriever.Retrieve(ctx, q, topK)
	if err != nil {
		return nil, fmt.Errorf("retriever %q: %w", p.Name, err)
	}
	return slices.Clip(items[:min(len(items), topK)]), nil
}
