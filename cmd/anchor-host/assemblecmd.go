package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/request"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// assembleFlags are the flags of assemble that do not override a key of anchor.yaml.
type assembleFlags struct {
	run, output     string
	explain, strict bool
}

func (a *app) assembleCommand() *cobra.Command {
	var f assembleFlags
	cmd := &cobra.Command{
		Use:   "assemble [flags] [FILE]",
		Short: "Prepare the messages of an agent for a model call",
		Long: `Run the provider chain over the messages of an agent and print the list for the
model. The chain consists of the built-in providers, configured under agent in
anchor.yaml, and of the plugins under providers. They run by ascending priority.
The built-in ones are observation (10), compaction (20) and truncation (30).
agent.observation.make adds two more: observing (7) turns old messages into
observations, and reflecting (8) turns old observations into a reflection. A
provider that fails changes nothing and leaves one line on stderr.

The input is a JSON list of messages, on stdin or in FILE, or an object:

  {"messages": [{"role", "content", "name", "tool_calls", "tool_call_id"}],
   "state": {"run_id", "messages", "observations", "reflection", "data"},
   "budget": {"max_tokens", "max_messages"}, "phase": "llm" | "synthesize"}

Messages have the form of the API that the agent calls. Their content may be a
list of parts. Members that are not named here are returned unchanged. A tool call
and its results are kept or dropped together; a result that does not fit is cut.

A flag overrides the input. The input overrides the environment and anchor.yaml.
The variables ANCHOR_HOST_AGENT_OBSERVATION, ANCHOR_HOST_AGENT_COMPACTION,
ANCHOR_HOST_AGENT_TRUNCATION and ANCHOR_HOST_AGENT_FRAMES switch the built-in
providers on or off: true or false.

With --run the state is kept in the store. The input then holds only the messages
since the last call; they are appended to those of the state. The state keeps what
observing, observation and compaction write back, and frames of the run become
observations. A state in the input replaces the stored one. Without --run the
input holds the whole list; -o json also prints the state for the next call.`,
		Example: `  anchor-host assemble --max-tokens 16000 < messages.json
  echo '[{"role": "user", "content": "go on"}]' | anchor-host assemble --run fix-42 --explain
  anchor-host assemble --run fix-42 --phase synthesize -o json < /dev/null`,
		Args: cobra.MaximumNArgs(1),
	}
	f.register(cmd)
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		if err := cli.CheckFormat(cmd, f.output, "messages", "json"); err != nil {
			return err
		}
		if err := checkSelectors(cmd); err != nil {
			return err
		}
		path := "-"
		if len(args) == 1 {
			path = args[0]
		}
		return a.assemble(cmd, &f, path)
	})
	return cmd
}

// register adds the flags to the command.
func (f *assembleFlags) register(cmd *cobra.Command) {
	cli.HostFlags(cmd)
	storeFlags(cmd)
	flags := cmd.Flags()
	flags.Int("max-tokens", 0, "maximum tokens of all messages together")
	cli.SettingFlag(cmd, "max-tokens", "agent.max_tokens")
	flags.Int("max-messages", 0, "maximum number of messages")
	flags.String("phase", "", "what the messages are for: llm (a call of the loop) or synthesize (the final answer)")
	flags.String("tokenizer", "", "words, cl100k_base, o200k_base, p50k_base or r50k_base")
	flags.String("timeout", "", "time limit of the whole run, such as 10s")
	flags.StringVar(&f.run, "run", "", "keep the state of this agent run in the store")
	flags.StringVarP(&f.output, "output", "o", "messages", "output: messages (the list) or json (with state and diagnostics)")
	flags.BoolVar(&f.explain, "explain", false, "print on stderr what each provider did")
	flags.BoolVar(&f.strict, "strict", false, "exit with 8 when a provider or the tokenizer fails or the budget is exceeded")
}

// assemble reads, runs and prints.
func (a *app) assemble(cmd *cobra.Command, f *assembleFlags, path string) error {
	loaded, err := a.Load(cmd)
	if err != nil {
		return err
	}
	input, err := a.messages(path, f.run != "")
	if err != nil {
		return err
	}
	options := assembleOptions(cmd, input)
	options.Run = f.run
	result, err := a.runChain(cmd.Context(), loaded, input.Messages, options)
	if err != nil {
		return err
	}
	if err := a.printAssembly(f, result); err != nil {
		return err
	}
	a.Say("%s", chainSummary(result.Diagnostics))
	return degradedChain(f.strict, result.Diagnostics)
}

// messages reads the input. Empty input means no new messages if the run is stored.
func (a *app) messages(path string, stored bool) (*request.Messages, error) {
	r, name, err := a.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	defer r.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(io.LimitReader(r, request.MaxBytes+1)); err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	if stored && len(bytes.TrimSpace(b.Bytes())) == 0 {
		return &request.Messages{}, nil
	}
	return request.ReadMessages(name, &b)
}

// assembleOptions are the options of an assembly: what the input states, unless a flag
// says otherwise.
func assembleOptions(cmd *cobra.Command, in *request.Messages) anchor.AssembleOptions {
	o := anchor.AssembleOptions{State: in.State}
	if !cmd.Flags().Changed("max-tokens") {
		o.MaxTokens = in.Budget.MaxTokens
	}
	if !cmd.Flags().Changed("max-messages") {
		o.MaxMessages = in.Budget.MaxMessages
	}
	if !cmd.Flags().Changed("phase") {
		o.Phase = in.Phase
	}
	return o
}

// runChain runs the provider chain and reports on stderr which providers were left out.
func (a *app) runChain(ctx context.Context, loaded *config.Loaded, messages []pipeline.Message, o anchor.AssembleOptions) (*anchor.Assembled, error) {
	progress := cli.NewProgress(a.App)
	defer progress.Stop()
	progress.Start("preparing the messages")
	front, err := anchor.Open(ctx, loaded, anchor.Options{
		Logger: a.Logger(&loaded.Config), OnCompile: progress.Compiling, Lazy: true,
	})
	if err != nil {
		return nil, err
	}
	defer front.Close(context.WithoutCancel(ctx)) // all changes are on disk by now
	result, err := front.Assemble(ctx, messages, o)
	progress.Stop()
	if result != nil {
		a.reportChain(result.Diagnostics)
	}
	return result, err
}

// reportChain prints one line for each provider that was left out, and for each other problem.
func (a *app) reportChain(d *agent.Diagnostics) {
	for _, p := range d.Providers {
		if p.Outcome == agent.ProviderFailed {
			a.Say("provider %q: %s (left out)", p.Name, cli.OneCell(p.Message))
		}
		if len(p.CutResults) > 0 {
			a.Say("warning: provider %q cut the results of tool calls that do not fit: %s", p.Name, cli.OneCell(strings.Join(p.CutResults, ", ")))
		}
	}
	if d.SkippedTokenizer != "" {
		a.Say("tokenizer: %s (skipped)", cli.OneCell(d.SkippedTokenizer))
	}
	for _, w := range d.Warnings {
		a.Say("warning: %s", cli.OneCell(w))
	}
	if over := overBudget(d); over != "" {
		a.Say("warning: %s", over)
	}
}

// overBudget describes by how much a list exceeds its budget. It is empty if the list fits.
func overBudget(d *agent.Diagnostics) string {
	switch {
	case d.TokensOver > 0:
		return fmt.Sprintf("the messages exceed max_tokens %d by %d (system messages, the newest user message and a final tool call are never dropped: raise the budget or shorten messages)", d.Budget.MaxTokens, d.TokensOver)
	case d.MessagesOver > 0:
		return fmt.Sprintf("the messages exceed max_messages %d by %d", d.Budget.MaxMessages, d.MessagesOver)
	}
	return ""
}

// degradedChain returns the error of a degraded run under --strict, nil otherwise.
func degradedChain(strict bool, d *agent.Diagnostics) error {
	failed := 0
	for _, p := range d.Providers {
		if p.Outcome == agent.ProviderFailed {
			failed++
		}
	}
	switch {
	case !strict:
	case failed > 0:
		return fmt.Errorf("%w: %d of the providers left out (--strict)", cli.ErrDegraded, failed)
	case d.SkippedTokenizer != "":
		return fmt.Errorf("%w: the tokenizer skipped (--strict)", cli.ErrDegraded)
	case overBudget(d) != "":
		return fmt.Errorf("%w: the budget is exceeded (--strict)", cli.ErrDegraded)
	}
	return nil
}

// printAssembly writes the messages, and the state and the explanation if the flags ask for them.
func (a *app) printAssembly(f *assembleFlags, result *anchor.Assembled) error {
	messages := result.Messages
	if messages == nil {
		messages = []pipeline.Message{}
	}
	var doc any = messages
	if f.output == "json" {
		doc = struct {
			Messages    []pipeline.Message `json:"messages"`
			State       *agent.State       `json:"state"`
			Diagnostics *agent.Diagnostics `json:"diagnostics"`
		}{messages, result.State, result.Diagnostics}
	}
	var b bytes.Buffer
	if err := cli.WriteJSON(&b, doc); err != nil {
		return err
	}
	if f.explain {
		var e bytes.Buffer
		explainChain(&e, result.Diagnostics)
		if _, err := a.Err.Write(e.Bytes()); err != nil {
			return fmt.Errorf("write explanation: %w", err)
		}
	}
	return a.Emit(&b)
}

// explainChain writes what each provider did as a table.
func explainChain(b *bytes.Buffer, d *agent.Diagnostics) {
	var rows [][]string
	for i := range d.Providers {
		p := &d.Providers[i]
		note := string(p.Outcome)
		if p.Outcome == agent.ProviderFailed {
			note += ": " + cli.OneCell(cmp.Or(p.Reason, p.Message))
		}
		if p.EstimatedTokens != nil {
			note += fmt.Sprintf(", estimated %d tokens", *p.EstimatedTokens)
		}
		rows = append(rows, []string{
			cli.OneCell(p.Name), strconv.Itoa(p.Priority), arrow(p.Before.Messages, p.After.Messages),
			tokenArrow(p.Before, p.After), cli.Millis(p.TimeMS), cli.Fuel(p.Fuel), note,
		})
	}
	rows = append(rows, []string{
		"all", "", arrow(d.Before.Messages, d.After.Messages), tokenArrow(d.Before, d.After), cli.Millis(d.TimeMS), "", "",
	})
	cli.Table(b, []string{"PROVIDER", "PRIORITY", "MESSAGES", "TOKENS", "TIME", "FUEL", "OUTCOME"}, rows)
}

// arrow shows a number before and after a change. A number that did not change is shown once.
func arrow(before, after int) string {
	if before == after {
		return strconv.Itoa(after)
	}
	return fmt.Sprintf("%d → %d", before, after)
}

func tokenArrow(before, after agent.ListSize) string {
	if before.Tokens == nil || after.Tokens == nil {
		return "-"
	}
	return arrow(*before.Tokens, *after.Tokens)
}

// chainSummary describes the assembly in one line.
func chainSummary(d *agent.Diagnostics) string {
	return fmt.Sprintf("messages: %s; tokens: %s of %d; %.0f ms", arrow(d.Before.Messages, d.After.Messages),
		tokenArrow(d.Before, d.After), d.Budget.MaxTokens, d.TimeMS)
}
