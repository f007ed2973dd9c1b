package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/pipeline/frames"
)

func (a *app) framesSnapshotCommand() *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "snapshot",
		Short: "Keep what the window of a run held",
		Long: `A snapshot records which frames the window of a run held at a certain moment.
Snapshots are taken when the request is analyzed (label "start"), when a step
begins to progress ("step"), and by "snapshot take". The frames themselves stay in
the log of the run.`,
		Example: `  anchor-host frames snapshot list --run fix-42
  anchor-host frames snapshot diff --run fix-42 1 2`,
	})
	cmd.AddCommand(a.snapshotTakeCommand(), a.snapshotListCommand(), a.snapshotDiffCommand())
	return cmd
}

func (a *app) snapshotTakeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "take --run ID [flags] LABEL",
		Short:   "Store what the window holds now",
		Long:    "Store what the window of a run holds now, and print the number of the snapshot.",
		Example: `  anchor-host frames snapshot take --run fix-42 "before the rewrite"`,
		Args:    cli.Exactly("LABEL"),
	}
	return a.runCommand(cmd, a.withStore, func(ctx context.Context, run *agentrun.Run, args []string) (cli.Listing, error) {
		s, err := run.TakeSnapshot(ctx, args[0])
		if err != nil {
			return cli.Listing{}, err
		}
		l := snapshotListing([]frames.Snapshot{s})
		l.Data = s
		return l, nil
	})
}

func (a *app) snapshotListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list --run ID [flags]",
		Short:   "List the snapshots of a run",
		Long:    "List the snapshots of a run, oldest first; -o json prints their whole documents.",
		Example: `  anchor-host frames snapshot list --run fix-42 -o json`,
		Args:    cobra.NoArgs,
	}
	return a.runCommand(cmd, a.withStoreToRead, func(ctx context.Context, run *agentrun.Run, _ []string) (cli.Listing, error) {
		list, err := run.Snapshots(ctx)
		return snapshotListing(list), err
	})
}

func (a *app) snapshotDiffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff --run ID [flags] EARLIER LATER",
		Short: "Show which frames entered and left the window",
		Long: `Show which frames entered and left the window of a run between two snapshots,
which are named by their numbers.`,
		Example: `  anchor-host frames snapshot diff --run fix-42 1 2`,
		Args:    cli.Exactly("EARLIER", "LATER"),
	}
	return a.runCommand(cmd, a.withStoreToRead, func(ctx context.Context, run *agentrun.Run, args []string) (cli.Listing, error) {
		var pair [2]*frames.Snapshot
		for i, text := range args {
			number, err := strconv.ParseUint(text, 10, 63)
			if err != nil {
				return cli.Listing{}, cli.Usagef(cmd, "want the number of a snapshot, got %q (see: anchor-host frames snapshot list)", text)
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
	})
}

func snapshotListing(list []frames.Snapshot) cli.Listing {
	l := cli.Listing{Header: []string{"SNAPSHOT", "LABEL", "STEP", "FRAMES", "TOKENS", "CREATED"}, Data: list}
	for i := range list {
		s := &list[i]
		step := "-"
		if s.Step > 0 {
			step = strconv.FormatUint(uint64(s.Step), 10)
		}
		l.Rows = append(l.Rows, []string{
			strconv.FormatUint(s.ID, 10), cli.OneCell(s.Label), step, numbers(s.ContextFrames), strconv.FormatUint(s.Tokens, 10), moment(s.CreatedAt),
		})
	}
	return l
}
