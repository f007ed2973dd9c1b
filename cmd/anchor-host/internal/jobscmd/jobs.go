// Package jobscmd implements "anchor-host jobs": work in the background, in the database of the jobs.
package jobscmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/openjobs"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/server/jobs"
	"github.com/anchor-host/anchor-host/server/jobs/queue"
	"github.com/anchor-host/anchor-host/store"
)

// Command returns "jobs".
func Command(a *cli.App) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "jobs",
		Short: "Submit work for the background, and see what became of it",
		Long: `Submit documents, vectors, evaluations and lists of builds as jobs, and see what became of
them. "serve" does them if the configuration has server.jobs.workers, and "jobs run" does
them without a service. A job is kept until it is done: in a file beside the store, or in
the database of the store. What a job has done once, another attempt does not add again.`,
		Example: `  anchor-host jobs submit ingest guide.md --collection docs
  anchor-host jobs run
  anchor-host jobs list`,
	})
	cmd.AddCommand(submit(a), list(a), show(a), cancel(a), logs(a), run(a))
	return cmd
}

// work is what a command does with the open queue.
type work func(ctx context.Context, q *queue.Queue, tenant string, args []string) (cli.Listing, error)

// command completes a command on the jobs of a tenant.
func command(a *cli.App, cmd *cobra.Command, do work, formats ...string) *cobra.Command {
	cli.ConfigFlag(cmd)
	records.Flags(cmd)
	return a.Command(cmd, func(cmd *cobra.Command, args []string) (l cli.Listing, err error) {
		loaded, err := a.Load(cmd)
		if err != nil {
			return l, err
		}
		q, err := openjobs.Open(cmd.Context(), loaded, 0, nil, a.Logger(&loaded.Config))
		if err != nil {
			return l, err
		}
		defer func() { err = errors.Join(err, q.Close(context.WithoutCancel(cmd.Context()))) }()
		l, err = do(cmd.Context(), q, loaded.TenantName(), args)
		return l, kind(err)
	}, formats...)
}

// kind gives an error of the queue the exit code of its kind.
func kind(err error) error {
	switch {
	case errors.Is(err, jobs.ErrNotFound):
		return errkind.As(store.ErrNotFound, err)
	case errors.Is(err, jobs.ErrInvalid):
		return errkind.As(config.ErrInvalid, err)
	}
	return err
}

func submit(a *cli.App) *cobra.Command {
	var s jobs.Submission
	cmd := &cobra.Command{
		Use:   "submit [flags] KIND [FILE…]",
		Short: "Submit a job",
		Long: `Submit a job of a KIND:

  ingest    read the FILEs, or --folder below the folder of the tenant, into --collection
  embed     make the vectors of --collection again
  evaluate  measure retrieval with the FILE of questions that "eval init" writes
  builds    build each request of the FILE, one a line, and keep the results

FILEs are kept with the job. The same job that waits or runs is not added again.`,
		Example: `  anchor-host jobs submit ingest guide.md faq.md --collection docs
  anchor-host jobs submit builds requests.jsonl --priority 4
  anchor-host jobs submit evaluate questions.jsonl`,
		Args: cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&s.Collection, "collection", "", "collection of ingest and embed")
	f.StringVar(&s.Folder, "folder", "", "what ingest reads in the place of FILEs: a path below server.jobs.folder and the tenant")
	f.StringVar(&s.Pipeline, "pipeline", "", "pipeline of evaluate and builds")
	f.StringVar(&s.User, "user", "", "user that builds are for")
	f.IntVar(&s.Limit, "limit", 0, "most questions of evaluate (default: all)")
	f.IntVar(&s.Priority, "priority", jobs.DefaultPriority, "1 (first) to 4 (last)")
	return command(a, cmd, func(ctx context.Context, q *queue.Queue, tenant string, args []string) (l cli.Listing, err error) {
		job := s
		job.Kind, job.Tenant = args[0], tenant
		if !slices.Contains(jobs.Kinds, job.Kind) {
			return l, cli.Usagef(cmd, "KIND %.100q: want %s", job.Kind, strings.Join(jobs.Kinds, ", "))
		}
		if job.Files, err = files(a, job.Kind, args[1:]); err != nil {
			return l, err
		}
		doc, added, err := q.Submit(ctx, job)
		if err != nil {
			return l, err
		}
		if !added {
			a.Say("the same job is there already")
		}
		return listing(a, []jobs.Doc{doc}, doc), nil
	})
}

// files reads the files of a job.
func files(a *cli.App, kind string, paths []string) (list []jobs.File, err error) {
	size := int64(0)
	for _, path := range paths {
		in, name, err := a.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read a file of the job: %w", err)
		}
		data, err := io.ReadAll(io.LimitReader(in, jobs.MaxInput-size+1))
		_ = in.Close() // it was only read
		if err != nil {
			return nil, fmt.Errorf("read a file of the job: %s: %w", name, err)
		}
		size += int64(len(data))
		if size > jobs.MaxInput {
			return nil, fmt.Errorf("%w: the files have more than %d MiB", jobs.ErrInvalid, jobs.MaxInput>>20)
		}
		switch kind {
		case jobs.Ingest:
			name = filepath.ToSlash(filepath.Clean(path))
		case jobs.Evaluate:
			name = "questions"
		case jobs.Builds:
			name = "requests"
		}
		list = append(list, jobs.File{Name: name, Content: io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))})
	}
	return list, nil
}

func list(a *cli.App) *cobra.Command {
	var page records.Page
	cmd := &cobra.Command{
		Use:     "list [flags]",
		Short:   "List the jobs of a tenant, the newest first",
		Long:    `List the jobs of a tenant, the newest first. Those that have ended are kept for seven days.`,
		Example: `  anchor-host jobs list --tenant acme -o json`,
		Args:    cobra.NoArgs,
	}
	page.Flags(cmd, 50, jobs.MaxList)
	return command(a, cmd, func(ctx context.Context, q *queue.Queue, tenant string, _ []string) (l cli.Listing, err error) {
		s := &records.Session{CLI: a, Cmd: cmd, Format: cli.Format(cmd)}
		if err := page.Check(s); err != nil {
			return l, err
		}
		found, err := q.List(ctx, jobs.Filter{Tenant: tenant, Before: page.Cursor, Limit: page.Limit})
		if err != nil {
			return l, err
		}
		if len(found) == page.Limit {
			page.More(s, "jobs", found[len(found)-1].ID)
		}
		return listing(a, found, found), nil
	})
}

func listing(a *cli.App, list []jobs.Doc, data any) cli.Listing {
	if slices.ContainsFunc(list, func(d jobs.Doc) bool { return d.Text == jobs.NoWorker }) {
		a.Say("%s, so jobs wait (do them with: anchor-host jobs run; or set server.jobs.workers)", jobs.NoWorker)
	}
	l := cli.Listing{Header: []string{"JOB", "KIND", "STATE", "DONE", "ATTEMPT", "PRIORITY", "SUBMITTED", "ENDED", "ERROR"}, Data: data}
	for i := range list {
		d := &list[i]
		ended, problem := "-", "-"
		if d.Ended != nil {
			ended = records.Time(*d.Ended)
		}
		if d.Error != nil {
			problem = cli.Excerpt(d.Error.Message)
		}
		l.Rows = append(l.Rows, []string{
			d.ID, d.Kind, d.State, fmt.Sprintf("%d of %d", d.Done, d.Total), fmt.Sprintf("%d of %d", d.Attempt, d.MaxAttempts), strconv.Itoa(d.Priority),
			records.Time(*d.Submitted), ended, problem,
		})
	}
	return l
}

func show(a *cli.App) *cobra.Command {
	var results bool
	cmd := &cobra.Command{
		Use:   "show [flags] JOB",
		Short: "Show a job with its report, or the results of its builds",
		Long: `Show a job; with -o json its report, too. --results prints the results of builds instead,
as JSON Lines in the order of the requests.`,
		Example: `  anchor-host jobs show 1 -o json
  anchor-host jobs show 1 --results > results.jsonl`,
		Args: cli.Exactly("JOB"),
	}
	cmd.Flags().BoolVar(&results, "results", false, "print the results of builds")
	return command(a, cmd, func(ctx context.Context, q *queue.Queue, tenant string, args []string) (l cli.Listing, err error) {
		if !results {
			doc, err := q.Get(ctx, tenant, args[0])
			if err != nil {
				return l, err
			}
			return listing(a, []jobs.Doc{doc}, doc), nil
		}
		for from, more := 0, true; more; {
			more = false
			err := q.Results(ctx, tenant, args[0], from, jobs.MaxList, func(index int, data []byte) error {
				from, more = index+1, true
				_, err := fmt.Fprintf(a.Out, "%s\n", data)
				return err
			})
			if err != nil {
				return l, err
			}
		}
		return l, nil
	})
}

func cancel(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cancel [flags] JOB",
		Short:   "Cancel a job that waits or runs",
		Long:    `Cancel a job. One that runs ends within seconds. What it has done stays.`,
		Example: `  anchor-host jobs cancel 1`,
		Args:    cli.Exactly("JOB"),
	}
	return command(a, cmd, func(ctx context.Context, q *queue.Queue, tenant string, args []string) (l cli.Listing, err error) {
		doc, err := q.Cancel(ctx, tenant, args[0])
		if err != nil {
			return l, err
		}
		return listing(a, []jobs.Doc{doc}, doc), nil
	})
}

func logs(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "logs [flags] JOB",
		Short:   "Print the log of a job",
		Long:    `Print the log of a job: documents that could not be read, and why attempts failed.`,
		Example: `  anchor-host jobs logs 1`,
		Args:    cli.Exactly("JOB"),
	}
	return command(a, cmd, func(ctx context.Context, q *queue.Queue, tenant string, args []string) (l cli.Listing, err error) {
		data, err := q.Log(ctx, tenant, args[0])
		if err != nil {
			return l, err
		}
		if l.Data = strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"); len(data) == 0 {
			l.Data = []string{}
		}
		l.Text = string(data)
		return l, nil
	})
}
