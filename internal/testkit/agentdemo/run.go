package agentdemo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/providers"
)

// Command runs anchor-host once.
type Command func(ctx context.Context, stdin string, args ...string) (code int, stdout, stderr string)

// Options describe a run of the demo.
type Options struct {
	// Config is the configuration, Broken the same with a provider that fails. Observing makes
	// observations of old messages.
	Config, Broken, Observing string
	// Flags are added to every command: plugin folder, cache and store.
	Flags   []string
	Command Command
	// Turns is how many turns are taken, from the first of the [Turns] on. 0 means all. The agent
	// writes its notes when two thirds are over.
	Turns int
}

// assembled is the output of assemble.
type assembled struct {
	Messages    []pipeline.Message
	State       agent.State
	Diagnostics agent.Diagnostics
}

// demo is one run.
type demo struct {
	Options
	counter *agent.Counter
	table   *tabwriter.Writer
	before  *assembled // the call before
	failed  []error
	// seen counts how often each provider changed the list.
	seen map[string]int
}

// Run takes the conversation through assemble and prints a line for each call. The error
// names every broken promise.
func Run(ctx context.Context, w io.Writer, o Options) error {
	counter, err := agent.NewCounter(agent.CounterConfig{})
	if err != nil {
		return err
	}
	if o.Turns == 0 {
		o.Turns = Turns
	}
	d := &demo{Options: o, counter: counter, table: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), seen: map[string]int{}}
	fmt.Fprintln(d.table, "TURN\tMESSAGES\tTOKENS BEFORE\tAFTER\tBUDGET\tCHANGED BY")
	var observed strings.Builder
	err = d.all(ctx)
	d.table.Flush()
	if err == nil {
		err = d.observe(ctx, &observed)
	}
	if err == nil {
		err = d.forms(ctx, &observed)
	}
	if err != nil {
		return err
	}
	for _, name := range []string{providers.ObservationName, providers.CompactionName, providers.TruncationName} {
		d.want(d.seen[name] > 0, 0, "%s never had anything to do", name)
	}
	if len(d.failed) > 0 {
		return errors.Join(d.failed...)
	}
	fmt.Fprintf(w, "\n%d calls: observation wrote %d times, compaction (plugin turn-summary) %d times, truncation cut %d lists.\n"+
		"The budget held at every call, no tool call was parted from its results, write-backs lasted, truncation did not,\n"+
		"and a provider that failed at every call changed nothing.\n",
		d.Turns+1, d.seen[providers.ObservationName], d.seen[providers.CompactionName], d.seen[providers.TruncationName])
	_, err = io.WriteString(w, observed.String())
	return err
}

func (d *demo) all(ctx context.Context) error {
	for n := 1; n <= d.Turns; n++ {
		if n == d.Turns*Notes/Turns {
			if err := d.writeNotes(ctx); err != nil {
				return err
			}
		}
		if err := d.turn(ctx, n, agent.PhaseLLM, turn(n)); err != nil {
			return err
		}
	}
	return d.turn(ctx, d.Turns+1, agent.PhaseSynthesize, []pipeline.Message{}) // a list that is null is refused
}

// The runs in the store: the conversation, and the same with the broken provider.
const (
	runWhole  = "demo"
	runBroken = "demo-broken"
	// runObserving makes observations.
	runObserving = "demo-observing"
)

// writeNotes pushes the same frames to both runs.
func (d *demo) writeNotes(ctx context.Context) error {
	store := d.Flags[slices.Index(d.Flags, "--store")+1]
	for _, run := range []string{runWhole, runBroken} {
		for _, note := range notes {
			code, _, stderr := d.Command(ctx, "", "frames", "push", "--store", store, "--run", run, "--kind", note.kind, note.summary)
			if code != 0 {
				return fmt.Errorf("frames push: code %d: %s", code, stderr)
			}
		}
	}
	return nil
}

// turn assembles the messages of a turn in both runs, and checks them.
func (d *demo) turn(ctx context.Context, n int, phase agent.Phase, messages []pipeline.Message) error {
	input := map[string]any{"messages": messages, "phase": phase}
	if n == 1 {
		input["state"] = agent.State{Data: map[string]any{"account_id": "a-42"}}
	}
	whole, stderr, err := d.assemble(ctx, d.Config, runWhole, input)
	if err != nil {
		return fmt.Errorf("turn %d: %w", n, err)
	}
	d.want(!strings.Contains(stderr, "(left out)"), n, "a provider failed: %s", stderr)
	broken, stderr, err := d.assemble(ctx, d.Broken, runBroken, input)
	if err != nil {
		return fmt.Errorf("turn %d with the broken provider: %w", n, err)
	}
	d.want(strings.Contains(stderr, `provider "crm": `), n, "the broken provider did not fail: %s", stderr)
	d.check(ctx, n, messages, whole)
	d.compare(n, whole, broken)
	d.print(n, whole)
	d.before = whole
	return nil
}

func (d *demo) assemble(ctx context.Context, config, run string, input any) (*assembled, string, error) {
	data, err := json.Marshal(input)
	if err != nil {
		return nil, "", err
	}
	args := append([]string{"assemble", "--config", config, "--run", run, "-o", "json"}, d.Flags...)
	code, stdout, stderr := d.Command(ctx, string(data), args...)
	if code != 0 {
		return nil, "", fmt.Errorf("assemble: code %d: %s", code, stderr)
	}
	a := new(assembled)
	if err := json.Unmarshal([]byte(stdout), a); err != nil {
		return nil, "", fmt.Errorf("assemble: %w", err)
	}
	return a, stderr, nil
}

// print writes the line of a call.
func (d *demo) print(n int, a *assembled) {
	var changed []string
	for _, p := range a.Diagnostics.Providers {
		if p.Outcome == agent.ProviderChanged {
			changed = append(changed, p.Name)
			d.seen[p.Name]++
		}
	}
	title := fmt.Sprint(n)
	if n > d.Turns {
		title = "answer"
	}
	g := &a.Diagnostics
	fmt.Fprintf(d.table, "%s\t%d\t%d\t%d\t%d\t%s\n", title, len(a.Messages), *g.Before.Tokens, *g.After.Tokens, g.Budget.MaxTokens, strings.Join(changed, ", "))
}
