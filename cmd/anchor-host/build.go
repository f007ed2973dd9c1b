package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/explaincmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/parts"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/tracing"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/internal/recording"
	"github.com/anchor-host/anchor-host/internal/request"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

// buildFlags are the flags of build that do not override a key of anchor.yaml.
type buildFlags struct {
	output, queryFile, items, request  string
	previous, user, session            string
	explain, strict, remember, partial bool
	pipeline, record                   string
	only, skip                         []string
}

func (a *app) buildCommand() *cobra.Command {
	var f buildFlags
	cmd := &cobra.Command{
		Use:   "build [flags] [QUERY]",
		Short: "Build one context window",
		Long: `Build one context window for a query: the argument, the content of --query-file, or with
"-" what comes on stdin. The formatted window goes to stdout, a summary to stderr. A step
that fails under "must: false", the default of plugins, prints one line on stderr and
changes no items.

--conversation adds the newest turns of a conversation in the store, and --remember adds
the query to it. With --request one JSON document describes the build, and the result is
JSON as well. --record saves the build for "replay", and each call of a plugin as a case
of "plugin test". --set sets what has no flag. docs/operate.md has more of each.`,
		Example: `  anchor-host build "how do I cancel a request?"
  anchor-host build --explain --max-tokens 2000 "how do I cancel a request?"
  anchor-host build --conversation chat-7 --remember "and when do we leave?"
  echo "how do I cancel a request?" | anchor-host build -o json -
  echo '{"query": "hi", "items": [{"content": "hello", "source": "user"}]}' |
    anchor-host build --request -`,
		Args: cobra.MaximumNArgs(1),
	}
	cli.HostFlags(cmd)
	cli.WindowFlags(cmd)
	records.Flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.pipeline, "pipeline", "", "a named pipeline of the configuration")
	flags.String("conversation", "", "take the newest turns of this conversation from the store")
	flags.StringVar(&f.user, "user", "", "the user that the build is for: its facts, and its conversation, which is refused to others")
	flags.StringVar(&f.session, "session", "", "only the facts of this session")
	flags.BoolVar(&f.remember, "remember", false, "add the query to the conversation as a turn of the user")
	cli.FormatFlagVar(cmd, &f.output, "output: text (the formatted window) or json (the whole result)", "text", "json")
	flags.StringVar(&f.queryFile, "query-file", "", "read the query from a file")
	flags.StringVar(&f.items, "items", "", "append the items of a JSON file (- for stdin) in a first step")
	flags.StringVar(&f.request, "request", "", "read the whole build from a JSON file (- for stdin) and print the result as JSON")
	flags.BoolVar(&f.partial, "allow-partial", false, "with --timeout: end steps with must: false in time for the rest, and say which")
	flags.BoolVar(&f.explain, "explain", false, "explain for each item why it is in the window or not, and show how long each stage took")
	flags.StringVar(&f.previous, "previous", "", "report how much of an earlier prompt a prompt cache can reuse; the file holds the result or the output of that build")
	flags.StringSliceVar(&f.only, "only-steps", nil, "run only the steps with these names")
	flags.StringSliceVar(&f.skip, "skip-steps", nil, "leave out the steps with these names")
	flags.StringVar(&f.record, "record", "", "save the build for replay, and each call of a plugin as a case of plugin test, in this folder")
	flags.BoolVar(&f.strict, "strict", false, "exit with 8 when the window lacks something: a step was skipped, results were cut, a part of a turn was left out, a collection is missing, a service gave no answer")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		if f.request != "" {
			return a.buildRequest(cmd, &f, args)
		}
		return a.buildQuery(cmd, &f, args)
	})
	return cmd
}

// buildQuery builds a window for a query with the configuration.
func (a *app) buildQuery(cmd *cobra.Command, f *buildFlags, args []string) error {
	loaded, err := a.Load(cmd)
	if err != nil {
		return err
	}
	query, err := a.query(cmd, f, args)
	if err != nil {
		return err
	}
	items, err := a.items(f.items)
	if err != nil {
		return err
	}
	c, err := loaded.Pipeline(f.pipeline)
	if err != nil {
		return err
	}
	if f.remember && (c.Conversation == nil || c.Conversation.ID == "") {
		return cli.Usagef(cmd, "--remember needs a conversation (name one with --conversation)")
	}
	run := &buildRun{app: a, config: loaded, strict: f.strict, record: f.record}
	defer run.close(cmd.Context())
	run.options = anchor.BuildOptions{Pipeline: f.pipeline, User: f.user, Session: f.session, Items: items, AllowPartial: f.partial, Explain: f.explain, Remember: f.remember, Only: f.only, Skip: f.skip}
	if run.options.Previous, err = explaincmd.ReadPrevious(a.App, f.previous); err != nil {
		return err
	}
	result, err := run.do(cmd.Context(), pipeline.Query{Text: query}, nil)
	if err != nil {
		return err
	}
	if err := a.printResult(f, run, result); err != nil {
		return err
	}
	for _, w := range result.Diagnostics.Warnings {
		a.Say("warning: %s", w)
	}
	for _, line := range result.Diagnostics.Lost {
		a.Say("left out: %s", cli.OneCell(line))
	}
	a.Say("%s", summary(result))
	if c := result.Diagnostics.Cache; c != nil {
		a.Say("%s", explaincmd.CacheLine(c))
	}
	return run.degraded(result)
}

// query returns the query text of a command line.
func (a *app) query(cmd *cobra.Command, f *buildFlags, args []string) (string, error) {
	switch {
	case len(args) == 1 && f.queryFile != "":
		return "", cli.Usagef(cmd, "a query and --query-file exclude each other")
	case len(args) == 1 && args[0] != "-":
		return args[0], nil
	case len(args) == 0 && f.queryFile == "":
		return "", cli.Usagef(cmd, `no query (give one as argument, with --query-file, or "-" for stdin)`)
	}
	path := cmp.Or(f.queryFile, "-")
	if path == "-" && f.items == "-" {
		return "", cli.Usagef(cmd, "query and items cannot both come from stdin")
	}
	r, name, err := a.Open(path)
	if err != nil {
		return "", fmt.Errorf("read query: %w", err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxQuery+1))
	if err != nil {
		return "", fmt.Errorf("read query: %w", err)
	}
	if len(text) > maxQuery {
		return "", fmt.Errorf("%w: %s: the query is longer than %d KiB", config.ErrInvalid, name, maxQuery>>10)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// maxQuery bounds a query that is read from a file: far more than any question.
const maxQuery = 1 << 20

func (a *app) items(path string) ([]pipeline.Item, error) {
	if path == "" {
		return nil, nil
	}
	r, name, err := a.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read items: %w", err)
	}
	defer r.Close()
	items, err := request.ReadItems(name, r)
	return request.Convert(items), err
}

// buildRun is one build of the command line.
type buildRun struct {
	app     *app
	config  *config.Loaded
	options anchor.BuildOptions
	strict  bool
	// silent suppresses progress, because a program reads the output.
	silent bool
	// plugins are those that were loaded, in loadTime.
	plugins  []anchor.Plugin
	loadTime time.Duration
	// record is the folder for recorded calls, "" for none. recorder writes them.
	record   string
	recorder *recording.Recorder
	tape     *anchor.Tape
	front    *anchor.App
	// name is that of the request document.
	name string
}

// do loads the plugins, builds for a query or a request document, and reports on stderr which steps were skipped. The caller closes
// the run after it has printed the result.
func (r *buildRun) do(ctx context.Context, q pipeline.Query, document []byte) (*pipeline.Result, error) {
	progress := cli.NewProgress(r.app.App)
	progress.Off = r.silent
	defer progress.Stop()
	progress.Start("starting the plugins")
	r.options.Callbacks = []pipeline.Callback{{OnPipelineStart: func(context.Context, *pipeline.Query) error {
		progress.Start("building the window")
		return nil
	}}}
	options := anchor.Options{Logger: r.app.Logger(&r.config.Config), OnCompile: progress.Compiling, Lazy: true, Components: parts.Components(r.config)}
	if r.record != "" {
		recorder, err := recording.New(r.record, recording.DefaultMaxBytes)
		if err != nil {
			return nil, fmt.Errorf("flag --record: %w", err)
		}
		r.recorder, options.OnRecord = recorder, recorder.Add
		if r.options.Previous == nil {
			r.tape = anchor.NewTape()
			options.Tape = r.tape
		}
	}
	front, err := anchor.Open(ctx, r.config, options)
	if err != nil {
		return nil, err
	}
	r.front = front
	traced, end, err := tracing.Begin(ctx, &r.config.Config, r.app.Logger(&r.config.Config))
	if err != nil {
		return nil, err
	}
	defer end()
	result, err := r.build(traced, q, document)
	progress.Stop()
	r.reportSkipped(result, err)
	r.plugins, r.loadTime = front.Plugins()
	return result, err
}

// build builds, and writes the recording if one is asked for.
func (r *buildRun) build(ctx context.Context, q pipeline.Query, document []byte) (*pipeline.Result, error) {
	switch {
	case r.tape != nil:
		recorded, result, err := r.front.RecordBuild(ctx, q, document, r.options)
		if recorded != nil {
			if failed := recorded.Write(r.record); failed != nil {
				return result, errors.Join(err, fmt.Errorf("flag --record: %w", failed))
			}
			r.app.Say("recorded the build in %s (repeat it with: anchor-host replay %s)", filepath.Join(r.record, anchor.RecordingFile), r.record)
		}
		return result, err
	case document != nil:
		return r.front.BuildRequest(ctx, r.name, bytes.NewReader(document), r.options)
	}
	return r.front.Build(ctx, q, r.options)
}

// close waits for the promotion of a remembered turn, and ends the plugins. An interrupt cancels
// the promotion; the turn is stored by then.
func (r *buildRun) close(ctx context.Context) {
	if r.front != nil && r.front.Close(ctx) != nil {
		_ = r.front.Close(context.WithoutCancel(ctx)) // the result is printed
	}
	if r.recorder != nil {
		r.app.Say("%s", r.recorder.Summary())
	}
}

// reportSkipped prints one line for each step or other part that was skipped.
func (r *buildRun) reportSkipped(result *pipeline.Result, err error) {
	d := pipeline.DiagnosticsOf(result, err)
	if d == nil {
		return
	}
	for _, f := range d.StepFailures {
		if f.Step != d.FailedStep {
			r.app.Say("step %q: %s (skipped)", f.Step, f.Message)
		}
	}
	if result == nil {
		return
	}
	for _, l := range result.Degraded {
		if l.Kind != core.KindSkipped && l.Kind != core.KindDropped {
			r.app.Say("step %q: %s (%s)", l.Step, l.Message, l.Kind)
		}
	}
}

// degraded returns the error of a build under --strict that lacks something, nil otherwise.
func (r *buildRun) degraded(result *pipeline.Result) error {
	skipped, lost := result.Diagnostics.SkippedSteps, len(result.Diagnostics.Lost)
	switch {
	case !r.strict || len(result.Degraded) == 0:
	case len(skipped) > 0:
		return fmt.Errorf("%w: skipped: %s (--strict)", cli.ErrDegraded, strings.Join(skipped, ", "))
	case lost > 0:
		return fmt.Errorf("%w: %d parts of turns left out (--strict)", cli.ErrDegraded, lost)
	default:
		return fmt.Errorf("%w: %s (--strict)", cli.ErrDegraded, result.Degraded[0].Message)
	}
	return nil
}

// printResult writes the result of a build whose query came from the command line.
func (a *app) printResult(f *buildFlags, run *buildRun, result *pipeline.Result) error {
	var b bytes.Buffer
	switch {
	case f.output == "json" && f.explain:
		doc := struct {
			*pipeline.Result
			Explain *explaincmd.Explanation `json:"explain"`
		}{result, explaincmd.NewExplanation(result, run.plugins, run.loadTime)}
		if err := cli.WriteJSON(&b, doc); err != nil {
			return err
		}
	case f.output == "json":
		if err := cli.WriteJSON(&b, result); err != nil {
			return err
		}
	default:
		if err := writeWindow(&b, result.Output); err != nil {
			return err
		}
		if f.explain {
			var e bytes.Buffer
			explaincmd.NewExplanation(result, run.plugins, run.loadTime).Write(&e)
			b.WriteString(plain.Text(e.String()))
		}
	}
	return a.Emit(&b)
}

// writeWindow writes a formatted window: text as it is, anything else as JSON, with the tools as
// they came.
func writeWindow(b *bytes.Buffer, output any) error {
	if body, ok := output.(format.Body); ok {
		doc, err := body.Append(nil, "  ")
		if err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		b.Write(append(doc, '\n'))
		return nil
	}
	text, ok := output.(string)
	if !ok {
		return cli.WriteJSON(b, output)
	}
	b.WriteString(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	return nil
}

// summary describes the built window in one line.
func summary(result *pipeline.Result) string {
	d, w := result.Diagnostics, result.Window
	used, how := w.UsedTokens+w.Reserved(), ""
	if c := result.Counting; c != nil {
		used, how = result.Counted, " of output"
		if !c.Exact {
			how = fmt.Sprintf(" of output (estimated: %d to %d)", c.Low, c.High)
		}
	}
	s := fmt.Sprintf("%d of %d tokens%s (%.0f %%); items: %d in, %d left out; %.0f ms",
		used, w.MaxTokens, how, 100*d.TokenUtilization, d.ItemsIncluded, d.ItemsOverflow, result.BuildTimeMS)
	if d.CostUSD > 0 {
		s += fmt.Sprintf("; $%.6f for models", d.CostUSD)
	}
	if n := len(d.SkippedSteps); n > 0 {
		s += fmt.Sprintf("; skipped: %s", strings.Join(d.SkippedSteps, ", "))
	}
	return s
}
