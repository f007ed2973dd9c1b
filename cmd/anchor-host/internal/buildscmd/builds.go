// Package buildscmd implements "anchor-host builds": the records of builds in the store.
package buildscmd

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/openstore"
	"github.com/anchor-host/anchor-host/internal/builtdoc"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline/explain/svg"
	"github.com/anchor-host/anchor-host/store"
)

// Command returns "builds".
func Command(a *cli.App) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "builds",
		Short: "List, show, compare and remove the records of builds",
		Long: `Look at the records of builds in the store. They are kept if anchor.yaml has the key
records; "builds: {records: {}}" takes the defaults: seven days and 1 GiB for all tenants,
without texts. A build never waits for its record.`,
		Example: `  anchor-host builds list
  anchor-host builds show ID --svg build.svg
  anchor-host builds diff ID_OF_A ID_OF_B`,
	})
	cmd.AddCommand(list(a), show(a), diff(a), remove(a))
	return cmd
}

// flags add the flags of every command that opens the store.
func flags(cmd *cobra.Command) {
	cli.ConfigFlag(cmd)
	openstore.Flags(cmd, "the builds")
}

func list(a *cli.App) *cobra.Command {
	var f builds.Filter
	var outcome, since, cursor string
	var limit int
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
	flags(cmd)
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
	fs.IntVar(&limit, "limit", 50, fmt.Sprintf("list at most this many, 1 to %d", builds.MaxPage))
	fs.StringVar(&cursor, "cursor", "", "go on where a list ended")
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.Run(func(cmd *cobra.Command, _ []string) error {
		if f.Outcome = builds.Outcome(outcome); outcome != "" && !slices.Contains(builds.Outcomes, f.Outcome) {
			return cli.Usagef(cmd, "flag --outcome: %q (want ok, degraded or failed)", outcome)
		}
		if limit < 1 || limit > builds.MaxPage {
			return cli.Usagef(cmd, "flag --limit: %d (want 1 to %d)", limit, builds.MaxPage)
		}
		var err error
		if f.Since, err = config.ParseSince(since, time.Now()); err != nil {
			return cli.Usagef(cmd, "flag --since: %v", err)
		}
		return openstore.Do(a, cmd, anchor.ReadAnyway, func(app *anchor.App) error {
			page, err := app.Builds(cmd.Context(), "", f, cursor, limit)
			if err != nil {
				return err
			}
			if err := a.Print(*format, listing(page.Builds, page)); err != nil {
				return err
			}
			if *format != "table" {
				return nil
			}
			if len(page.Builds) == 0 {
				a.Say("no such builds of the tenant %s (--tenant names another one)", cli.OneCell(app.Status().Tenant))
			}
			if page.Next != "" {
				a.Say("more builds: --cursor %s", page.Next)
			}
			return nil
		})
	})
	return cmd
}

func listing(list []builds.Summary, data any) cli.Listing {
	l := cli.Listing{Header: []string{"BUILD", "ENDED", "USER", "PIPELINE", "CONVERSATION", "OUTCOME", "ITEMS", "TOKENS", "COST", "TIME", "QUESTION"}, Data: data}
	for i := range list {
		b := &list[i]
		l.Rows = append(l.Rows, []string{
			b.ID, b.Time.UTC().Format(time.RFC3339), cell(b.User), cell(b.Pipeline), cell(b.Conversation), outcomeCell(b),
			fmt.Sprintf("%d of %d", b.Included, b.Considered), fmt.Sprintf("%d of %d", b.UsedTokens, b.MaxTokens), costCell(b), cli.Millis(b.TookMS), cli.Dash(cli.Excerpt(b.Query)),
		})
	}
	return l
}

func cell(text string) string { return cli.Dash(cli.OneCell(text)) }

// costCell is what models cost.
func costCell(b *builds.Summary) string {
	switch {
	case b.Unpriced:
		return "no price"
	case b.CostUSD > 0:
		return "$" + strconv.FormatFloat(b.CostUSD, 'f', 4, 64)
	}
	return "-"
}

func outcomeCell(b *builds.Summary) string {
	switch {
	case len(b.Skipped) > 0:
		return string(b.Outcome) + ": skipped " + cli.OneCell(strings.Join(b.Skipped, ", "))
	case b.Reason != "":
		return string(b.Outcome) + ": " + cli.OneCell(b.Reason)
	}
	return string(b.Outcome)
}

// document reads the result of a record.
func document(r *builds.Record) (*builtdoc.Doc, error) {
	return builtdoc.Recorded(r.ID, r.Detail.Result, r.Content)
}

func show(a *cli.App) *cobra.Command {
	var drawing string
	var asRequest bool
	cmd := &cobra.Command{
		Use:   "show [flags] ID",
		Short: "Show a build: what happened to each item, and why",
		Long: `Show the record of a build: its figures, and the trace of each item. -o json prints the
whole record; its member detail.result is a result that "anchor-host explain" reads.
--as-request prints the document that "build --request -" builds again, if the record
has texts and the build was asked for with a request.`,
		Example: `  anchor-host builds show 0197f3c2-1c1e-7b52-8f0e-6a9a3f5f7c11
  anchor-host builds show ID --svg build.svg
  anchor-host builds show ID --as-request | anchor-host build --request - --config anchor.yaml`,
		Args: cli.Exactly("ID"),
	}
	flags(cmd)
	cmd.Flags().StringVar(&drawing, "svg", "", "draw the build as SVG into this file (- for stdout, in place of the text)")
	cmd.Flags().BoolVar(&asRequest, "as-request", false, "print the request of the build")
	format := cli.FormatFlag(cmd, "text", "json")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		return openstore.Do(a, cmd, anchor.ReadAnyway, func(app *anchor.App) error {
			r, err := app.BuildRecord(cmd.Context(), "", args[0])
			if err != nil {
				return err
			}
			if asRequest {
				return printRequest(a, r)
			}
			d, err := document(r)
			if err != nil {
				return err
			}
			if drawing != "" {
				if err := cli.Draw(a, drawing, d.Drawings()...); err != nil || drawing == "-" {
					return err
				}
			}
			var b bytes.Buffer
			if *format == "json" {
				err = cli.WriteJSON(&b, r)
			} else {
				cli.Table(&b, nil, rows(r))
				b.WriteString("\n")
				cli.WriteTraces(&b, d)
			}
			if err != nil {
				return err
			}
			return a.EmitText(&b)
		})
	})
	return cmd
}

// printRequest prints the request of a build.
func printRequest(a *cli.App, r *builds.Record) error {
	switch {
	case !r.Content:
		return fmt.Errorf("build %s: %w: its request (records keep it with content: true under records)", r.ID, store.ErrNotFound)
	case r.Detail.Request == nil:
		return fmt.Errorf("build %s: %w: its request (it was built without a request document, or the record was too large)", r.ID, store.ErrNotFound)
	}
	return a.Emit(bytes.NewBuffer(append(r.Detail.Request, '\n')))
}

// rows are the figures of a record.
func rows(r *builds.Record) [][]string {
	list := [][]string{
		{"build", r.ID}, {"question", cell(r.Query)}, {"ended", r.Time.UTC().Format(time.RFC3339Nano)}, {"user", cell(r.User)}, {"key", cell(r.Key)}, {"request id", cell(r.RequestID)},
		{"cost", costCell(&r.Summary)}, {"pipeline", cell(r.Pipeline)}, {"conversation", cell(r.Conversation)},
		{"outcome", outcomeCell(&r.Summary)}, {"items in the window", fmt.Sprintf("%d of %d", r.Included, r.Considered)},
		{"tokens", fmt.Sprintf("%d of %d", r.UsedTokens, r.MaxTokens)}, {"time", cli.Millis(r.TookMS)}, {"fuel", cli.Fuel(r.Fuel)},
		{"generation", r.Generation}, {"request", r.Request}, {"texts are kept", strconv.FormatBool(r.Content)},
	}
	if r.Detail.LeftOut != "" {
		list = append(list, []string{"too large, left out", r.Detail.LeftOut})
	}
	return list
}

func diff(a *cli.App) *cobra.Command {
	var drawing string
	cmd := &cobra.Command{
		Use:   "diff [flags] A B",
		Short: "Compare two builds item by item",
		Long: `Compare the windows of two builds: which items were added, removed or moved, which changed,
and why. Without texts in the records, "rewritten" follows from digests.`,
		Example: `  anchor-host builds diff ID_OF_A ID_OF_B
  anchor-host builds diff ID_OF_A ID_OF_B --svg diff.svg -o json`,
		Args: cli.Exactly("A", "B"),
	}
	flags(cmd)
	cmd.Flags().StringVar(&drawing, "svg", "", "draw both windows as SVG into this file (- for stdout, in place of the text)")
	format := cli.FormatFlag(cmd, "text", "json")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		return openstore.Do(a, cmd, anchor.ReadAnyway, func(app *anchor.App) error {
			var docs [2]*builtdoc.Doc
			for i, id := range args {
				r, err := app.BuildRecord(cmd.Context(), "", id)
				if err != nil {
					return err
				}
				if docs[i], err = document(r); err != nil {
					return err
				}
			}
			if drawing != "" {
				if err := cli.Draw(a, drawing, []svg.Drawing{builtdoc.DrawDiff(docs[0], docs[1])}...); err != nil || drawing == "-" {
					return err
				}
			}
			return cli.EmitDiff(a, *format, docs[0], docs[1])
		})
	})
	return cmd
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
	flags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "remove all records of the tenant")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		if all == (len(args) > 0) {
			return cli.Usagef(cmd, "name builds, or give --all")
		}
		return openstore.Delete(a, cmd, func(app *anchor.App) error {
			n, err := app.RemoveBuilds(cmd.Context(), "", args...)
			if err != nil {
				return err
			}
			if n == 0 && !all {
				return fmt.Errorf("builds: %w: none of these IDs (builds list shows them)", store.ErrNotFound)
			}
			return a.Emit(bytes.NewBufferString(fmt.Sprintf("removed: %d\n", n)))
		})
	})
	return cmd
}
