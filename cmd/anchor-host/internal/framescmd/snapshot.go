package framescmd

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/pipeline/frames"
)

func snapshot(a *cli.App) *cobra.Command {
	var pair []string
	cmd := &cobra.Command{
		Use:   "snapshot --run ID [flags] [LABEL]",
		Short: "Keep, list or compare what the window of a run held",
		Long: `List the snapshots of a run, oldest first. With LABEL take one of what the window holds
now. --diff shows which frames entered and left the window between two snapshots.

Snapshots are also taken when the request is analyzed (label "start") and when a step
begins to progress ("step"). The frames themselves stay in the log of the run.`,
		Example: `  anchor-host frames snapshot --run fix-42 "before the rewrite"
  anchor-host frames snapshot --run fix-42 --diff 1,2`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.Flags().StringSliceVar(&pair, "diff", nil, "compare two snapshots, by their numbers")
	records.RunFlag(cmd)
	return records.Command(a, records.ByArgs, cmd, func(ctx context.Context, s *records.Session, args []string) (cli.Listing, error) {
		if err := noVerb(s, args); err != nil {
			return cli.Listing{}, err
		}
		run, err := s.AgentRun(ctx)
		switch {
		case err != nil:
			return cli.Listing{}, err
		case pair != nil && (len(pair) != 2 || len(args) > 0):
			return cli.Listing{}, s.Usagef("flag --diff: want two numbers such as 1,2, and no LABEL")
		case pair != nil:
			return diff(ctx, s, run, pair)
		case len(args) == 0:
			list, err := run.Snapshots(ctx)
			return snapshotListing(list, list), err
		}
		taken, err := run.TakeSnapshot(ctx, args[0])
		return snapshotListing([]frames.Snapshot{taken}, taken), err
	})
}

// diff compares two snapshots.
func diff(ctx context.Context, s *records.Session, run *agentrun.Run, numbered []string) (cli.Listing, error) {
	var pair [2]*frames.Snapshot
	for i, text := range numbered {
		number, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return cli.Listing{}, s.Usagef("want the number of a snapshot, got %q (see: anchor-host frames snapshot)", text)
		}
		if pair[i], err = run.Snapshot(ctx, number); err != nil {
			return cli.Listing{}, err
		}
	}
	d := pair[0].Diff(pair[1])
	summary := "same"
	if d.SummaryChanged {
		summary = "changed"
	}
	return cli.Listing{
		Header: []string{"ENTERED", "LEFT", "TOKENS", "GLOBAL SUMMARY"},
		Rows:   [][]string{{numbers(d.Entered), numbers(d.Left), strconv.FormatInt(d.Tokens, 10), summary}},
		Data:   d,
	}, nil
}

func snapshotListing(list []frames.Snapshot, data any) cli.Listing {
	l := cli.Listing{Header: []string{"SNAPSHOT", "LABEL", "STEP", "FRAMES", "TOKENS", "CREATED"}, Data: data}
	for i := range list {
		s := &list[i]
		step := "-"
		if s.Step > 0 {
			step = strconv.FormatUint(uint64(s.Step), 10)
		}
		l.Rows = append(l.Rows, []string{
			strconv.FormatUint(s.ID, 10), cli.OneCell(s.Label), step, numbers(s.ContextFrames), strconv.FormatUint(s.Tokens, 10), records.Time(s.CreatedAt),
		})
	}
	return l
}
