package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/store"
)

func (a *app) memoryForgetCommand() *cobra.Command {
	var f filterFlags
	var all, everything bool
	var run string
	cmd := &cobra.Command{
		Use:   "forget [flags] [ID…]",
		Short: "Delete facts, turns, a conversation, an agent run or a user",
		Long: `Delete the facts with these ids. --user alone deletes everything of a user: facts,
conversations, agent runs and records of builds, and says how many there were.
--all deletes the facts that the flags select, including expired ones. With --conversation the ids are numbers of turns, and
--all deletes the whole conversation with its summary. Deleting a turn does not
change a summary that was made from it. --run deletes an agent run with its
frames, state, intents, plans and snapshots. --everything deletes all records of a
tenant, which --tenant must name.

Deleted data is overwritten in the file of the store, and the log of the store is
emptied. While another process reads the store, the log cannot be emptied. The
next forget or gc then does it, or the last process that closes the store.

Unknown ids are an error. The others are deleted first.`,
		Example: `  anchor-host memory forget 0199a7c2-7d1e-4b52-9f5e-2b0c3f6a1d11
  anchor-host memory forget --user ann
  anchor-host memory forget --all --user ann --type episodic
  anchor-host memory forget --conversation chat-7 --all
  anchor-host memory forget --run fix-42
  anchor-host memory forget --everything --tenant acme`,
	}
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	f.add(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "everything that the flags select")
	cmd.Flags().BoolVar(&everything, "everything", false, "all records of the tenant that --tenant names")
	cmd.Flags().StringVar(&run, "run", "", "delete all records of this agent run instead of facts")
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.withStoreToDelete(func(cmd *cobra.Command, ids []string, s *session) error {
		switch {
		case everything:
			return a.forgetTenant(cmd, s, ids, *format)
		case run != "":
			return a.forgetRun(cmd, s, run, ids, *format)
		case f.onlyUser() && !all && len(ids) == 0:
			return a.forgetUser(cmd.Context(), s, f.user, *format)
		}
		filter, err := f.filter(cmd)
		switch {
		case err != nil:
			return err
		case all == (len(ids) > 0):
			return cli.Usagef(cmd, "want ids, or --all")
		case !all && (f.user != "" || f.session != "" || f.kind != "" || len(f.tags) > 0):
			return cli.Usagef(cmd, "flags that select facts need --all")
		}
		filter.Expired = true
		n, err := s.forget(cmd, f.conversation, ids, all, filter)
		if err != nil && n == 0 {
			return err
		}
		a.emptyLog(cmd.Context(), s)
		return errors.Join(a.forgotten(n, *format), err)
	})
	return cmd
}

// forgetTenant deletes everything of a tenant.
func (a *app) forgetTenant(cmd *cobra.Command, s *session, ids []string, format string) error {
	for _, name := range append([]string{"conversation", "run", "all"}, factFlags...) {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return cli.Usagef(cmd, "--%s and --everything exclude each other (a tenant is deleted whole)", name)
		}
	}
	if len(ids) > 0 {
		return cli.Usagef(cmd, "ids and --everything exclude each other (a tenant is deleted whole)")
	}
	if !cmd.Flags().Changed("tenant") {
		return cli.Usagef(cmd, "--everything needs --tenant (name the tenant to forget, such as --tenant %s)", s.tenant)
	}
	n, err := s.front.ForgetTenant(cmd.Context(), s.tenant)
	if err == nil && n == 0 {
		err = fmt.Errorf("tenant %q: %w (the store has nothing of it)", s.tenant, store.ErrNotFound)
	}
	if err != nil {
		return err
	}
	a.emptyLog(cmd.Context(), s)
	return a.forgotten(n, format)
}

// forgetUser deletes everything of a user.
func (a *app) forgetUser(ctx context.Context, s *session, user, format string) error {
	done, err := s.front.ForgetUser(ctx, "", user)
	if err != nil {
		return err
	}
	total := done.Facts + done.Turns + done.Conversations + done.Runs + done.Builds
	if total == 0 {
		return fmt.Errorf("user %q of tenant %q: %w (the store has nothing of this user)", user, s.tenant, store.ErrNotFound)
	}
	a.emptyLog(ctx, s)
	return a.Print(format, cli.Listing{Header: []string{"FORGOTTEN", "NUMBER"}, Data: done, Rows: [][]string{
		{"facts", strconv.Itoa(done.Facts)}, {"conversations", strconv.Itoa(done.Conversations)}, {"turns", strconv.Itoa(done.Turns)},
		{"runs", strconv.Itoa(done.Runs)}, {"builds", strconv.Itoa(done.Builds)},
	}})
}

// forgetRun deletes an agent run, whole.
func (a *app) forgetRun(cmd *cobra.Command, s *session, run string, ids []string, format string) error {
	for _, name := range append([]string{"conversation"}, factFlags...) {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return cli.Usagef(cmd, "--%s and --run exclude each other (a run is deleted whole)", name)
		}
	}
	if len(ids) > 0 {
		return cli.Usagef(cmd, "ids and --run exclude each other (a run is deleted whole)")
	}
	r, err := s.front.Run(cmd.Context(), "", run)
	if err != nil {
		return err
	}
	n, err := r.Forget(cmd.Context())
	if err == nil && n == 0 {
		err = fmt.Errorf("run %q of tenant %q: %w (list the runs: anchor-host frames list)", run, s.tenant, store.ErrNotFound)
	}
	if err != nil {
		return err
	}
	a.emptyLog(cmd.Context(), s)
	return a.forgotten(n, format)
}

// emptyLog also removes deleted data from the log of the store, if it has one.
func (a *app) emptyLog(ctx context.Context, s *session) {
	if err := s.front.Checkpoint(ctx); errors.Is(err, store.ErrBusy) {
		a.Say("the log of the store keeps the deleted data until other processes stop reading the store")
	} else if err != nil {
		a.Say("warning: %v", err)
	}
}

// forgotten says how many records were deleted.
func (a *app) forgotten(n int, format string) error {
	if format != "table" {
		return a.Print(format, cli.Listing{Data: map[string]int{"forgotten": n}})
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "forgotten: %d\n", n)
	return a.Emit(&b)
}

func (s *session) forget(cmd *cobra.Command, conversation string, ids []string, all bool, filter memory.Filter) (int, error) {
	ctx := cmd.Context()
	switch {
	case conversation != "":
		return s.forgetTurns(cmd, conversation, ids, all)
	case all:
		return s.front.ForgetFacts(ctx, "", filter)
	}
	m, err := s.front.Facts(ctx, "")
	if err != nil {
		return 0, err
	}
	n, err := m.Delete(ctx, ids...)
	return n, missing(err, "facts", len(ids)-n)
}

// forgetTurns deletes turns, or with all the conversation.
func (s *session) forgetTurns(cmd *cobra.Command, conversation string, ids []string, all bool) (int, error) {
	talk, err := s.front.Conversation(cmd.Context(), "", conversation)
	if err != nil {
		return 0, err
	}
	if all {
		return talk.Forget(cmd.Context())
	}
	turns, err := turnNumbers(cmd, ids)
	if err != nil {
		return 0, err
	}
	n, err := talk.Delete(cmd.Context(), turns...)
	return n, missing(err, "turns", len(ids)-n)
}

// missing returns the error of deleting n records that do not exist.
func missing(err error, what string, n int) error {
	if err != nil || n <= 0 {
		return err
	}
	return fmt.Errorf("%d of the %s: %w (list them with: anchor-host memory list)", n, what, store.ErrNotFound)
}

// turnNumbers reads the numbers of turns.
func turnNumbers(cmd *cobra.Command, texts []string) ([]int64, error) {
	numbers := make([]int64, len(texts))
	for i, s := range texts {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 1 {
			return nil, cli.Usagef(cmd, "want the number of a turn, got %q", s)
		}
		numbers[i] = n
	}
	return numbers, nil
}

// collectFlags are the flags of memory gc.
type collectFlags struct {
	threshold float64
	decay     string
	halfLife  time.Duration
	dryRun    bool
}

func (a *app) memoryCollectCommand() *cobra.Command {
	var f collectFlags
	cmd := &cobra.Command{
		Use:   "gc [flags]",
		Short: "Delete facts that have expired or faded",
		Long: `Delete the facts that have expired. With --threshold also delete facts whose
retention is below that value. Retention is 1 right after a use and falls to 0.
With linear decay it falls to 0.5 within the half-life and to 0 within twice that
time. On the Ebbinghaus curve it falls faster at first, and more slowly the more
often the fact was used. It also deletes what is older than store.keep allows:
conversations, agent runs and facts. --dry-run does not look at that.`,
		Example: `  anchor-host memory gc --dry-run
  anchor-host memory gc --threshold 0.1 --half-life 720h`,
		Args: cobra.NoArgs,
	}
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	flags := cmd.Flags()
	flags.Float64Var(&f.threshold, "threshold", 0, "also delete facts whose retention is below this, 0 to 1")
	flags.StringVar(&f.decay, "decay", "linear", "how retention falls: linear or ebbinghaus")
	flags.DurationVar(&f.halfLife, "half-life", memory.DefaultHalfLife, "half-life of the linear decay")
	flags.BoolVar(&f.dryRun, "dry-run", false, "delete nothing; list what would be deleted")
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.withStoreToDelete(func(cmd *cobra.Command, _ []string, s *session) error {
		c, err := f.collector(cmd)
		if err != nil {
			return err
		}
		l, err := s.collect(cmd.Context(), c, f.dryRun)
		if err != nil {
			return err
		}
		if !f.dryRun {
			if err := s.deleteOld(cmd.Context(), &l); err != nil {
				return err
			}
			a.emptyLog(cmd.Context(), s)
		}
		return a.Print(*format, l)
	})
	return cmd
}

func (f *collectFlags) collector(cmd *cobra.Command) (c memory.Collector, err error) {
	if !(f.threshold >= 0 && f.threshold <= 1) || math.IsNaN(f.threshold) {
		return c, cli.Usagef(cmd, "flag --threshold: want 0 to 1, got %v", f.threshold)
	}
	if f.halfLife <= 0 {
		return c, cli.Usagef(cmd, "flag --half-life: want more than 0, got %v", f.halfLife)
	}
	var decay memory.Decay
	switch f.decay {
	case "linear":
		decay = memory.Linear{HalfLife: f.halfLife}
	case "ebbinghaus":
		decay = memory.DefaultEbbinghaus
	default:
		return c, cli.Usagef(cmd, "flag --decay: want one of linear, ebbinghaus, got %q", f.decay)
	}
	if f.threshold > 0 {
		c.Decay, c.Threshold = decay, f.threshold
	}
	return c, nil
}

// collected is one fact that a collection deletes.
type collected struct {
	Why  string       `json:"why"`
	Fact memory.Entry `json:"fact"`
}

// collection is the document of memory gc.
type collection struct {
	memory.Collection
	Facts []collected `json:"facts"`
	// Old is what was older than store.keep allows.
	Old anchor.Aged `json:"older_than_kept"`
}

func (s *session) collect(ctx context.Context, c memory.Collector, dryRun bool) (cli.Listing, error) {
	m, err := s.front.Facts(ctx, "")
	if err != nil {
		return cli.Listing{}, err
	}
	taken := []collected{}
	take := func(why string, entries []memory.Entry) {
		for _, e := range entries {
			taken = append(taken, collected{why, e})
		}
	}
	c.OnExpired = func(_ context.Context, entries []memory.Entry) { take("expired", entries) }
	c.OnDecayed = func(_ context.Context, entries []memory.Entry, _ float64) { take("faded", entries) }
	result, err := m.Collect(ctx, c, dryRun)
	if err != nil {
		return cli.Listing{}, err
	}
	doc := &collection{Collection: result, Facts: taken}
	verb := "deleted"
	if dryRun {
		verb = "would be deleted"
	}
	l := cli.Listing{Header: []string{"FACT", "WHY", "TEXT"}, Data: doc}
	for i := range taken {
		l.Rows = append(l.Rows, []string{cli.OneCell(taken[i].Fact.ID), taken[i].Why + ", " + verb, cli.Excerpt(taken[i].Fact.Content)})
	}
	l.Rows = append(l.Rows, []string{"-", fmt.Sprintf("%d remain", result.Remaining), ""})
	return l, nil
}

// deleteOld deletes what is older than store.keep allows, and adds to the list how much that was.
func (s *session) deleteOld(ctx context.Context, l *cli.Listing) error {
	done, err := s.front.DeleteOld(ctx, "")
	l.Data.(*collection).Old = done
	for _, n := range []struct {
		what   string
		number int
	}{{"conversations", done.Conversations}, {"runs", done.Runs}, {"facts", done.Facts}} {
		if n.number > 0 {
			l.Rows = append(l.Rows, []string{"-", fmt.Sprintf("%d %s older than store.keep, deleted", n.number, n.what), ""})
		}
	}
	return err
}
