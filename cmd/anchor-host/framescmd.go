package main

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/pipeline/frames"
)

func (a *app) framesCommand() *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "frames",
		Short: "Keep what an agent did as frames",
		Long: `Keep what an agent did and found as frames. A frame is a small summary that
outlives the messages it comes from. Each run has a log, which keeps every frame,
and a window, which drops the oldest frames when it exceeds its limits. Frames of
the kinds intent_analysis and checkpoint never leave the window. "assemble --run"
offers the window to the model as observations.

A run can also have a request (intent), a plan and snapshots. The steps of the
plan record which frames they read and wrote. A snapshot records what the window
held.`,
		Example: `  anchor-host frames push --run fix-42 --kind step_summary "auth module split in two"
  anchor-host frames window --run fix-42`,
	})
	cmd.AddCommand(a.framesPushCommand(), a.framesListCommand(), a.framesWindowCommand(),
		a.framesIntentCommand(), a.framesPlanCommand(), a.framesSnapshotCommand())
	return cmd
}

// frameFlags are the flags of frames push.
type frameFlags struct {
	run, kind, data, summary, by string
	tokens                       int64
	step                         int
	count                        bool
	limits                       limitFlags
}

// limitFlags bound a window.
type limitFlags struct{ frames, tokens int64 }

func (l *limitFlags) add(cmd *cobra.Command, what string) {
	cmd.Flags().Int64Var(&l.frames, "max-frames", 0, what+" to this many frames")
	cmd.Flags().Int64Var(&l.tokens, "max-tokens", 0, what+" to this many tokens")
	cli.SettingFlag(cmd, "max-tokens", "")
}

func (l *limitFlags) limits(cmd *cobra.Command) (frames.Limits, error) {
	if l.frames < 0 || l.frames > math.MaxUint32 || l.tokens < 0 {
		return frames.Limits{}, cli.Usagef(cmd, "flags --max-frames and --max-tokens: want 0 or more, got %d and %d", l.frames, l.tokens)
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

func (a *app) framesPushCommand() *cobra.Command {
	var f frameFlags
	cmd := &cobra.Command{
		Use:   "push --run ID --kind KIND [flags] SUMMARY",
		Short: "Add a frame to a run",
		Long: `Add a frame to a run and print the number of the frame. The first frame creates
the run. The summary is the argument, or with "-" what comes on stdin.

The kinds are intent_analysis, step_summary, code_change, system_state,
error_recovery, checkpoint, tool_call, and other:TEXT for one of your own.

--max-frames and --max-tokens set the limits of the window from now on. The oldest
unprotected frames beyond them leave the window but stay in the log. The value 0
removes a limit. --tokens states how many tokens the frame has, and --count counts
them. Without both, the estimate is one token for four characters.`,
		Example: `  anchor-host frames push --run fix-42 --kind intent_analysis "make the login faster"
  anchor-host frames push --run fix-42 --kind tool_call --data '{"exit": 0}' --max-frames 50 "tests pass"`,
		Args: cli.Exactly("SUMMARY"),
	}
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	f.add(cmd)
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.withStore(func(cmd *cobra.Command, args []string, s *session) error {
		pushed, err := s.push(cmd, &f, args[0])
		if err != nil {
			return err
		}
		return a.Print(*format, pushed)
	})
	return cmd
}

func (f *frameFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.run, "run", "", "the agent run (required)")
	flags.StringVar(&f.kind, "kind", "", "what the frame captures (required)")
	flags.StringVar(&f.data, "data", "", "any JSON value to keep with the summary (- for stdin)")
	flags.Int64Var(&f.tokens, "tokens", -1, "estimated tokens of the frame; -1: a quarter of its characters")
	flags.BoolVar(&f.count, "count", false, "count the tokens of the frame")
	flags.StringVar(&f.summary, "global-summary", "", "set the summary of the whole run")
	flags.StringVar(&f.by, "by", "anchor-host", "name recorded in the run as its creator")
	flags.IntVar(&f.step, "step", 0, "the step of the plan that wrote the frame (default: the one that is progressing)")
	f.limits.add(cmd, "from now on keep the window")
	cmd.MarkFlagsMutuallyExclusive("tokens", "count")
	_ = cmd.MarkFlagRequired("run") // fails only for an unknown flag
	_ = cmd.MarkFlagRequired("kind")
}

// push adds the frame of a command line to its run.
func (s *session) push(cmd *cobra.Command, f *frameFlags, summary string) (cli.Listing, error) {
	frame, err := s.app.frame(cmd, f, summary)
	if err != nil {
		return cli.Listing{}, err
	}
	limits, err := f.limits.limits(cmd)
	if err != nil {
		return cli.Listing{}, err
	}
	run, err := s.front.Run(cmd.Context(), "", f.run)
	if err != nil {
		return cli.Listing{}, err
	}
	pushed, err := run.Push(cmd.Context(), frame, agentrun.PushOptions{
		By: f.by, Step: f.step, Count: f.count, Limits: f.limits.change(cmd, limits), GlobalSummary: f.summary,
	})
	if err != nil {
		return cli.Listing{}, err
	}
	for _, w := range pushed.Warnings {
		s.app.Say("warning: %s", w)
	}
	return cli.Listing{
		Header: []string{"RUN", "FRAME", "FRAMES IN WINDOW", "TOKENS"},
		Rows: [][]string{{
			cli.OneCell(f.run), strconv.FormatUint(pushed.ID, 10), strconv.Itoa(pushed.Frames), strconv.FormatUint(pushed.Tokens, 10),
		}},
		Data: struct {
			Run    string `json:"run"`
			ID     uint64 `json:"frame_id"`
			Frames int    `json:"frames_in_window"`
			Tokens uint64 `json:"total_token_estimate"`
		}{f.run, pushed.ID, pushed.Frames, pushed.Tokens},
	}, nil
}

// frame makes the frame of a command line.
func (a *app) frame(cmd *cobra.Command, f *frameFlags, summary string) (frame frames.Frame, err error) {
	if frame.Kind, err = frames.ParseKind(f.kind); err != nil {
		return frame, cli.Usagef(cmd, "flag --kind: %w", err)
	}
	if summary == "-" && f.data == "-" {
		return frame, cli.Usagef(cmd, "summary and data cannot both come from stdin")
	}
	if frame.Summary, err = a.text(summary, "summary"); err != nil {
		return frame, err
	}
	data, err := a.text(f.data, "data")
	if err != nil {
		return frame, err
	}
	if data != "" {
		if !json.Valid([]byte(data)) {
			return frame, cli.Usagef(cmd, "flag --data: want a JSON value, got %s", cli.Excerpt(data))
		}
		frame.Data = json.RawMessage(data)
	}
	if cmd.Flags().Changed("tokens") {
		if f.tokens < 0 {
			return frame, cli.Usagef(cmd, "flag --tokens: want 0 or more, got %d", f.tokens)
		}
		frame.TokenEstimate = frames.Tokens(uint64(f.tokens))
	}
	return frame, nil
}
