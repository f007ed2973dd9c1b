package pipeline

import (
	"fmt"
)

func newStep(cfg StepConfig) (step, error) {
	switch {
	case cfg.Name == "":
		return step{}, fmt.Errorf("name is empty: %w", ErrInvalid)
	case cfg.Step == nil:
		return step{}, fmt.Errorf("step %q: no step: %w", cfg.Name, ErrInvalid)
	case cfg.Timeout < 0:
		return step{}, fmt.Errorf("step %q: timeout %v: %w (want 0 or more)", cfg.Name, cfg.Timeout, ErrInvalid)
	case cfg.OnError != "" && cfg.OnError != Raise && cfg.OnError != Skip:
		return step{}, fmt.Errorf("step %q: on_error %q: %w (want %s or %s)", cfg.Name, cfg.OnError, ErrInvalid, Raise, Skip)
	}
	if cfg.Priority == 0 {
		cfg.Priority = DefaultStepPriority
	}
	if c, ok := cfg.Step.(*classifiedStep); ok {
		own := *c
		own.policy = policy{cfg.OnError, cfg.Timeout}
		cfg.Step, cfg.Timeout = &own, 0
	}
	st := step{StepConfig: cfg, access: accessOf(cfg.Step), module: moduleOf(cfg.Step)}
	st.appender, _ = cfg.Step.(Appender)
	st.writer, _ = cfg.Step.(listWriter)
	return st, nil
}

// joins reports whether next runs at the same time as st.
func (st *step) joins(next *step) bool {
	return st.appender != nil && next.appender != nil && st.Priority == next.Priority
}
