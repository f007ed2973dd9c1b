package memorycmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/store"
)

// forgetFlags are the flags of memory forget.
type forgetFlags struct {
	filterFlags
	all, everything bool
	run             string
}

func forget(a *cli.App) *cobra.Command {
	var f forgetFlags
	cmd := &cobra.Command{
		Use:   "forget [flags] [ID…]",
		Short: "Delete facts, turns, a conversation, an agent run or a user",
		Long: `Delete the facts with these ids, or with --all those that the flags select. --user
alone deletes everything of a user: facts, conversations, agent runs, records of builds
and failures of plugins. With --conversation the ids are numbers of turns, and --all deletes the whole
conversation with its summary; a summary stays as it is when only a turn goes. --run
deletes an agent run, and --everything all records of a tenant, which --tenant must name.

Deleted data is overwritten in the file of the store. Its log is emptied, too, as soon
as no other process reads the store. Unknown ids are an error; the others are deleted.`,
		Example: `  anchor-host memory forget 0199a7c2-7d1e-4b52-9f5e-2b0c3f6a1d11
  anchor-host memory forget --user ann
  anchor-host memory forget --all --user ann --type episodic
  anchor-host memory forget --conversation chat-7 --all
  anchor-host memory forget --everything --tenant acme`,
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.all, "all", false, "everything that the flags select")
	cmd.Flags().BoolVar(&f.everything, "everything", false, "all records of the tenant that --tenant names")
	cmd.Flags().StringVar(&f.run, "run", "", "delete all records of this agent run instead of facts")
	return records.Command(a, records.Delete, cmd, func(ctx context.Context, s *records.Session, ids []string) (l cli.Listing, err error) {
		forgotten := 0
		switch {
		case f.everything:
			forgotten, err = f.tenant(ctx, s, ids)
		case f.run != "":
			forgotten, err = f.agentRun(ctx, s, ids)
		case f.onlyUser() && !f.all && len(ids) == 0:
			if l, err = forgetUser(ctx, s, f.user); err == nil {
				emptyLog(ctx, s)
			}
			return l, err
		default:
			forgotten, err = f.selected(ctx, s, ids)
		}
		if err != nil && forgotten == 0 {
			return l, err
		}
		emptyLog(ctx, s)
		if l = records.Count("forgotten", forgotten); err != nil { // some of the ids
			return cli.Listing{}, errors.Join(a.Print(s.Format, l), err)
		}
		return l, nil
	})
}

// tenant deletes everything of a tenant.
func (f *forgetFlags) tenant(ctx context.Context, s *records.Session, ids []string) (int, error) {
	if err := refuse(s, "everything", "a tenant is deleted whole", append([]string{"conversation", "run", "all"}, factFlags...)...); err != nil {
		return 0, err
	}
	if len(ids) > 0 {
		return 0, s.Usagef("ids and --everything exclude each other (a tenant is deleted whole)")
	}
	if !s.Cmd.Flags().Changed("tenant") {
		return 0, s.Usagef("--everything needs --tenant (name the tenant to forget, such as --tenant %s)", s.Tenant)
	}
	n, err := s.ForgetTenant(ctx, s.Tenant)
	if err == nil && n == 0 {
		err = fmt.Errorf("tenant %q: %w (the store has nothing of it)", s.Tenant, store.ErrNotFound)
	}
	return n, err
}

// agentRun deletes an agent run, whole.
func (f *forgetFlags) agentRun(ctx context.Context, s *records.Session, ids []string) (int, error) {
	if err := refuse(s, "run", "a run is deleted whole", append([]string{"conversation"}, factFlags...)...); err != nil {
		return 0, err
	}
	if len(ids) > 0 {
		return 0, s.Usagef("ids and --run exclude each other (a run is deleted whole)")
	}
	r, err := s.Run(ctx, "", f.run)
	if err != nil {
		return 0, err
	}
	n, err := r.Forget(ctx)
	if err == nil && n == 0 {
		err = fmt.Errorf("run %q of tenant %q: %w (list the runs: anchor-host frames list)", f.run, s.Tenant, store.ErrNotFound)
	}
	return n, err
}

// forgetUser deletes everything of a user.
func forgetUser(ctx context.Context, s *records.Session, user string) (cli.Listing, error) {
	done, err := s.ForgetUser(ctx, "", user)
	if err == nil && done.Facts+done.Turns+done.Conversations+done.Runs+done.Builds+done.Failures == 0 {
		err = fmt.Errorf("user %q of tenant %q: %w (the store has nothing of this user)", user, s.Tenant, store.ErrNotFound)
	}
	return cli.Listing{Header: []string{"FORGOTTEN", "NUMBER"}, Data: done, Rows: [][]string{
		{"facts", strconv.Itoa(done.Facts)}, {"conversations", strconv.Itoa(done.Conversations)}, {"turns", strconv.Itoa(done.Turns)},
		{"runs", strconv.Itoa(done.Runs)}, {"builds", strconv.Itoa(done.Builds)}, {"failures", strconv.Itoa(done.Failures)},
	}}, err
}

// selected deletes facts or turns by their ids, or all that the flags select.
func (f *forgetFlags) selected(ctx context.Context, s *records.Session, ids []string) (int, error) {
	filter, err := f.filter(s)
	switch {
	case err != nil:
		return 0, err
	case f.all == (len(ids) > 0):
		return 0, s.Usagef("want ids, or --all")
	case !f.all && slices.ContainsFunc([]string{"user", "session", "type", "tag"}, s.Cmd.Flags().Changed):
		return 0, s.Usagef("flags that select facts need --all")
	case f.conversation != "":
		return f.turns(ctx, s, ids)
	}
	if filter.Expired = true; f.all {
		return s.ForgetFacts(ctx, "", filter)
	}
	m, err := s.Facts(ctx, "")
	if err != nil {
		return 0, err
	}
	n, err := m.Delete(ctx, ids...)
	return n, missing(err, "facts", len(ids)-n)
}

// turns deletes turns, or with --all the conversation.
func (f *forgetFlags) turns(ctx context.Context, s *records.Session, ids []string) (int, error) {
	talk, err := s.Conversation(ctx, "", f.conversation)
	if err != nil {
		return 0, err
	}
	if f.all {
		return talk.Forget(ctx)
	}
	numbers := make([]int64, len(ids))
	for i, id := range ids {
		if numbers[i], err = strconv.ParseInt(id, 10, 64); err != nil || numbers[i] < 1 {
			return 0, s.Usagef("want the number of a turn, got %q", id)
		}
	}
	n, err := talk.Delete(ctx, numbers...)
	return n, missing(err, "turns", len(ids)-n)
}

// missing returns the error of deleting n records that do not exist.
func missing(err error, what string, n int) error {
	if err != nil || n <= 0 {
		return err
	}
	return fmt.Errorf("%d of the %s: %w (list them with: anchor-host memory list)", n, what, store.ErrNotFound)
}

// emptyLog also removes deleted data from the log of the store, if it has one.
func emptyLog(ctx context.Context, s *records.Session) {
	if err := s.Checkpoint(ctx); errors.Is(err, store.ErrBusy) {
		s.CLI.Say("the log of the store keeps the deleted data until other processes stop reading the store")
	} else if err != nil {
		s.CLI.Say("warning: %v", err)
	}
}
