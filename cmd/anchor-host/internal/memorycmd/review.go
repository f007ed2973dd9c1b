package memorycmd

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/internal/agents/learned"
	"github.com/anchor-host/anchor-host/internal/agents/note"
	"github.com/anchor-host/anchor-host/internal/agents/project"
)

func review(a *cli.App) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "review",
		Short: "Accept, edit or drop what coding agents learned",
		Long: `Accept, edit or drop what coding agents learned of your projects. What you said
yourself is accepted; what an agent concluded is pending: agents get it with the note
that nobody reviewed it. What reads like an order to agents is held: they do not get
it until you accept it. Secrets, and orders in results of tools, are never learned.`,
		Example: `  anchor-host memory review list
  anchor-host memory review accept n-0b1c2d3e4f5a6b7c8d9e
  anchor-host memory review drop n-0b1c2d3e4f5a6b7c8d9e`,
	})
	cmd.AddCommand(reviewList(a), reviewAccept(a), reviewEdit(a), reviewDrop(a))
	return cmd
}

// notesOf opens the notes of the user that --user names.
func notesOf(ctx context.Context, s *records.Session, user string) (*learned.Memory, error) {
	st, err := s.Store(ctx)
	if err != nil {
		return nil, err
	}
	return learned.Open(st, learned.Options{Tenant: s.Tenant, User: user})
}

func userFlag(cmd *cobra.Command, user *string) {
	cmd.Flags().StringVar(user, "user", "", "notes of this user of a service")
}

func reviewList(a *cli.App) *cobra.Command {
	var user, dir, status string
	var all bool
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List what agents learned of a project",
		Long: `List what agents learned of the project of the current folder, or of the one that
--project names, and of all your projects together, the newest first. The project is
that of the git remote or of the first commit, so that clones and worktrees share it.`,
		Example: `  anchor-host memory review list --status pending
  anchor-host memory review list --all -o json`,
		Args: cobra.NoArgs,
	}
	userFlag(cmd, &user)
	cmd.Flags().StringVar(&dir, "project", ".", "a folder of the project")
	cmd.Flags().StringVar(&status, "status", "", "notes of this status: accepted, pending")
	cmd.Flags().BoolVar(&all, "all", false, "notes of all projects")
	return records.Command(a, records.Read, cmd, func(ctx context.Context, s *records.Session, _ []string) (cli.Listing, error) {
		f := learned.Filter{Status: note.Status(status)}
		if status != "" && f.Status != note.Accepted && f.Status != note.Pending {
			return cli.Listing{}, s.Usagef("flag --status: want accepted or pending, got %q", status)
		}
		m, err := notesOf(ctx, s, user)
		if err != nil {
			return cli.Listing{}, err
		}
		if all {
			notes, err := m.Review(ctx, f, 0)
			return noteListing(notes), err
		}
		p, err := project.Identify(ctx, dir)
		if err != nil {
			return cli.Listing{}, err
		}
		f.Project = p.ID
		notes, err := m.Review(ctx, f, 0)
		if err != nil {
			return cli.Listing{}, err
		}
		f.Project = note.Everywhere
		general, err := m.Review(ctx, f, 0)
		return noteListing(append(notes, general...)), err
	})
}

func reviewAccept(a *cli.App) *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:     "accept [flags] ID…",
		Short:   "Accept notes, also held ones",
		Long:    `Accept the notes with these ids. Agents then get them as yours.`,
		Example: `  anchor-host memory review accept n-0b1c2d3e4f5a6b7c8d9e`,
		Args:    cobra.MinimumNArgs(1),
	}
	userFlag(cmd, &user)
	return records.Command(a, records.Write, cmd, func(ctx context.Context, s *records.Session, ids []string) (cli.Listing, error) {
		return eachNote(ctx, s, user, ids, func(m *learned.Memory, n learned.Note) (learned.Note, error) {
			return m.Accept(ctx, n.Project, n.ID)
		})
	})
}

func reviewEdit(a *cli.App) *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:     "edit [flags] ID TEXT",
		Short:   "Give a note another text",
		Long:    `Give a note another text, or with "-" what comes on stdin, and accept it.`,
		Example: `  anchor-host memory review edit n-0b1c2d3e4f5a6b7c8d9e "Tests run with make check."`,
		Args:    cli.Exactly("ID", "TEXT"),
	}
	userFlag(cmd, &user)
	return records.Command(a, records.Write, cmd, func(ctx context.Context, s *records.Session, args []string) (cli.Listing, error) {
		text, err := givenText(s, args[1])
		if err != nil {
			return cli.Listing{}, err
		}
		return eachNote(ctx, s, user, args[:1], func(m *learned.Memory, n learned.Note) (learned.Note, error) {
			return m.Edit(ctx, n.Project, n.ID, text)
		})
	})
}

func reviewDrop(a *cli.App) *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:     "drop [flags] ID…",
		Short:   "Delete notes",
		Long:    `Delete the notes with these ids. Unknown ids are an error; the others are deleted.`,
		Example: `  anchor-host memory review drop n-0b1c2d3e4f5a6b7c8d9e`,
		Args:    cobra.MinimumNArgs(1),
	}
	userFlag(cmd, &user)
	return records.Command(a, records.Delete, cmd, func(ctx context.Context, s *records.Session, ids []string) (cli.Listing, error) {
		l, err := eachNote(ctx, s, user, ids, func(m *learned.Memory, n learned.Note) (learned.Note, error) {
			_, err := m.Drop(ctx, n.Project, n.ID)
			return n, err
		})
		if err != nil {
			return l, err
		}
		return records.Count("dropped", len(ids)), nil
	})
}

// eachNote calls f for each of the notes with these ids. What fails does not stop the others.
func eachNote(ctx context.Context, s *records.Session, user string, ids []string, f func(*learned.Memory, learned.Note) (learned.Note, error)) (cli.Listing, error) {
	m, err := notesOf(ctx, s, user)
	if err != nil {
		return cli.Listing{}, err
	}
	var done []learned.Note
	var failed error
	for _, id := range ids {
		n, err := m.Find(ctx, id)
		if err == nil {
			n, err = f(m, n)
		}
		if failed = errors.Join(failed, err); err == nil {
			done = append(done, n)
		}
	}
	return noteListing(done), failed
}

func noteListing(notes []learned.Note) cli.Listing {
	if notes == nil {
		notes = []learned.Note{}
	}
	l := cli.Listing{Header: []string{"ID", "PROJECT", "STATUS", "AT", "TEXT"}, Data: notes}
	for _, n := range notes {
		status := string(n.Status)
		switch {
		case n.Held != "":
			status = "held: " + n.Held
		case n.SupersededBy != "":
			status += ", superseded"
		}
		name := n.ProjectName
		if n.Project == note.Everywhere {
			name = "all"
		}
		l.Rows = append(l.Rows, []string{n.ID, name, status, n.At.Format(time.DateOnly), strings.Join(strings.Fields(n.Text), " ")})
	}
	return l
}
