package framescmd

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/store"
)

func plan(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan --run ID [flags] [STEP]...",
		Short: "Give a run a plan, or show it",
		Long: `Show the newest plan of a run; -o json prints its whole document. With steps give the
run a plan, which names the frames that the window holds now. If the run has an intent,
it must be active. --replace replaces the plan; the old one is kept unchanged.

A step is first pending, then progressing, and finally completed, failed or skipped;
"frames step" changes it. While exactly one step is progressing, frames that are pushed
count as written by it, and frames that build or assemble offers to the model as read.
A step has at most 16 KiB of text, and all steps together 1 MiB.`,
		Example: `  anchor-host frames plan --run fix-42 "measure the login" "cache sessions"
  anchor-host frames plan --run fix-42 --replace "index the sessions table"
  anchor-host frames plan --run fix-42 --seen`,
	}
	flags := cmd.Flags()
	replace := flags.Bool("replace", false, "replace the plan of the run by one of these steps")
	all := flags.Bool("all", false, "show all plans, also those that were replaced")
	seen := flags.Bool("seen", false, "show the frames that the window held when the plan was made")
	by := flags.String("by", "anchor-host", "name of the actor")
	cmd.MarkFlagsMutuallyExclusive("all", "seen", "replace")
	records.RunFlag(cmd)
	return records.Command(a, records.ByArgs, cmd, func(ctx context.Context, s *records.Session, args []string) (cli.Listing, error) {
		if err := noVerb(s, args); err != nil {
			return cli.Listing{}, err
		}
		switch {
		case *replace && len(args) == 0:
			return cli.Listing{}, s.Usagef("--replace needs the steps of the new plan")
		case (*all || *seen) && len(args) > 0:
			return cli.Listing{}, s.Usagef("--all and --seen show plans, and take no steps")
		}
		run, err := s.AgentRun(ctx)
		if err != nil {
			return cli.Listing{}, err
		}
		if len(args) == 0 {
			return showPlan(ctx, run, s.RunID(), *all, *seen)
		}
		p, err := run.Plan(ctx, args, *by, *replace)
		if err != nil {
			return cli.Listing{}, err
		}
		return planListing(p), nil
	})
}

// showPlan lists the newest plan of a run, all of its plans, or what the window held.
func showPlan(ctx context.Context, run *agentrun.Run, id string, all, seen bool) (cli.Listing, error) {
	plans, err := run.Plans(ctx)
	switch {
	case err != nil:
		return cli.Listing{}, err
	case len(plans) == 0:
		return cli.Listing{}, fmt.Errorf("plan: %w (give the run one with: anchor-host frames plan --run %s STEP...)", store.ErrNotFound, id)
	case all:
		return plansListing(plans), nil
	}
	newest := &plans[len(plans)-1]
	if seen {
		list, err := run.Seen(ctx, newest)
		return frameListing(list, list), err
	}
	return planListing(newest), nil
}

func step(a *cli.App) *cobra.Command {
	var c agentrun.StepChange
	var status string
	var read, wrote []string
	cmd := &cobra.Command{
		Use:   "step --run ID [flags] NUMBER",
		Short: "Change a step of the plan",
		Long: `Change a step of the newest plan of a run. Steps are numbered from 1; "frames plan"
prints the numbers. When a step begins to progress, a snapshot with the label "step" is
taken. --read and --wrote record frames in addition to those that are recorded
automatically.`,
		Example: `  anchor-host frames step --run fix-42 --status progressing 1
  anchor-host frames step --run fix-42 --status failed --reason "no session store" --wrote 4 1`,
		Args: cli.Exactly("NUMBER"),
	}
	flags := cmd.Flags()
	flags.StringVar(&status, "status", "", "the next status: progressing, completed, failed or skipped")
	flags.StringVar(&c.Reason, "reason", "", "why")
	flags.StringSliceVar(&read, "read", nil, "numbers of frames that the step has read")
	flags.StringSliceVar(&wrote, "wrote", nil, "numbers of frames that the step has written")
	records.RunFlag(cmd)
	return records.Command(a, records.Write, cmd, func(ctx context.Context, s *records.Session, args []string) (cli.Listing, error) {
		number, err := strconv.Atoi(args[0])
		if err != nil {
			return cli.Listing{}, s.Usagef("step: want its number, 1 or more, got %q", args[0])
		}
		if c.Status = frames.StepStatus(status); c.Reason != "" && status == "" {
			return cli.Listing{}, s.Usagef("flag --reason needs --status")
		}
		if c.Read, err = frameNumbers(s, "read", read); err != nil {
			return cli.Listing{}, err
		}
		if c.Wrote, err = frameNumbers(s, "wrote", wrote); err != nil {
			return cli.Listing{}, err
		}
		run, err := s.AgentRun(ctx)
		if err != nil {
			return cli.Listing{}, err
		}
		p, err := run.ChangeStep(ctx, number, c)
		if err != nil {
			return cli.Listing{}, err
		}
		return planListing(p), nil
	})
}

// frameNumbers reads the numbers of a flag.
func frameNumbers(s *records.Session, flag string, texts []string) (ids []uint64, err error) {
	for _, text := range texts {
		id, err := strconv.ParseUint(strings.TrimSpace(text), 10, 63)
		if err != nil {
			return nil, s.Usagef("flag --%s: want numbers of frames, got %q", flag, text)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// planListing shows the steps of a plan.
func planListing(p *frames.Plan) cli.Listing {
	l := cli.Listing{Header: []string{"STEP", "STATUS", "READ", "WROTE", "DESCRIPTION"}, Data: p}
	for i := range p.Steps {
		s := &p.Steps[i]
		l.Rows = append(l.Rows, []string{
			strconv.Itoa(i + 1), string(s.Status()), numbers(s.IFrames), numbers(s.OFrames), cli.Excerpt(s.Description),
		})
	}
	return l
}

// plansListing shows plans with the frames that the window held when they were made.
func plansListing(plans []frames.Plan) cli.Listing {
	l := cli.Listing{Header: []string{"PLAN", "CREATED", "STEPS", "SAW", "REPLACES"}, Data: plans}
	for i := range plans {
		p := &plans[i]
		replaces := "-"
		if !p.Previous.IsZero() {
			replaces = p.Previous.String()
		}
		l.Rows = append(l.Rows, []string{
			p.ObjectID.String(), records.Time(p.CreatedAt), strconv.Itoa(len(p.Steps)), numbers(p.ContextFrames), replaces,
		})
	}
	return l
}

// shownNumbers is the maximum number of frame numbers in a cell.
const shownNumbers = 8

// numbers shows frame numbers in one cell. An empty list is shown as "-".
func numbers(ids []uint64) string {
	if len(ids) == 0 {
		return "-"
	}
	var texts []string
	for _, id := range ids[:min(len(ids), shownNumbers)] {
		texts = append(texts, strconv.FormatUint(id, 10))
	}
	text := strings.Join(texts, ",")
	if more := len(ids) - shownNumbers; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
