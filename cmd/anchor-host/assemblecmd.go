package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/parts"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/tracing"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/request"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// assembleFlags are the flags of assemble that do not override a key of anchor.yaml.
type assembleFlags struct {
	run, user              string
	output, from, to       string
	explain, strict, lossy bool
}

func (a *app) assembleCommand() *cobra.Command {
	var f assembleFlags
	cmd := &cobra.Command{
		Use:   "assemble [flags] [FILE]",
		Short: "Prepare the messages of an agent for a model call",
		Long: `Run the provider chain over the messages of an agent and print the list for the model.
The input is JSON, on stdin or in FILE: a list of messages, the body of a request to the
API of Anthropic, OpenAI (Chat Completions or Responses) or Gemini, or an object with
messages, state, budget and phase (docs/agents.md). The output has the form of the input;
--to writes it for another API.

A tool call and its results are kept or dropped together, and a result that does not fit
is cut. A provider that fails changes nothing and leaves one line on stderr. With --run
the state is kept in the store, and the input holds only the messages since the last call.`,
		Example: `  anchor-host assemble --max-tokens 16000 < messages.json
  echo '[{"role": "user", "content": "go on"}]' | anchor-host assemble --run fix-42 --explain
  anchor-host assemble --max-tokens 100000 request.json > shorter.json
  anchor-host assemble --to openai-responses --lossy anthropic-request.json
  anchor-host assemble --run fix-42 --phase synthesize -o json < /dev/null`,
		Args: cobra.MaximumNArgs(1),
	}
	f.register(cmd)
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd); err != nil {
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
	records.Flags(cmd)
	flags := cmd.Flags()
	flags.Int("max-tokens", 0, "maximum tokens of all messages together")
	cli.SettingFlag(cmd, "max-tokens", "agent.max_tokens")
	cli.SetFlag(cmd)
	flags.Int("max-messages", 0, "maximum number of messages")
	flags.String("phase", "", "what the messages are for: llm (a call of the loop) or synthesize (the final answer)")
	flags.String("timeout", "", "time limit of the whole run, such as 10s")
	flags.StringVar(&f.run, "run", "", "keep the state of this agent run in the store")
	flags.StringVar(&f.user, "user", "", "the user that the run belongs to; that of another user is refused")
	cli.FormatFlagVar(cmd, &f.output, "output: messages (the list) or json (with state and diagnostics)", "messages", "json")
	flags.StringVar(&f.from, "from", "", "form of the input: anthropic, openai, openai-responses or gemini (default: found out)")
	flags.StringVar(&f.to, "to", "", "form of the output (default: that of the input)")
	flags.BoolVar(&f.lossy, "lossy", false, "with --to, leave out what that form has no place for, with a line on stderr for each")
	flags.BoolVar(&f.explain, "explain", false, "print on stderr what each provider did")
	flags.BoolVar(&f.strict, "strict", false, "exit with 8 when a provider or the tokenizer fails, a result is cut, a message or a line of a summary is left out, the budget is exceeded, the API refuses the input, or --lossy leaves something out")
}

// check refuses unknown forms.
func (f *assembleFlags) check(cmd *cobra.Command) error {
	for flag, form := range map[string]string{"from": f.from, "to": f.to} {
		if cmd.Flags().Changed(flag) && !slices.Contains(message.Forms, message.Form(form)) {
			return cli.Usagef(cmd, "flag --%s: want one of anthropic, openai, openai-responses, gemini, got %q", flag, form)
		}
	}
	phases := []string{string(agent.PhaseLLM), string(agent.PhaseSynthesize)}
	if phase, _ := cmd.Flags().GetString("phase"); cmd.Flags().Changed("phase") && !slices.Contains(phases, phase) {
		return cli.Usagef(cmd, "flag --phase: unknown value %q%s", phase, strict.Hint(phase, phases))
	}
	return nil
}

// assembly is what assemble prints.
type assembly struct {
	*anchor.Assembled
	// name is the member of the messages in the output as JSON, data their JSON.
	name string
	data []byte
	lost []string
}

// assemble reads, runs and prints.
func (a *app) assemble(cmd *cobra.Command, f *assembleFlags, path string) error {
	loaded, err := a.Load(cmd)
	if err != nil {
		return err
	}
	name, data, err := a.ReadAll(path, "messages", request.MaxBytes)
	if err != nil {
		return err
	}
	result, err := a.runChain(cmd, loaded, f, name, data)
	if err != nil {
		return err
	}
	if err := a.printAssembly(f, result); err != nil {
		return err
	}
	for _, line := range result.lost {
		a.Say("left out: %s", cli.OneCell(line))
	}
	a.Say("%s", chainSummary(result.Diagnostics))
	if err := degradedChain(f.strict, result.Diagnostics); err != nil || !f.strict {
		return err
	}
	if result.Refused != "" {
		return fmt.Errorf("%w: the API refuses the input (--strict)", cli.ErrDegraded)
	}
	if len(result.lost) == 0 {
		return nil
	}
	return fmt.Errorf("%w: the form has no place for %d things (--strict)", cli.ErrDegraded, len(result.lost))
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
	if o.Phase = in.Phase; cmd.Flags().Changed("phase") {
		phase, _ := cmd.Flags().GetString("phase") // checked before
		o.Phase = agent.Phase(phase)
	}
	return o
}

// runChain runs the provider chain and reports on stderr which providers were left out.
func (a *app) runChain(cmd *cobra.Command, loaded *config.Loaded, f *assembleFlags, name string, data []byte) (*assembly, error) {
	ctx := cmd.Context()
	input := &request.Messages{}
	body := f.from != "" || request.IsBody(ctx, data)
	if !body && (f.run == "" || len(bytes.TrimSpace(data)) > 0) { // empty input means no new messages
		var err error
		if input, err = request.ReadMessages(ctx, name, data, strict.MaxValues); err != nil {
			return nil, err
		}
	}
	options := assembleOptions(cmd, input)
	options.Run, options.User = f.run, f.user
	progress := cli.NewProgress(a.App)
	defer progress.Stop()
	progress.Start("preparing the messages")
	front, err := anchor.Open(ctx, loaded, anchor.Options{
		Logger: a.Logger(&loaded.Config), OnCompile: progress.Compiling, Lazy: true, Components: parts.Components(loaded),
	})
	if err != nil {
		return nil, err
	}
	defer front.Close(context.WithoutCancel(ctx)) // all changes are on disk by now
	ctx, end, err := tracing.Begin(ctx, &loaded.Config, a.Logger(&loaded.Config))
	if err != nil {
		return nil, err
	}
	defer end()
	var out *assembly
	if body {
		out, err = assembleBody(ctx, front, f, options, name, data)
	} else {
		out, err = assembleMessages(ctx, front, f, options, input.Messages)
	}
	progress.Stop()
	if out != nil {
		a.reportChain(out.Diagnostics)
	}
	return out, err
}

// assembleBody runs the chain over a document in the form of an API.
func assembleBody(ctx context.Context, front *anchor.App, f *assembleFlags, o anchor.AssembleOptions, name string, data []byte) (*assembly, error) {
	result, err := front.AssembleBody(ctx, data, anchor.BodyOptions{
		AssembleOptions: o, From: message.Form(f.from), To: message.Form(f.to), Lossy: f.lossy,
	})
	if result == nil {
		if errors.Is(err, message.ErrInvalid) || errors.Is(err, message.ErrLoss) {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return nil, err
	}
	out := &assembly{Assembled: result.Assembled, name: "messages", data: result.Body, lost: result.Lost}
	if bytes.HasPrefix(bytes.TrimSpace(result.Body), []byte("{")) {
		out.name = "body"
	}
	return out, err
}

// assembleMessages runs the chain over a list of messages.
func assembleMessages(ctx context.Context, front *anchor.App, f *assembleFlags, o anchor.AssembleOptions, messages []pipeline.Message) (*assembly, error) {
	result, err := front.Assemble(ctx, messages, o)
	if result == nil {
		return nil, err
	}
	out := &assembly{Assembled: result, name: "messages"}
	var failed error
	if out.data, out.lost, failed = anchor.WriteMessages(result.Messages, message.Form(f.to), f.lossy); failed != nil {
		return nil, fmt.Errorf("write messages: %w", errors.Join(failed, err))
	}
	return out, err
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
		if p.LeftOut > 0 {
			a.Say("warning: provider %q left out %d of %d messages, which do not fit", p.Name, p.LeftOut, p.Before.Messages)
		}
		if p.DroppedLines > 0 {
			a.Say("warning: provider %q dropped or shortened %d lines of its summary of old messages, which was too long", p.Name, p.DroppedLines)
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
	case d.TokensOver > 0 && d.ToolTokens > 0:
		return fmt.Sprintf("the messages and the tools exceed max_tokens %d by %d (the tools take %d; they, system messages, the newest user message and a final tool call are never dropped: raise the budget, or state fewer tools)", *d.After.Tokens+d.ToolTokens-d.TokensOver, d.TokensOver, d.ToolTokens)
	case d.TokensOver > 0:
		return fmt.Sprintf("the messages exceed max_tokens %d by %d (system messages, the newest user message and a final tool call are never dropped: raise the budget or shorten messages)", d.Budget.MaxTokens, d.TokensOver)
	case d.MessagesOver > 0:
		return fmt.Sprintf("the messages exceed max_messages %d by %d", d.Budget.MaxMessages, d.MessagesOver)
	}
	return ""
}

// degradedChain returns the error of a degraded run under --strict, nil otherwise.
func degradedChain(strict bool, d *agent.Diagnostics) error {
	failed, cut, left, dropped := 0, 0, 0, 0
	for _, p := range d.Providers {
		if p.Outcome == agent.ProviderFailed {
			failed++
		}
		cut, left, dropped = cut+len(p.CutResults), left+p.LeftOut, dropped+p.DroppedLines
	}
	switch {
	case !strict:
	case failed > 0:
		return fmt.Errorf("%w: %d of the providers left out (--strict)", cli.ErrDegraded, failed)
	case d.SkippedTokenizer != "":
		return fmt.Errorf("%w: the tokenizer skipped (--strict)", cli.ErrDegraded)
	case overBudget(d) != "":
		return fmt.Errorf("%w: the budget is exceeded (--strict)", cli.ErrDegraded)
	case cut+left > 0:
		return fmt.Errorf("%w: %d results cut, %d messages left out (--strict)", cli.ErrDegraded, cut, left)
	case dropped > 0:
		return fmt.Errorf("%w: %d lines of a summary dropped or shortened (--strict)", cli.ErrDegraded, dropped)
	}
	return nil
}

// printAssembly writes the messages, and the state and the explanation if the flags ask for them.
func (a *app) printAssembly(f *assembleFlags, result *assembly) error {
	b, err := result.write(f.output)
	if err != nil {
		return err
	}
	if f.explain {
		var e bytes.Buffer
		explainChain(&e, result.Diagnostics)
		if _, err := a.Err.Write(e.Bytes()); err != nil {
			return fmt.Errorf("write explanation: %w", err)
		}
	}
	return a.Emit(b)
}

// write writes the messages, or the document with state and diagnostics. Package encoding/json
// would remove white space from messages, which must not change.
func (r *assembly) write(output string) (*bytes.Buffer, error) {
	var b bytes.Buffer
	if output != "json" {
		b.Write(r.data)
		if !bytes.HasSuffix(r.data, []byte("\n")) {
			b.WriteByte('\n')
		}
		return &b, nil
	}
	state, err := r.State.AppendJSON(nil)
	if err != nil {
		return nil, fmt.Errorf("write state: %w", err)
	}
	fmt.Fprintf(&b, "{\n\"%s\": %s,\n\"state\": %s,\n\"diagnostics\": ", r.name, r.data, state)
	if err := cli.WriteJSON(&b, r.Diagnostics); err != nil {
		return nil, err
	}
	b.WriteString("}\n")
	return &b, nil
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
	explainEstimates(b, d)
}

// explainEstimates writes how contents that are not text were counted, and the bounds of the total
// if it is not known exactly.
func explainEstimates(b *bytes.Buffer, d *agent.Diagnostics) {
	var rows [][]string
	low, high, source := 0, 0, "messages"
	if d.After.Tokens != nil {
		high = *d.After.Tokens
		low = high
	}
	if d.After.LowTokens != nil {
		low = *d.After.LowTokens
	}
	for i := range d.Estimates {
		e := &d.Estimates[i]
		message := "-"
		if e.Message != nil {
			message = strconv.Itoa(*e.Message)
		} else {
			low, high, source = low+e.Low, high+e.High, "messages and tools"
		}
		rows = append(rows, []string{message, e.Kind, strconv.Itoa(e.Number), between(e.Low, e.High), cli.OneCell(e.Source)})
	}
	if d.After.Tokens == nil || len(rows) == 0 && low == high {
		return
	}
	rows = append(rows, []string{"total", "", "", between(low, high), source})
	b.WriteByte('\n')
	cli.Table(b, []string{"MESSAGE", "KIND", "NUMBER", "TOKENS", "COUNTED BY"}, rows)
}

// between shows a number that lies between two bounds.
func between(low, high int) string {
	if low == high {
		return strconv.Itoa(high)
	}
	return fmt.Sprintf("%d–%d", low, high)
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
	bounds := ""
	if low, high := d.After.LowTokens, d.After.Tokens; low != nil && high != nil {
		bounds = fmt.Sprintf(" (between %d and %d: the upper end counts)", *low, *high)
	}
	return fmt.Sprintf("messages: %s; tokens: %s of %d%s; %.0f ms", arrow(d.Before.Messages, d.After.Messages),
		tokenArrow(d.Before, d.After), d.Budget.MaxTokens, bounds, d.TimeMS)
}
