package framescmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/store"
)

func list(a *cli.App) *cobra.Command {
	var page records.Page
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the frames of a run, or the runs",
		Long: `List the frames of a run, oldest first, including those that have left its window.
--cursor and --limit select a part: a cursor is the number of a frame. Without --run,
list the runs, including those that have no frames but a state, an intent, a plan or a
snapshot.`,
		Example: `  anchor-host frames list
  anchor-host frames list --run fix-42 --cursor 100 --limit 20 -o json`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().String("run", "", "list the frames of this run (default: list the runs)")
	page.Flags(cmd, 0, 0)
	return records.Command(a, records.Read, cmd, func(ctx context.Context, s *records.Session, _ []string) (cli.Listing, error) {
		from, err := strconv.ParseUint(cmp.Or(page.Cursor, "0"), 10, 63)
		if err != nil {
			return cli.Listing{}, s.Usagef("flag --cursor: want the number of a frame, got %q", page.Cursor)
		}
		if err := page.Check(s); err != nil {
			return cli.Listing{}, err
		}
		if s.RunID() == "" {
			list, err := s.Runs(ctx, "")
			return records.Streams("RUN", "FRAMES", list), err
		}
		r, err := s.AgentRun(ctx)
		if err != nil {
			return cli.Listing{}, err
		}
		list, err := r.Frames(ctx, from, page.Limit)
		return frameListing(list, list), err
	})
}

// frameListing shows frames as a table, and data as JSON or YAML.
func frameListing(list []frames.Frame, data any) cli.Listing {
	l := cli.Listing{Header: []string{"FRAME", "KIND", "TOKENS", "CREATED", "SUMMARY"}, Data: data}
	for i := range list {
		f := &list[i]
		tokens := "-"
		if n, ok := f.TokenEstimate.Get(); ok {
			tokens = strconv.FormatUint(n, 10)
		}
		l.Rows = append(l.Rows, []string{
			strconv.FormatUint(f.ID, 10), cli.OneCell(f.Kind.String()), tokens, records.Time(f.CreatedAt), cli.Excerpt(f.Summary),
		})
	}
	return l
}

// windowDocument is the visible part of a run.
type windowDocument struct {
	Run           string           `json:"run"`
	Pipeline      frames.UUID      `json:"context_pipeline"`
	Positions     frames.Positions `json:"fwindow"`
	Limits        frames.Limits    `json:"limits"`
	Tokens        uint64           `json:"total_token_estimate"`
	GlobalSummary string           `json:"global_summary,omitempty"`
	Frames        []frames.Frame   `json:"frames"`
}

func window(a *cli.App) *cobra.Command {
	var limits limitFlags
	cmd := &cobra.Command{
		Use:   "window --run ID [flags]",
		Short: "Show the visible frames of a run",
		Long: `Show the frames that the window of a run holds, oldest first. --max-frames and
--max-tokens narrow the view to the protected frames and the newest others. -o
document prints the stored form, which is the JSON that git-internal reads.`,
		Example: `  anchor-host frames window --run fix-42
  anchor-host frames window --run fix-42 --max-tokens 2000 -o json`,
		Args: cobra.NoArgs,
	}
	records.RunFlag(cmd)
	limits.add(cmd, "narrow the view")
	return records.Command(a, records.Read, cmd, func(ctx context.Context, s *records.Session, _ []string) (l cli.Listing, err error) {
		narrow, err := limits.limits(s)
		if err != nil {
			return l, err
		}
		r, err := s.AgentRun(ctx)
		if err != nil {
			return l, err
		}
		p, err := r.Window(ctx)
		switch {
		case err != nil:
			return l, err
		case p == nil:
			return l, fmt.Errorf("run %q of tenant %q: no frames: %w (push one with: anchor-host frames push)", s.RunID(), s.Tenant, store.ErrNotFound)
		case s.Format == "document":
			var b bytes.Buffer
			if err := cli.WriteJSON(&b, p.Document()); err != nil {
				return l, err
			}
			return l, a.Emit(&b)
		}
		w := p.View(narrow)
		if w.Frames == nil {
			w.Frames = []frames.Frame{}
		}
		return frameListing(w.Frames, windowDocument{
			Run: s.RunID(), Pipeline: w.Pipeline, Positions: w.Positions, Limits: p.Limits(),
			Tokens: w.TotalTokenEstimate(), GlobalSummary: p.GlobalSummary(), Frames: w.Frames,
		}), nil
	}, "table", "json", "yaml", "document")
}
