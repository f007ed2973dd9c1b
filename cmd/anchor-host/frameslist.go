package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/store"
)

func (a *app) framesListCommand() *cobra.Command {
	var run string
	var after, limit int64
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the frames of a run, or the runs",
		Long: `List the frames of a run, oldest first, including those that have left its window.
--from and --limit select a part. Without --run, list the runs, including those
that have no frames but a state, an intent, a plan or a snapshot.`,
		Example: `  anchor-host frames list
  anchor-host frames list --run fix-42 --from 100 --limit 20 -o json`,
		Args: cobra.NoArgs,
	}
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	cmd.Flags().StringVar(&run, "run", "", "list the frames of this run (default: list the runs)")
	cmd.Flags().Int64Var(&after, "from", 0, "begin with the frame of this number (default: with the oldest)")
	cmd.Flags().Int64Var(&limit, "limit", 0, "list at most this many frames; 0 for all")
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.withStoreToRead(func(cmd *cobra.Command, _ []string, s *session) error {
		if after < 0 || limit < 0 || limit > math.MaxInt32 {
			return cli.Usagef(cmd, "flags --from and --limit: want 0 or more, got %d and %d", after, limit)
		}
		if run == "" {
			list, err := s.front.Runs(cmd.Context(), "")
			if err != nil {
				return err
			}
			return a.Print(*format, streamListing("RUN", "FRAMES", list))
		}
		r, err := s.front.Run(cmd.Context(), "", run)
		if err != nil {
			return err
		}
		list, err := r.Frames(cmd.Context(), uint64(after), int(limit))
		if err != nil {
			return err
		}
		return a.Print(*format, frameListing(list, list))
	})
	return cmd
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
			strconv.FormatUint(f.ID, 10), cli.OneCell(f.Kind.String()), tokens, moment(f.CreatedAt), cli.Excerpt(f.Summary),
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

func (a *app) framesWindowCommand() *cobra.Command {
	var run string
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
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	cmd.Flags().StringVar(&run, "run", "", "the agent run (required)")
	limits.add(cmd, "narrow the view")
	format := cli.FormatFlag(cmd, "table", "json", "yaml", "document")
	_ = cmd.MarkFlagRequired("run") // fails only for an unknown flag
	cmd.RunE = a.withStoreToRead(func(cmd *cobra.Command, _ []string, s *session) error {
		narrow, err := limits.limits(cmd)
		if err != nil {
			return err
		}
		r, err := s.front.Run(cmd.Context(), "", run)
		if err != nil {
			return err
		}
		p, err := r.Window(cmd.Context())
		switch {
		case err != nil:
			return err
		case p == nil:
			return fmt.Errorf("run %q of tenant %q: no frames: %w (push one with: anchor-host frames push)", run, s.tenant, store.ErrNotFound)
		case *format == "document":
			var b bytes.Buffer
			if err := cli.WriteJSON(&b, p.Document()); err != nil {
				return err
			}
			return a.Emit(&b)
		}
		w := p.View(narrow)
		list := w.Frames
		if list == nil {
			list = []frames.Frame{}
		}
		return a.Print(*format, frameListing(list, windowDocument{
			Run: run, Pipeline: w.Pipeline, Positions: w.Positions, Limits: p.Limits(),
			Tokens: w.TotalTokenEstimate(), GlobalSummary: p.GlobalSummary(), Frames: list,
		}))
	})
	return cmd
}
