package jobscmd

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/openjobs"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/parts"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/server/jobs/queue"
)

const (
	// look is how often run looks whether there is still a job.
	look = 100 * time.Millisecond
	// closeTime bounds the end of jobs that run and of plugins.
	closeTime = 10 * time.Second
)

func run(a *cli.App) *cobra.Command {
	var workers int
	var watch bool
	cmd := &cobra.Command{
		Use:   "run [flags]",
		Short: "Do the jobs of all tenants that wait",
		Long: `Do the jobs of all tenants that wait, and end when there are none. With --watch the command
waits for further ones until it is interrupted; jobs that run then go back. Other workers
and a service may run at the same time. The quotas of keys are those of serve alone.`,
		Example: `  anchor-host jobs run
  anchor-host jobs run --workers 4 --watch`,
		Args: cobra.NoArgs,
	}
	cli.HostFlags(cmd)
	cli.StoreFileFlag(cmd)
	cmd.Flags().IntVar(&workers, "workers", 0, "jobs at the same time (default: server.jobs.workers, or 1)")
	cmd.Flags().BoolVar(&watch, "watch", false, "wait for further jobs")
	cmd.RunE = a.Run(func(cmd *cobra.Command, _ []string) error {
		if workers < 0 || workers > 1000 {
			return cli.Usagef(cmd, "flag --workers: want 1 to 1000, got %d", workers)
		}
		loaded, err := a.Load(cmd)
		if err != nil {
			return err
		}
		return doAll(cmd.Context(), a, loaded, cmp.Or(workers, loaded.Server.Jobs.Workers, 1), watch)
	})
	return cmd
}

// doAll runs workers until there is no job, or until ctx ends.
func doAll(ctx context.Context, a *cli.App, loaded *config.Loaded, workers int, watch bool) (err error) {
	log := a.Logger(&loaded.Config)
	app, err := anchor.Open(ctx, loaded, anchor.Options{Logger: log, Lazy: true, Components: parts.Components(loaded)})
	if err != nil {
		return err
	}
	q, err := openjobs.Open(ctx, loaded, workers, openjobs.Worker(loaded, app, nil), log)
	if err != nil {
		return errors.Join(err, app.Close(context.WithoutCancel(ctx)))
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		err = errors.Join(err, q.Close(ctx), app.Close(ctx))
	}()
	if err := q.Start(ctx); err != nil {
		return err
	}
	return wait(ctx, q, watch)
}

// wait waits for the end of all jobs, or of ctx.
func wait(ctx context.Context, q *queue.Queue, watch bool) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		if !watch {
			if idle, err := q.Idle(ctx); idle || err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
