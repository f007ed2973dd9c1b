package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/store"
)

func (a *app) framesPlanCommand() *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "plan",
		Short: "Keep the plan of a run, and what its steps read and wrote",
		Long: `Keep the plan of a run. A plan names the frames that the window held when it was
made. Each step is first pending, then progressing, and finally completed, failed
or skipped. Any other order is refused.

While exactly one step is progressing, the plan records its frames: frames that
are pushed count as written by the step (oframes), and frames that build or
assemble offers to the model count as read by it (iframes).`,
		Example: `  anchor-host frames plan push --run fix-42 "measure the login" "cache sessions"
  anchor-host frames plan step --run fix-42 --status progressing 1
  anchor-host frames plan replan --run fix-42 "index the sessions table"`,
	})
	cmd.AddCommand(a.planPushCommand(), a.planReplanCommand(), a.planShowCommand(), a.planStepCommand())
	return cmd
}

func (a *app) planPushCommand() *cobra.Command {
	return a.planCommand(&cobra.Command{
		Use:   "push --run ID [flags] STEP...",
		Short: "Give a run a first plan",
		Long: `Give a run a first plan, with a step for each argument. If the run has an intent,
the intent must be active and have no plan. The intent then names the plan. A
later intent of the run gets a first plan of its own.

A step has at most 16 KiB of text, and all steps together 1 MiB.`,
		Example: `  anchor-host frames plan push --run fix-42 "measure the login" "cache sessions"`,
	}, false)
}

func (a *app) planReplanCommand() *cobra.Command {
	return a.planCommand(&cobra.Command{
		Use:   "replan --run ID [flags] STEP...",
		Short: "Replace the plan of a run",
		Long: `Replace the plan of a run. The new plan names the plan that it replaces and the
frames that the window holds now. The old plan is kept unchanged.`,
		Example: `  anchor-host frames plan replan --run fix-42 "index the sessions table"`,
	}, true)
}

// planCommand makes the command that pushes a plan, or replaces it.
func (a *app) planCommand(cmd *cobra.Command, replan bool) *cobra.Command {
	cmd.Args = cobra.MinimumNArgs(1)
	by := cmd.Flags().String("by", "anchor-host", "name of the actor")
	return a.runCommand(cmd, a.withStore, func(ctx context.Context, run *agentrun.Run, args []string) (cli.Listing, error) {
		plan, err := run.Plan(ctx, args, *by, replan)
		if err != nil {
			return cli.Listing{}, err
		}
		return planListing(plan), nil
	})
}

func (a *app) planShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show --run ID [flags]",
		Short: "Show the plan of a run",
		Long: `Show the newest plan of a run; -o json prints its whole document. --all shows
every plan of the run, oldest first. --seen shows the frames that the window held
when the newest plan was made, including those that have left it since.`,
		Example: `  anchor-host frames plan show --run fix-42
  anchor-host frames plan show --run fix-42 --seen`,
		Args: cobra.NoArgs,
	}
	all := cmd.Flags().Bool("all", false, "also show plans that were replaced")
	seen := cmd.Flags().Bool("seen", false, "show the frames that the window held when the plan was made")
	cmd.MarkFlagsMutuallyExclusive("all", "seen")
	return a.runCommand(cmd, a.withStoreToRead, func(ctx context.Context, run *agentrun.Run, _ []string) (cli.Listing, error) {
		plans, err := run.Plans(ctx)
		switch {
		case err != nil:
			return cli.Listing{}, err
		case len(plans) == 0:
			return cli.Listing{}, fmt.Errorf("plan: %w (push one with: anchor-host frames plan push)", store.ErrNotFound)
		case *all:
			return plansListing(plans), nil
		}
		newest := &plans[len(plans)-1]
		if *seen {
			list, err := run.Seen(ctx, newest)
			return frameListing(list, list), err
		}
		return planListing(newest), nil
	})
}

func (a *app) planStepCommand() *cobra.Command {
	var f stepFlags
	cmd := &cobra.Command{
		Use:   "step --run ID [flags] STEP",
		Short: "Change a step of the plan",
		Long: `Change a step of the newest plan of a run. Steps are numbered from 1; "plan show"
prints the numbers. When a step begins to progress, a snapshot with the label
"step" is taken.

--read and --wrote record frames in addition to those that are recorded
automatically. --inputs, --outputs and --checks have at most 256 KiB each, and all
steps together 1 MiB.`,
		Example: `  anchor-host frames plan step --run fix-42 --status progressing 1
  anchor-host frames plan step --run fix-42 --status failed --reason "no session store" --wrote 4 1`,
		Args: cli.Exactly("STEP"),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.status, "status", "", "the next status: progressing, completed, failed or skipped")
	flags.StringVar(&f.reason, "reason", "", "why")
	flags.StringSliceVar(&f.read, "read", nil, "numbers of frames that the step has read")
	flags.StringSliceVar(&f.wrote, "wrote", nil, "numbers of frames that the step has written")
	flags.StringVar(&f.inputs, "inputs", "", "any JSON value: what the step works on")
	flags.StringVar(&f.outputs, "outputs", "", "any JSON value: what the step produced")
	flags.StringVar(&f.checks, "checks", "", "any JSON value: how the results are checked")
	return a.runCommand(cmd, a.withStore, func(ctx context.Context, run *agentrun.Run, args []string) (cli.Listing, error) {
		number, err := strconv.Atoi(args[0])
		if err != nil {
			return cli.Listing{}, cli.Usagef(cmd, "step: want its number, 1 or more, got %q", args[0])
		}
		change, err := f.change(cmd)
		if err != nil {
			return cli.Listing{}, err
		}
		plan, err := run.ChangeStep(ctx, number, change)
		if err != nil {
			return cli.Listing{}, err
		}
		return planListing(plan), nil
	})
}

// stepFlags are the flags of plan step.
type stepFlags struct {
	status, reason          string
	read, wrote             []string
	inputs, outputs, checks string
}

func (f *stepFlags) change(cmd *cobra.Command) (c agentrun.StepChange, err error) {
	c.Status, c.Reason = frames.StepStatus(f.status), f.reason
	if f.reason != "" && f.status == "" {
		return c, cli.Usagef(cmd, "flag --reason needs --status")
	}
	for _, v := range []struct {
		flag string
		from []string
		to   *[]uint64
	}{{"read", f.read, &c.Read}, {"wrote", f.wrote, &c.Wrote}} {
		for _, text := range v.from {
			id, err := strconv.ParseUint(strings.TrimSpace(text), 10, 63)
			if err != nil {
				return c, cli.Usagef(cmd, "flag --%s: want numbers of frames, got %q", v.flag, text)
			}
			*v.to = append(*v.to, id)
		}
	}
	for _, v := range []struct {
		flag, from string
		to         *json.RawMessage
	}{{"inputs", f.inputs, &c.Inputs}, {"outputs", f.outputs, &c.Outputs}, {"checks", f.checks, &c.Checks}} {
		if v.from == "" {
			continue
		}
		if !json.Valid([]byte(v.from)) {
			return c, cli.Usagef(cmd, "flag --%s: want a JSON value, got %s", v.flag, cli.Excerpt(v.from))
		}
		*v.to = json.RawMessage(v.from)
	}
	return c, nil
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
			p.ObjectID.String(), moment(p.CreatedAt), strconv.Itoa(len(p.Steps)), numbers(p.ContextFrames), replaces,
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
