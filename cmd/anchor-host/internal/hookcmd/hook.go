// Package hookcmd is the command hook, which coding agents run at certain moments of a session.
package hookcmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/agents/hooks"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/config"
)

// Command returns the command.
func Command(a *cli.App) *cobra.Command {
	var event string
	cmd := &cobra.Command{
		Use:   "hook claude|codex|copilot [flags]",
		Short: "Answer a hook of a coding agent",
		Long: `Read an event of a coding agent as JSON on stdin and print the answer: context for a
session or a prompt, or a shorter result of a tool, with a handle for all of it. "connect"
writes this command into the settings of the agent.

A running "serve" with the same store answers, at the socket hooks.sock beside the store;
without one the command opens the store itself. An event that fails or is late changes
nothing: the output is empty, the exit code 0, and the reason is in the log ("hook log",
"doctor"). anchor.yaml is read only if --config or ANCHOR_HOST_CONFIG names it, as the one
in the current folder may be of somebody else.`,
		Example: `  anchor-host hook claude < event.json
  echo '{"hook_event_name": "SessionStart", "session_id": "s1", "cwd": "."}' | anchor-host hook codex
  anchor-host hook log`,
		Args: cli.Exactly("CLIENT"),
	}
	flags(cmd)
	cmd.Flags().StringVar(&event, "event", "", "name of the event, for clients that do not say it in the JSON")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		run(a, cmd, args[0], event)
		return nil // an agent would take some codes for an order to stop
	})
	cmd.AddCommand(logCommand(a))
	return cmd
}

func flags(cmd *cobra.Command) {
	cli.ConfigFlag(cmd)
	cli.StoreFileFlag(cmd)
	cmd.Flags().String("tenant", "", "tenant that owns the records")
}

// run answers one event. What goes wrong is in the log only.
func run(a *cli.App, cmd *cobra.Command, client, event string) {
	began := time.Now()
	report := hooks.Report{Client: client, Event: event}
	answer, err := answerOne(a, cmd, hooks.Request{Client: client, Event: event}, &report)
	if err != nil {
		report.Error = err.Error()
	}
	report.Time = began.UTC()
	report.MS = float64(time.Since(began).Microseconds()) / 1000
	if len(answer) > 0 {
		if err := a.Emit(bytes.NewBuffer(answer)); err != nil && report.Error == "" {
			report.Error = err.Error() // the agent is gone
		}
	}
	path, err := hooks.LogPath()
	if err == nil {
		_ = hooks.Write(path, &report) // there is nobody to tell
	}
}

// answerOne reads the event and asks a running host, else the store.
func answerOne(a *cli.App, cmd *cobra.Command, r hooks.Request, report *hooks.Report) ([]byte, error) {
	loaded, err := a.LoadNamed(cmd)
	if err != nil {
		return nil, err
	}
	if r.Body, err = io.ReadAll(io.LimitReader(a.In, hooks.MaxBody+1)); err != nil {
		return nil, fmt.Errorf("hook: read the event: %w", err)
	}
	if len(r.Body) > hooks.MaxBody {
		return nil, fmt.Errorf("hook: the event has more than %d MiB", hooks.MaxBody>>20)
	}
	settings := hooks.FromConfig(&loaded.Config)
	path, err := agentstore.Path(loaded.StorePath())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), cmp.Or(settings.Timeout, hooks.DefaultTimeout))
	defer cancel()
	var answer []byte
	if answer, *report, err = hooks.Ask(ctx, hooks.SocketPath(path), r); err == nil {
		return answer, nil
	}
	*report = hooks.Report{Client: r.Client, Event: r.Event}
	if !hooks.NoHost(err) {
		return nil, err
	}
	s, err := agentstore.Open(ctx, loaded.StorePath(), "normal")
	if err != nil {
		return nil, err
	}
	h := &hooks.Handler{Store: s, Tenant: loaded.TenantName(), Settings: settings}
	if h.Knowledge, err = hooks.Known(s, loaded.TenantName(), "", true); err != nil {
		return nil, err
	}
	h.Build = lazily(a, loaded)
	answer, *report = h.Answer(ctx, r)
	report.Via = "store"
	if report.Error == "" { // a late event may still use the store: the end of the process closes it
		_ = s.Close()
	}
	return answer, nil
}

// lazily returns the function that opens the configuration when an event has a pipeline, nil if none has.
func lazily(a *cli.App, loaded *config.Loaded) hooks.BuildFunc {
	names := loaded.Agent.Hooks.Pipelines
	if len(names) == 0 {
		return nil
	}
	return func(ctx context.Context, kind hooks.Kind, query string) ([]hooks.Item, error) {
		if names[string(kind)] == "" {
			return nil, nil
		}
		app, err := anchor.Open(ctx, loaded, anchor.Options{Logger: a.Logger(&loaded.Config), Lazy: true})
		if err != nil {
			return nil, err
		}
		defer app.Close(context.WithoutCancel(ctx)) // nothing was written
		return hooks.Build(app, loaded.TenantName(), names)(ctx, kind, query)
	}
}

func logCommand(a *cli.App) *cobra.Command {
	limit := 20
	cmd := &cobra.Command{
		Use:   "log [flags]",
		Short: "Show what hooks added, and why",
		Long: `List the newest events of coding agents: what was added and why, which results were cut, how
long it took, and why an event was answered with nothing. The log has no text of a session.`,
		Example: `  anchor-host hook log
  anchor-host hook log -o json --limit 1`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().IntVar(&limit, "limit", limit, "how many events")
	return a.Command(cmd, func(*cobra.Command, []string) (cli.Listing, error) {
		path, err := hooks.LogPath()
		if err != nil {
			return cli.Listing{}, err
		}
		reports, err := hooks.ReadLog(path, max(limit, 1))
		return listing(reports), err
	})
}

func listing(reports []hooks.Report) cli.Listing {
	l := cli.Listing{Header: []string{"TIME", "CLIENT", "EVENT", "MS", "CHARS", "WHAT"}, Data: reports}
	for i := range reports {
		r := &reports[i]
		var what []string
		for _, item := range r.Added {
			what = append(what, strings.TrimSpace(item.Handle+" "+item.Where)+" ("+item.Why+")")
		}
		if r.LeftOut > 0 {
			what = append(what, fmt.Sprintf("%d did not fit", r.LeftOut))
		}
		for _, handle := range r.Cut {
			what = append(what, fmt.Sprintf("cut %s, %d characters less", handle, r.Saved))
		}
		if r.Note != "" {
			what = append(what, r.Note)
		}
		if r.Error != "" {
			what = append(what, r.Error)
		}
		l.Rows = append(l.Rows, []string{
			r.Time.Local().Format(time.DateTime), cli.OneCell(r.Client), cli.OneCell(r.Event),
			strconv.FormatFloat(r.MS, 'f', 1, 64), strconv.Itoa(r.Chars), cli.OneCell(strings.Join(what, "; ")),
		})
	}
	return l
}
