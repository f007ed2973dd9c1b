package agentdemo

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// observe takes the conversation through a chain that makes observations, and prints what
// became of it.
func (d *demo) observe(ctx context.Context, w io.Writer) error {
	var last *assembled
	reflections, before := 0, ""
	messages := 0
	for n := 1; n <= d.Turns; n++ {
		fresh := turn(n)
		messages += len(fresh)
		a, stderr, err := d.assemble(ctx, d.Observing, runObserving, map[string]any{"messages": fresh, "phase": agent.PhaseLLM})
		if err != nil {
			return fmt.Errorf("turn %d with observations: %w", n, err)
		}
		d.want(!strings.Contains(stderr, "left out"), n, "a provider of observations failed: %s", stderr)
		d.checkObserved(ctx, n, a)
		if a.State.Reflection != before {
			reflections, before = reflections+1, a.State.Reflection
		}
		last = a
	}
	s := &last.State
	d.want(len(s.Observations) > 0 && reflections > 0, d.Turns, "%d observations, %d reflections were made", len(s.Observations), reflections)
	d.want(len(s.Messages) < messages/4, d.Turns, "%d of %d messages are left in the state", len(s.Messages), messages)
	notes, err := d.counter.Total(ctx, []pipeline.Message{message.New(pipeline.RoleSystem, s.Reflection)})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe same turns with observations (no model): of %d messages %d are left as they were, the others are %d observations\n"+
		"and a reflection of %d tokens, which was made %d times.\n", messages, len(s.Messages), len(s.Observations), notes, reflections)
	return nil
}

// checkObserved holds a call against the promises that also bind a chain with observations.
func (d *demo) checkObserved(ctx context.Context, n int, a *assembled) {
	tokens, err := d.counter.Total(ctx, a.Messages)
	limit := a.Diagnostics.Budget.MaxTokens
	d.want(err == nil && tokens <= limit, n, "with observations %d tokens, the budget is %d (%v)", tokens, limit, err)
	for _, list := range [][]pipeline.Message{a.Messages, a.State.Messages} {
		if why := split(list); why != "" {
			d.want(false, n, "with observations: %s", why)
		}
	}
}
