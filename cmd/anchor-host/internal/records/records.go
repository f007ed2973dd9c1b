// Package records is the frame of the commands that list, show, add and remove records of the store:
// facts, conversations, agent runs, collections and builds. A command has its arguments, its flags and
// its work; the frame has the flags of all of them, the open store, and the output.
package records

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
)

// Access says what a command does with records.
type Access int

const (
	// Read also works where the store cannot be written.
	Read Access = iota
	// Write adds and changes records.
	Write
	// Delete frees space, on a full disk too.
	Delete
	// ByArgs reads without arguments, and writes with them.
	ByArgs
)

// Session is one use of the open store by a command.
type Session struct {
	*anchor.App
	// CLI is the run of the program.
	CLI *cli.App
	// Cmd is the command, whose errors it names.
	Cmd *cobra.Command
	// Tenant is that of the configuration.
	Tenant string
	// Format is the form of the output.
	Format string
}

// Work is what a command does with the open store. The listing is printed; an empty one is not.
type Work func(ctx context.Context, s *Session, args []string) (cli.Listing, error)

// Command completes a command: it gets the flags of all commands on records, and runs the work with
// the open store. For the formats see [cli.App.Command].
func Command(a *cli.App, access Access, cmd *cobra.Command, work Work, formats ...string) *cobra.Command {
	if cmd.Flags().Lookup("config") == nil {
		cli.ConfigFlag(cmd)
	}
	Flags(cmd)
	return a.Command(cmd, func(cmd *cobra.Command, args []string) (l cli.Listing, err error) {
		do := func(app *anchor.App) error {
			l, err = work(cmd.Context(), &Session{App: app, CLI: a, Cmd: cmd, Tenant: app.Status().Tenant, Format: cli.Format(cmd)}, args)
			return err
		}
		switch {
		case access == Delete:
			err = openToDelete(a, cmd, do)
		case access == Write, access == ByArgs && len(args) > 0:
			err = open(a, cmd, anchor.ReadWrite, do)
		default:
			err = open(a, cmd, anchor.ReadAnyway, do)
		}
		return l, err
	}, formats...)
}

// Usagef returns a mistake on the command line.
func (s *Session) Usagef(format string, args ...any) error { return cli.Usagef(s.Cmd, format, args...) }

// RunFlag adds --run, which names an agent run.
func RunFlag(cmd *cobra.Command) {
	cmd.Flags().String("run", "", "the agent run (required)")
	_ = cmd.MarkFlagRequired("run") // fails only for an unknown flag
}

// RunID is the value of the flag of [RunFlag].
func (s *Session) RunID() string { return s.Cmd.Flag("run").Value.String() }

// AgentRun returns the run that the flag of [RunFlag] names.
func (s *Session) AgentRun(ctx context.Context) (*agentrun.Run, error) {
	return s.Run(ctx, "", s.RunID())
}

// Count is a listing of how many records a command removed or changed.
func Count(verb string, n int) cli.Listing {
	return cli.Listing{Text: fmt.Sprintf("%s: %d\n", verb, n), Data: map[string]int{verb: n}}
}

// Page is the part of a long list that is printed.
type Page struct {
	// Limit is how many records it has at most, Cursor where it begins.
	Limit  int
	Cursor string
	most   int
}

// Flags adds --limit and --cursor. most is the largest limit; without one, 0 lists all.
func (p *Page) Flags(cmd *cobra.Command, limit, most int) {
	p.most = most
	usage := "list at most this many; 0 for all"
	if most > 0 {
		usage = fmt.Sprintf("list at most this many, 1 to %d", most)
	}
	cmd.Flags().IntVar(&p.Limit, "limit", limit, usage)
	cmd.Flags().StringVar(&p.Cursor, "cursor", "", "go on where a list ended")
}

// Check refuses a limit that is out of bounds.
func (p *Page) Check(s *Session) error {
	switch {
	case p.most == 0 && p.Limit < 0:
		return s.Usagef("flag --limit: want 0 or more, got %d", p.Limit)
	case p.most > 0 && (p.Limit < 1 || p.Limit > p.most):
		return s.Usagef("flag --limit: want 1 to %d, got %d", p.most, p.Limit)
	}
	return nil
}

// More says how to go on after a table, if the list is longer.
func (p *Page) More(s *Session, what, next string) {
	if s.Format == "table" && next != "" {
		s.CLI.Say("more %s: --cursor %s", what, next)
	}
}

// Time formats a time to the second. The zero time is a dash.
func Time(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// Streams lists conversations, or runs.
func Streams(name, count string, list []anchor.Stream) cli.Listing {
	l := cli.Listing{Header: []string{name, count, "NEWEST"}, Data: list}
	for _, s := range list {
		l.Rows = append(l.Rows, []string{cli.OneCell(s.ID), strconv.FormatInt(s.Newest, 10), Time(s.Time)})
	}
	return l
}

// Cost is what models cost for a build.
func Cost(b *builds.Summary) string {
	switch {
	case b.Unpriced:
		return "no price"
	case b.CostUSD > 0:
		return "$" + strconv.FormatFloat(b.CostUSD, 'f', 4, 64)
	}
	return "-"
}

// Outcome says how a build ended, and why.
func Outcome(b *builds.Summary) string {
	switch {
	case len(b.Skipped) > 0:
		return string(b.Outcome) + ": skipped " + cli.OneCell(strings.Join(b.Skipped, ", "))
	case b.Reason != "":
		return string(b.Outcome) + ": " + cli.OneCell(b.Reason)
	}
	return string(b.Outcome)
}
