package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// describeWindow writes the numbers of the filled window into the diagnostics.
func (b *build) describeWindow() {
	d, w := b.diag, b.filling.Window
	d.TotalItemsConsidered = len(b.list.items)
	d.ItemsIncluded = len(w.Items)
	d.ItemsOverflow = len(b.filling.Overflow)
	d.TokenUtilization = values.Round4(w.Utilization())
	if b.filling.Counting != nil {
		d.TokenUtilization = values.Round4(float64(b.filling.Counted) / float64(w.MaxTokens))
	}
	if b.writer.filler.Budget() == nil {
		return
	}
	var used [core.NumSources]int
	var present [core.NumSources]bool
	for i := range w.Items {
		s := w.Items[i].Source.Index()
		used[s] += w.Items[i].TokenCount
		present[s] = true
	}
	d.TokenUsageBySource = make(map[Source]int)
	pool := w.UsedTokens
	for s, source := range Sources {
		if present[s] {
			d.TokenUsageBySource[source] = used[s]
		}
	}
	for i := range b.writer.filler.Budget().Allocations {
		pool -= used[b.writer.filler.Budget().Allocations[i].Source.Index()]
	}
	d.SharedPoolUsage = pointer(pool)
}

// keepsSystem returns an error if a system item is not in the window: an answer without its
// instructions is worse than none.
func (b *build) keepsSystem() error {
	var out *OverflowItem
	needed, used := 0, 0
	for i := range b.filling.Overflow {
		if o := &b.filling.Overflow[i]; o.Source == SourceSystem {
			if needed = values.Add(needed, o.TokenCount); out == nil {
				out = o
			}
		}
	}
	if out == nil {
		return nil
	}
	for i := range b.filling.Window.Items {
		if it := &b.filling.Window.Items[i]; it.Source == SourceSystem {
			used += it.TokenCount
		}
	}
	return fmt.Errorf("system items take %d tokens, and there is room for %d: %q is not in the window (%s): %w (shorten them, raise max_tokens, or give the source system more of the budget)",
		values.Add(needed, used), values.Add(used, out.Available), out.ID, out.Reason, ErrBudget)
}

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
