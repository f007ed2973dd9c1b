// Package buildscmd implements "anchor-host builds": the records of builds in the store.
package buildscmd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/store"
)

// Command returns "builds".
func Command(a *cli.App) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "builds",
		Short: "List and remove the records of builds",
		Long: `List and remove the records of builds in the store. They are kept if anchor.yaml has
them under builds; "builds: {records: {}}" takes the defaults: seven days and 1 GiB for
all tenants, without texts. A build never waits for its record. "anchor-host explain ID"
shows one, and compares two.`,
		Example: `  anchor-host builds list
  anchor-host explain ID --svg build.svg
  anchor-host builds remove ID`,
	})
	cmd.AddCommand(list(a), remove(a))
	return cmd
}

func list(a *cli.App) *cobra.Command {
	var f builds.Filter
	var outcome, since string
	var page records.Page
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the builds of a tenant, the newest first",
		Long: `List the builds of a tenant, the newest first. Flags select builds. If there are more than
--limit, the last line says how to go on.`,
		Example: `  anchor-host builds list --outcome failed --since 24h
  anchor-host builds list --tenant acme --user ann --query refund
  anchor-host builds list --conversation chat-7 -o json`,
		Args: cobra.NoArgs,
	}
	fs := cmd.Flags()
	fs.StringVar(&f.Pipeline, "pipeline", "", "only builds of this pipeline")
	fs.StringVar(&f.Conversation, "conversation", "", "only builds of this conversation")
	fs.StringVar(&f.User, "user", "", "only builds for this user")
	fs.StringVar(&f.Key, "key", "", "only builds that this key of the service asked for")
	fs.StringVar(&f.RequestID, "request-id", "", "only builds of the request with this x-request-id")
	fs.StringVar(&f.Text, "query", "", "only builds whose question has all these words, in any order; records keep it with content: true")
	fs.StringVar(&f.Item, "item", "", "only builds that considered the item with this ID")
	fs.StringVar(&outcome, "outcome", "", "only builds that ended so: ok, degraded or failed")
	fs.StringVar(&since, "since", "", "only builds since then: an age such as 24h or 7d, or a time such as 2026-05-01T12:00:00Z")
	page.Flags(cmd, 50, builds.MaxPage)
	return records.Command(a, records.Read, cmd, func(ctx context.Context, s *records.Session, _ []string) (none cli.Listing, err error) {
		if f.Outcome = builds.Outcome(outcome); outcome != "" && !slices.Contains(builds.Outcomes, f.Outcome) {
			return none, s.Usagef("flag --outcome: %q (want ok, degraded or failed)", outcome)
		}
		if err := page.Check(s); err != nil {
			return none, err
		}
		if f.Since, err = config.ParseSince(since, time.Now()); err != nil {
			return none, s.Usagef("flag --since: %v", err)
		}
		found, err := s.Builds(ctx, "", f, page.Cursor, page.Limit)
		if err != nil {
			return none, err
		}
		if err := a.Print(s.Format, listing(found.Builds, found)); err != nil {
			return none, err
		}
		if len(found.Builds) == 0 && s.Format == "table" {
			a.Say("no such builds of the tenant %s (--tenant names another one)", cli.OneCell(s.Tenant))
		}
		page.More(s, "builds", found.Next)
		return none, nil
	})
}

func listing(list []builds.Summary, data any) cli.Listing {
	l := cli.Listing{Header: []string{"BUILD", "ENDED", "USER", "PIPELINE", "CONVERSATION", "OUTCOME", "ITEMS", "TOKENS", "COST", "TIME", "QUESTION"}, Data: data}
	for i := range list {
		b := &list[i]
		l.Rows = append(l.Rows, []string{
			b.ID, records.Time(b.Time), cli.Dash(b.User), cli.Dash(b.Pipeline), cli.Dash(b.Conversation), records.Outcome(b),
			fmt.Sprintf("%d of %d", b.Included, b.Considered), fmt.Sprintf("%d of %d", b.UsedTokens, b.MaxTokens), records.Cost(b), cli.Millis(b.TookMS), cli.Dash(cli.Excerpt(b.Query)),
		})
	}
	return l
}

func remove(a *cli.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "remove [flags] ID...",
		Short: "Remove records of builds",
		Long:  `Remove records of builds by their IDs, or with --all every record of the tenant.`,
		Example: `  anchor-host builds remove 0197f3c2-1c1e-7b52-8f0e-6a9a3f5f7c11
  anchor-host builds remove --all --tenant acme`,
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove all records of the tenant")
	return records.Command(a, records.Delete, cmd, func(ctx context.Context, s *records.Session, args []string) (l cli.Listing, err error) {
		if all == (len(args) > 0) {
			return l, s.Usagef("name builds, or give --all")
		}
		n, err := s.RemoveBuilds(ctx, "", args...)
		if err == nil && n == 0 && !all {
			err = fmt.Errorf("builds: %w: none of these IDs (builds list shows them)", store.ErrNotFound)
		}
		return records.Count("removed", n), err
	})
}
