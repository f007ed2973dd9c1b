// Package framescmd implements "anchor-host frames": what an agent run did and found, its request, its
// plan and its snapshots.
package framescmd

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/pipeline/frames"
)

// Command returns "frames".
func Command(a *cli.App) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "frames",
		Short: "Keep what an agent did as frames",
		Long: `Keep what an agent did and found as frames. A frame is a small summary that
outlives the messages it comes from. Each run has a log, which keeps every frame,
and a window, which drops the oldest frames when it exceeds its limits. Frames of
the kinds intent_analysis and checkpoint never leave the window. "assemble --run"
offers the window to the model as observations.

A run can also have a request (intent), a plan, whose steps record which frames they
read and wrote, and snapshots of what the window held.`,
		Example: `  anchor-host frames push --run fix-42 --kind step_summary "auth module split in two"
  anchor-host frames window --run fix-42`,
	})
	cmd.AddCommand(push(a), list(a), window(a), intent(a), plan(a), step(a), snapshot(a))
	return cmd
}

// frameFlags are the flags of frames push.
type frameFlags struct {
	kind, data, summary, by string
	tokens                  int64
	step                    int
	count                   bool
	limits                  limitFlags
}

// limitFlags bound a window.
type limitFlags struct{ frames, tokens int64 }

func (l *limitFlags) add(cmd *cobra.Command, what string) {
	cmd.Flags().Int64Var(&l.frames, "max-frames", 0, what+" to this many frames")
	cmd.Flags().Int64Var(&l.tokens, "max-tokens", 0, what+" to this many tokens")
	cli.SettingFlag(cmd, "max-tokens", "")
}

func (l *limitFlags) limits(s *records.Session) (frames.Limits, error) {
	if l.frames < 0 || l.frames > math.MaxUint32 || l.tokens < 0 {
		return frames.Limits{}, s.Usagef("flags --max-frames and --max-tokens: want 0 or more, got %d and %d", l.frames, l.tokens)
	}
	return frames.Limits{MaxFrames: uint32(l.frames), MaxTokens: uint64(l.tokens)}, nil
}

// change returns a function that applies the given flags to limits. The value 0 removes a limit.
func (l *limitFlags) change(cmd *cobra.Command, given frames.Limits) func(frames.Limits) frames.Limits {
	inFrames, inTokens := cmd.Flags().Changed("max-frames"), cmd.Flags().Changed("max-tokens")
	return func(now frames.Limits) frames.Limits {
		if inFrames {
			now.MaxFrames = given.MaxFrames
		}
		if inTokens {
			now.MaxTokens = given.MaxTokens
		}
		return now
	}
}

func push(a *cli.App) *cobra.Command {
	var f frameFlags
	cmd := &cobra.Command{
		Use:   "push --run ID --kind KIND [flags] SUMMARY",
		Short: "Add a frame to a run",
		Long: `Add a frame to a run and print its number. The first frame creates the run. The
summary is the argument, or with "-" what comes on stdin. The kinds are intent_analysis,
step_summary, code_change, system_state, error_recovery, checkpoint, tool_call, and
other:TEXT for one of your own.

--max-frames and --max-tokens set the limits of the window from now on; 0 removes one.
The oldest unprotected frames beyond them leave the window but stay in the log. Without
--tokens and --count, a frame counts as one token for four characters.`,
		Example: `  anchor-host frames push --run fix-42 --kind intent_analysis "make the login faster"
  anchor-host frames push --run fix-42 --kind tool_call --data '{"exit": 0}' --max-frames 50 "tests pass"`,
		Args: cli.Exactly("SUMMARY"),
	}
	f.add(cmd)
	return records.Command(a, records.Write, cmd, func(ctx context.Context, s *records.Session, args []string) (cli.Listing, error) {
		return f.push(ctx, s, args[0])
	})
}

func (f *frameFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	records.RunFlag(cmd)
	flags.StringVar(&f.kind, "kind", "", "what the frame captures (required)")
	flags.StringVar(&f.data, "data", "", "any JSON value to keep with the summary (- for stdin)")
	flags.Int64Var(&f.tokens, "tokens", -1, "estimated tokens of the frame; -1: a quarter of its characters")
	flags.BoolVar(&f.count, "count", false, "count the tokens of the frame")
	flags.StringVar(&f.summary, "global-summary", "", "set the summary of the whole run")
	flags.StringVar(&f.by, "by", "anchor-host", "name recorded in the run as its creator")
	flags.IntVar(&f.step, "step", 0, "the step of the plan that wrote the frame (default: the one that is progressing)")
	f.limits.add(cmd, "from now on keep the window")
	cmd.MarkFlagsMutuallyExclusive("tokens", "count")
	_ = cmd.MarkFlagRequired("kind") // fails only for an unknown flag
}

// push adds the frame of a command line to its run.
func (f *frameFlags) push(ctx context.Context, s *records.Session, summary string) (cli.Listing, error) {
	frame, err := f.frame(s, summary)
	if err != nil {
		return cli.Listing{}, err
	}
	limits, err := f.limits.limits(s)
	if err != nil {
		return cli.Listing{}, err
	}
	run, err := s.AgentRun(ctx)
	if err != nil {
		return cli.Listing{}, err
	}
	pushed, err := run.Push(ctx, frame, agentrun.PushOptions{
		By: f.by, Step: f.step, Count: f.count, Limits: f.limits.change(s.Cmd, limits), GlobalSummary: f.summary,
	})
	if err != nil {
		return cli.Listing{}, err
	}
	for _, w := range pushed.Warnings {
		s.CLI.Say("warning: %s", w)
	}
	return cli.Listing{
		Header: []string{"RUN", "FRAME", "FRAMES IN WINDOW", "TOKENS"},
		Rows: [][]string{{
			cli.OneCell(s.RunID()), strconv.FormatUint(pushed.ID, 10), strconv.Itoa(pushed.Frames), strconv.FormatUint(pushed.Tokens, 10),
		}},
		Data: struct {
			Run    string `json:"run"`
			ID     uint64 `json:"frame_id"`
			Frames int    `json:"frames_in_window"`
			Tokens uint64 `json:"total_token_estimate"`
		}{s.RunID(), pushed.ID, pushed.Frames, pushed.Tokens},
	}, nil
}

// frame makes the frame of a command line.
func (f *frameFlags) frame(s *records.Session, summary string) (frame frames.Frame, err error) {
	if frame.Kind, err = frames.ParseKind(f.kind); err != nil {
		return frame, s.Usagef("flag --kind: %w", err)
	}
	if summary == "-" && f.data == "-" {
		return frame, s.Usagef("summary and data cannot both come from stdin")
	}
	if frame.Summary, err = s.CLI.Text(summary, "summary"); err != nil {
		return frame, err
	}
	data, err := s.CLI.Text(f.data, "data")
	if err != nil {
		return frame, err
	}
	if data != "" {
		if !json.Valid([]byte(data)) {
			return frame, s.Usagef("flag --data: want a JSON value, got %s", cli.Excerpt(data))
		}
		frame.Data = json.RawMessage(data)
	}
	if s.Cmd.Flags().Changed("tokens") {
		if f.tokens < 0 {
			return frame, s.Usagef("flag --tokens: want 0 or more, got %d", f.tokens)
		}
		frame.TokenEstimate = frames.Tokens(uint64(f.tokens))
	}
	return frame, nil
}

// noVerb refuses a lone argument that reads like a command: it would be stored as a step, a label or a
// request, where the person wants to see what there is.
func noVerb(s *records.Session, args []string) error {
	if len(args) == 1 && (args[0] == "show" || args[0] == "list") {
		return s.Usagef("%q is no command here (leave it out to see what there is)", args[0])
	}
	return nil
}
