package agentdemo

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/providers"
)

// want records a failed check. Turn 0 means the whole conversation.
func (d *demo) want(ok bool, n int, format string, args ...any) {
	if !ok {
		d.failed = append(d.failed, fmt.Errorf("turn %d: %s", n, fmt.Sprintf(format, args...)))
	}
}

// check checks the outcome of a call against the promises of the provider chain.
func (d *demo) check(ctx context.Context, n int, fresh []pipeline.Message, a *assembled) {
	tokens, err := d.counter.Total(ctx, a.Messages)
	limit := a.Diagnostics.Budget.MaxTokens
	d.want(err == nil && tokens <= limit, n, "%d tokens, the budget is %d (%v)", tokens, limit, err)
	d.want(a.Diagnostics.After.Tokens != nil && *a.Diagnostics.After.Tokens == tokens, n, "the diagnostics say another number of tokens than %d", tokens)
	if why := split(a.Messages); why != "" {
		d.want(false, n, "%s", why)
	}
	if why := split(a.State.Messages); why != "" {
		d.want(false, n, "state: %s", why)
	}
	d.checkPersistence(n, fresh, a)
	cut := outcome(a, providers.TruncationName)
	if cut.Outcome == agent.ProviderChanged {
		d.want(len(a.State.Messages) == cut.Before.Messages && cut.After.Messages < cut.Before.Messages, n,
			"truncation of %d messages to %d left %d in the state", cut.Before.Messages, cut.After.Messages, len(a.State.Messages))
	}
}

// checkPersistence checks that a call began where the previous one ended: with its state,
// with the messages that observation and compaction wrote back, with the messages that
// truncation left out of the list for the model, and with the new messages.
func (d *demo) checkPersistence(n int, fresh []pipeline.Message, a *assembled) {
	if d.before == nil {
		return
	}
	want := len(d.before.State.Messages) + len(fresh)
	d.want(a.Diagnostics.Before.Messages == want, n, "began with %d messages, want the %d of the state and %d new ones",
		a.Diagnostics.Before.Messages, want-len(fresh), len(fresh))
	for provider, header := range map[string]string{
		providers.ObservationName: providers.DefaultObservationHeader, providers.CompactionName: providers.SummaryHeader,
	} {
		before, after := headed(d.before.State.Messages, header), headed(a.State.Messages, header)
		if outcome(a, provider).Outcome == agent.ProviderChanged {
			d.want(after != "" && after != before, n, "%s changed the list and wrote nothing back", provider)
		} else if provider == providers.ObservationName || outcome(a, providers.CompactionName).Outcome != agent.ProviderChanged {
			d.want(after == before, n, "what %s wrote back did not last", provider)
		}
	}
}

// compare compares the run with the broken provider to the run without it.
func (d *demo) compare(n int, whole, broken *assembled) {
	d.want(equal(whole.Messages, broken.Messages), n, "the broken provider changed the messages")
	state := broken.State
	state.RunID = whole.State.RunID
	d.want(equal(whole.State.Messages, state.Messages), n, "the broken provider changed the messages of the state")
	state.Messages = whole.State.Messages
	d.want(reflect.DeepEqual(whole.State, state), n, "the broken provider changed the state")
	d.want(outcome(broken, "crm").Outcome == agent.ProviderFailed, n, "the broken provider did not fail")
}

func equal(a, b []pipeline.Message) bool {
	return slices.EqualFunc(a, b, func(a, b pipeline.Message) bool { return a.Equal(&b) })
}

// outcome returns the diagnostics of a provider.
func outcome(a *assembled, name string) agent.ProviderDiagnostic {
	for _, p := range a.Diagnostics.Providers {
		if p.Name == name {
			return p
		}
	}
	return agent.ProviderDiagnostic{}
}

// named returns the content of the message of that name, or "".
func headed(messages []pipeline.Message, header string) string {
	for i := range messages {
		if messages[i].Role == pipeline.RoleSystem && strings.HasPrefix(messages[i].Text(), header+"\n") {
			return messages[i].Text()
		}
	}
	return ""
}

// split describes the first tool call without its result, or result without its call; it
// returns "" if there is none.
func split(messages []pipeline.Message) string {
	open := map[string]bool{}
	for i := range messages {
		m := &messages[i]
		if m.Role == pipeline.RoleTool {
			id := m.Results()[0].ID
			if !open[id] {
				return fmt.Sprintf("the result of %s is without its call", id)
			}
			delete(open, id)
			continue
		}
		for id := range open {
			return fmt.Sprintf("the call %s is without its result", id)
		}
		for _, c := range m.Calls() {
			open[c.ID] = true
		}
	}
	for id := range open {
		return fmt.Sprintf("the call %s is without its result", id)
	}
	return ""
}
