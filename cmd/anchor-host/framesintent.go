package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/store"
)

func (a *app) framesIntentCommand() *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "intent",
		Short: "Keep the request that a run works on",
		Long: `Keep the request that a run works on. A new request is a draft. "analyze" records
how it is understood and makes it active. "end" completes or cancels it; then the
run can get another request. Any other order is refused.`,
		Example: `  anchor-host frames intent ask --run fix-42 "make the login faster"
  anchor-host frames intent analyze --run fix-42 "cache sessions, p95 below 200 ms"
  anchor-host frames intent end --run fix-42 --status completed --commit 1f3a9c2`,
	})
	cmd.AddCommand(a.intentAskCommand(), a.intentAnalyzeCommand(), a.intentEndCommand(), a.intentShowCommand())
	return cmd
}

// runWork is the function of a command that works on one agent run.
type runWork func(ctx context.Context, run *agentrun.Run, args []string) (cli.Listing, error)

// runCommand makes a command work on the run that its flag --run names.
func (a *app) runCommand(cmd *cobra.Command, with func(sessionFunc) func(*cobra.Command, []string) error, work runWork) *cobra.Command {
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	id := cmd.Flags().String("run", "", "the agent run (required)")
	_ = cmd.MarkFlagRequired("run") // fails only for an unknown flag
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = with(func(cmd *cobra.Command, args []string, s *session) error {
		run, err := s.front.Run(cmd.Context(), "", *id)
		if err != nil {
			return err
		}
		l, err := work(cmd.Context(), run, args)
		if err != nil {
			return err
		}
		return a.Print(*format, l)
	})
	return cmd
}

func (a *app) intentAskCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ask --run ID [flags] PROMPT",
		Short: "Give a run a request",
		Long: `Give a run a request: a new intent, which is a draft. The prompt is the argument,
or with "-" what comes on stdin. The intent before it must have ended.`,
		Example: `  anchor-host frames intent ask --run fix-42 --by ada "make the login faster"`,
		Args:    cli.Exactly("PROMPT"),
	}
	by := cmd.Flags().String("by", "anchor-host", "name of the actor")
	return a.runCommand(cmd, a.withStore, func(ctx context.Context, run *agentrun.Run, args []string) (cli.Listing, error) {
		prompt, err := a.text(args[0], "prompt")
		if err != nil {
			return cli.Listing{}, err
		}
		return intentListing(run.Ask(ctx, prompt, *by))
	})
}

func (a *app) intentAnalyzeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "analyze --run ID [flags] CONTENT",
		Short: "Record how the request is understood",
		Long: `Record how the request of a run is understood. This makes its intent active. The
content is the argument, or with "-" what comes on stdin. It becomes a frame of
the kind intent_analysis, and a snapshot with the label "start" is taken.`,
		Example: `  anchor-host frames intent analyze --run fix-42 "cache sessions, p95 below 200 ms"`,
		Args:    cli.Exactly("CONTENT"),
	}
	by := cmd.Flags().String("by", "anchor-host", "name recorded in the run as its creator")
	return a.runCommand(cmd, a.withStore, func(ctx context.Context, run *agentrun.Run, args []string) (cli.Listing, error) {
		content, err := a.text(args[0], "content")
		if err != nil {
			return cli.Listing{}, err
		}
		analyzed, err := run.Analyze(ctx, content, *by)
		for _, w := range analyzed.Warnings {
			a.Say("warning: %s", w)
		}
		return intentListing(analyzed.Intent, err)
	})
}

func (a *app) intentEndCommand() *cobra.Command {
	var status, reason, commit string
	cmd := &cobra.Command{
		Use:     "end --run ID [flags]",
		Short:   "Complete or cancel the request",
		Long:    "Complete or cancel the newest intent of a run.",
		Example: `  anchor-host frames intent end --run fix-42 --status cancelled --reason "not reproducible"`,
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&status, "status", "completed", "how it ends: completed or cancelled")
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	cmd.Flags().StringVar(&commit, "commit", "", "the commit that fulfils the request")
	return a.runCommand(cmd, a.withStore, func(ctx context.Context, run *agentrun.Run, _ []string) (cli.Listing, error) {
		return intentListing(run.EndIntent(ctx, frames.IntentStatus(status), reason, commit))
	})
}

func (a *app) intentShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show --run ID [flags]",
		Short:   "Show the request of a run",
		Long:    "Show the newest intent of a run; -o json prints its whole document.",
		Example: `  anchor-host frames intent show --run fix-42 -o json`,
		Args:    cobra.NoArgs,
	}
	return a.runCommand(cmd, a.withStoreToRead, func(ctx context.Context, run *agentrun.Run, _ []string) (cli.Listing, error) {
		in, err := run.Intent(ctx)
		if err == nil && in == nil {
			err = fmt.Errorf("intent: %w (give the run one with: anchor-host frames intent ask)", store.ErrNotFound)
		}
		return intentListing(in, err)
	})
}

func intentListing(in *frames.Intent, err error) (cli.Listing, error) {
	if err != nil {
		return cli.Listing{}, err
	}
	return cli.Listing{
		Header: []string{"STATUS", "PROMPT", "CONTENT", "COMMIT"},
		Rows:   [][]string{{string(in.Status()), cli.Excerpt(in.Prompt()), cli.Excerpt(in.Content), cli.Excerpt(in.Commit)}},
		Data:   in,
	}, nil
}
