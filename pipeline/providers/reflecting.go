package providers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// Reflecting turns the oldest observations of a state into its reflection when they take
// too many tokens. The new reflection also replaces the one so far. If the distiller fails,
// or its answer takes too many tokens or bytes, nothing changes. If this happens until the
// observations take so many tokens that [Observing] stops, [Extract] makes the reflection
// instead. Reflecting is safe for concurrent use if its distiller is.
type Reflecting struct{ cfg ObservingConfig }

// NewReflecting checks the configuration.
func NewReflecting(cfg ObservingConfig) (*Reflecting, error) {
	cfg, err := cfg.checked(ReflectingName)
	if err != nil {
		return nil, err
	}
	return &Reflecting{cfg: cfg}, nil
}

// Name returns ReflectingName.
func (r *Reflecting) Name() string { return ReflectingName }

// Priority returns ReflectingPriority.
func (r *Reflecting) Priority() int { return ReflectingPriority }

// EstimateTokens returns 0, because a reflection takes less than the observations that it
// replaces.
func (r *Reflecting) EstimateTokens(context.Context, *agent.State) (int, error) { return 0, nil }

// Apply changes the observations and the reflection of the state, and not the messages.
// [Observation] puts both into the messages.
func (r *Reflecting) Apply(ctx context.Context, s *agent.State, _ []pipeline.Message, b agent.Budget) ([]pipeline.Message, error) {
	w := r.cfg.waters(b)
	if w.reflectHigh == 0 {
		return nil, nil
	}
	own, foreign := r.cfg.split(s.Observations)
	counts, sum, err := r.cfg.tokens(ctx, own)
	if err != nil || sum <= w.reflectHigh {
		return nil, err
	}
	distiller, old := r.cfg.Reflect, 0
	if sum > w.observations() {
		distiller = Extract{Counter: r.cfg.Counter}
	}
	for ; old < len(own) && sum > w.reflectLow; old++ {
		sum -= counts[old]
	}
	text, err := distiller.Reflect(ctx, agent.Reflecting{
		Observations: slices.Clone(own[:old]), Reflection: s.Reflection, MaxTokens: w.reflection(),
	})
	if text = strings.TrimSpace(text); err != nil {
		return nil, fmt.Errorf("reflect on %d observations: %w", old, err)
	}
	if text == "" {
		return nil, nil
	}
	if err := r.cfg.fit(ctx, "notes", w.reflection(), text); err != nil {
		return nil, fmt.Errorf("reflect on %d observations: %w", old, err)
	}
	s.Reflection, s.Observations = text, slices.Concat(own[old:], foreign)
	return nil, nil
}
