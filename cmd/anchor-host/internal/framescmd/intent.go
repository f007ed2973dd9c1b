package framescmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/store"
)

// intentFlags are the flags of frames intent.
type intentFlags struct{ analysis, end, reason, commit, by string }

func intent(a *cli.App) *cobra.Command {
	var f intentFlags
	cmd := &cobra.Command{
		Use:   "intent --run ID [flags] [PROMPT]",
		Short: "Give a run a request, or show, analyze or end it",
		Long: `Show the newest request of a run. With PROMPT, or "-" for stdin, give the run a new one,
which is a draft: the one before it must have ended. --analysis records how the request
is understood and makes it active; the text becomes a frame of the kind intent_analysis,
and a snapshot with the label "start" is taken. --end completes or cancels the request.
Any other order is refused.`,
		Example: `  anchor-host frames intent --run fix-42 "make the login faster"
  anchor-host frames intent --run fix-42 --analysis "cache sessions, p95 below 200 ms"
  anchor-host frames intent --run fix-42 --end completed --commit 1f3a9c2`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.analysis, "analysis", "", "how the request is understood (- for stdin)")
	flags.StringVar(&f.end, "end", "", "how the request ends: completed or cancelled")
	flags.StringVar(&f.reason, "reason", "", "with --end, why")
	flags.StringVar(&f.commit, "commit", "", "with --end, the commit that fulfils the request")
	flags.StringVar(&f.by, "by", "anchor-host", "name recorded in the run as the creator")
	cmd.MarkFlagsMutuallyExclusive("analysis", "end")
	records.RunFlag(cmd)
	return records.Command(a, records.ByArgs, cmd, func(ctx context.Context, s *records.Session, args []string) (cli.Listing, error) {
		if len(args) > 0 && (f.analysis != "" || f.end != "") || f.end == "" && (f.reason != "" || f.commit != "") {
			return cli.Listing{}, s.Usagef("want one of PROMPT, --analysis and --end; --reason and --commit need --end")
		}
		if err := noVerb(s, args); err != nil {
			return cli.Listing{}, err
		}
		run, err := s.AgentRun(ctx)
		if err != nil {
			return cli.Listing{}, err
		}
		in, err := f.change(ctx, s, run, args)
		if err != nil {
			return cli.Listing{}, err
		}
		return cli.Listing{
			Header: []string{"STATUS", "PROMPT", "CONTENT", "COMMIT"},
			Rows:   [][]string{{string(in.Status()), cli.Excerpt(in.Prompt()), cli.Excerpt(in.Content), cli.Excerpt(in.Commit)}},
			Data:   in,
		}, nil
	})
}

// change does what the command line says with the request, and returns it.
func (f *intentFlags) change(ctx context.Context, s *records.Session, run *agentrun.Run, args []string) (*frames.Intent, error) {
	switch {
	case len(args) > 0:
		prompt, err := s.CLI.Text(args[0], "prompt")
		if err != nil {
			return nil, err
		}
		return run.Ask(ctx, prompt, f.by)
	case f.analysis != "":
		content, err := s.CLI.Text(f.analysis, "analysis")
		if err != nil {
			return nil, err
		}
		analyzed, err := run.Analyze(ctx, content, f.by)
		for _, w := range analyzed.Warnings {
			s.CLI.Say("warning: %s", w)
		}
		return analyzed.Intent, err
	case f.end != "":
		return run.EndIntent(ctx, frames.IntentStatus(f.end), f.reason, f.commit)
	}
	in, err := run.Intent(ctx)
	if err == nil && in == nil {
		err = fmt.Errorf("intent: %w (give the run one with: anchor-host frames intent --run %s PROMPT)", store.ErrNotFound, s.RunID())
	}
	return in, err
}
