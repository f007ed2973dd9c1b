package pipeline

import (
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// step is a configured step and what the build needs to know about it.
type step struct {
	StepConfig
	appender Appender   // nil for a step that is none
	writer   listWriter // nil for a step that is none
	access   access
	module   explain.ModuleInfo
	group    int // on the first of a group: how many run at the same time
}

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
	st := step{StepConfig: cfg, access: accessOf(cfg.Step), module: moduleOf(cfg.Step)}
	st.appender, _ = cfg.Step.(Appender)
	st.writer, _ = cfg.Step.(listWriter)
	return st, nil
}

// joins reports whether next runs at the same time as st.
func (st *step) joins(next *step) bool {
	return st.appender != nil && next.appender != nil && st.Priority == next.Priority
}
