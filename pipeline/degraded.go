package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// noteUnanswered notes that something gave no answer and is left out or replaced. what names it.
func noteUnanswered(ctx context.Context, what string, err error) {
	d := core.Degradation{Kind: core.KindUnanswered, Plugin: PluginOf(err), Reason: cmp.Or(ReasonOf(err), "unavailable"), Message: what + ": " + observe.Text(ctx, err)}
	if errors.Is(err, retrieve.ErrNotFound) {
		d.Kind, d.Reason = core.KindMissing, "not_found"
	}
	core.Degraded(ctx, d)
}

// maxLost bounds the lines of [Diagnostics.Lost] that degradations repeat.
const maxLost = 20

// degraded returns what the window lacks.
func (b *build) degraded() (list []core.Degradation) {
	d := b.diag
	for i := range d.StepFailures {
		f := &d.StepFailures[i]
		list = append(list, core.Degradation{Kind: core.KindSkipped, Step: f.Step, Plugin: f.Plugin, Reason: f.Reason, Message: f.Message})
	}
	list = append(list, b.noted...)
	for _, line := range d.Lost[:min(len(d.Lost), maxLost)] {
		list = append(list, core.Degradation{Kind: core.KindDropped, Reason: "lost", Message: line})
	}
	if more := len(d.Lost) - maxLost; more > 0 {
		list = append(list, core.Degradation{Kind: core.KindDropped, Reason: "lost", Message: fmt.Sprintf("%d more parts of turns are left out", more)})
	}
	for i := range d.Services {
		if s := &d.Services[i]; s.Failed > 0 {
			list = append(list, core.Degradation{
				Kind: core.KindUnanswered, Plugin: s.Plugin, Reason: "unanswered", Message: fmt.Sprintf("%s %q: %d of %d requests have no answer", s.Service, s.Name, s.Failed, s.Calls),
			})
		}
	}
	return list
}

// note enters what a step has noted.
func (b *build) note(st *step, run *stepRun) {
	for _, d := range run.notes.List() {
		d.Step, d.Plugin = st.Name, cmp.Or(d.Plugin, st.module.Plugin)
		b.noted = append(b.noted, d)
	}
}
