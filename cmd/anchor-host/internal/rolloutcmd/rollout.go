// Package rolloutcmd implements "anchor-host rollout": what the hosts of a service follow.
package rolloutcmd

import (
	"cmp"
	"context"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cluster"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/following"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/store"
)

// Command returns "rollout".
func Command(a *cli.App) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "rollout",
		Short: "Give all hosts another configuration, step by step",
		Long: `Hosts that run "serve --follow" with the same store load what is in it for all of them. A
rollout gives a new anchor.yaml, with the plugins of its anchor.lock, to a growing share of the
conversations. It goes back by itself if more builds fail than before, or if they need more
time or fuel. The manual is docs/rollout.md.

The store is that of --store, or of the anchor.yaml of the hosts.`,
		Example: `  anchor-host rollout start new/anchor.yaml --every 10m
  anchor-host rollout status
  anchor-host rollout abort`,
	})
	cmd.AddCommand(start(a), status(a), pause(a), resume(a), abort(a))
	return cmd
}

// command completes a command on the cluster.
func command(a *cli.App, cmd *cobra.Command, work func(ctx context.Context, s store.Store, own *config.Loaded, args []string) (cli.Listing, error)) *cobra.Command {
	cli.ConfigFlag(cmd)
	cli.StoreFileFlag(cmd)
	return a.Command(cmd, func(cmd *cobra.Command, args []string) (l cli.Listing, err error) {
		own, err := a.Load(cmd)
		if err != nil {
			return l, err
		}
		s := following.Store(own)
		defer func() { err = cmp.Or(err, s.Close()) }()
		return work(cmd.Context(), s, own, args)
	})
}

// who names the user of this command for others.
func who() string {
	name, _ := os.Hostname() // the name of the user is enough
	if u, err := user.Current(); err == nil {
		return u.Username + "@" + name
	}
	return name
}

// watch is how long the status waits to see that a host leads: a little more than a poll.
const watch = 3 * time.Second

func status(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [flags]",
		Short: "Print versions, hosts and numbers",
		Long: `Print which version the hosts serve, the share of the candidate, what the rollout waits for,
and the numbers of both versions. A host is late if nothing was heard of it for 16
seconds. The command looks for up to 3 seconds whether a host moves the rollout.`,
		Example: `  anchor-host rollout status
  anchor-host rollout status -o json`,
		Args: cobra.NoArgs,
	}
	return command(a, cmd, func(ctx context.Context, s store.Store, _ *config.Loaded, _ []string) (l cli.Listing, err error) {
		st, err := cluster.ReadStatus(ctx, s, watch)
		if err != nil {
			return l, err
		}
		return cli.Listing{Text: text(st), Data: st}, nil
	})
}

// change returns a command that changes a rollout.
func change(a *cli.App, cmd *cobra.Command, of func() func(*cluster.Desired) error) *cobra.Command {
	cmd.Args = cobra.NoArgs
	reason := cmd.Flags().String("reason", "", "why, for the status")
	return command(a, cmd, func(ctx context.Context, s store.Store, _ *config.Loaded, _ []string) (l cli.Listing, err error) {
		d, err := cluster.Change(ctx, s, who(), *reason, of())
		if err != nil {
			return l, err
		}
		return cli.Listing{Text: sentence(d) + "\n", Data: d}, nil
	})
}

func pause(a *cli.App) *cobra.Command {
	return change(a, &cobra.Command{
		Use:   "pause [flags]",
		Short: "Keep the share of the candidate as it is",
		Long: `Keep the share of the candidate as it is. A candidate that turns out to be beyond the bounds
is taken back nevertheless.`,
		Example: `  anchor-host rollout pause --reason "wait for Monday"`,
	}, func() func(*cluster.Desired) error { return cluster.Pause })
}

func resume(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume [flags]",
		Short: "Go on after a pause, or go to the next share",
		Long: `Go on after a pause. With --next go to the next share at once; after the last one the
candidate becomes the version of all conversations.`,
		Example: `  anchor-host rollout resume
  anchor-host rollout resume --next`,
	}
	next := cmd.Flags().Bool("next", false, "go to the next share at once")
	return change(a, cmd, func() func(*cluster.Desired) error {
		if *next {
			return cluster.Next
		}
		return cluster.Resume
	})
}

func abort(a *cli.App) *cobra.Command {
	return change(a, &cobra.Command{
		Use:     "abort [flags]",
		Short:   "Give all conversations the stable version",
		Long:    `End the rollout. All conversations get the stable version, on each host within 3 seconds.`,
		Example: `  anchor-host rollout abort --reason "answers are worse"`,
	}, func() func(*cluster.Desired) error { return cluster.Abort })
}
