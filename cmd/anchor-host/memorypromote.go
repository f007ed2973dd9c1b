package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

func (a *app) memoryPromoteCommand() *cobra.Command {
	var conversation string
	var o anchor.PromoteOptions
	cmd := &cobra.Command{
		Use:   "promote --conversation ID [flags]",
		Short: "Take facts from the turns of a conversation",
		Long: `Take facts from the turns of a conversation that were added since the last time,
with the plugin that anchor.yaml names:

  facts: {extract: {plugin: my-extractor, every: 10}}

The plugin adds facts, and changes or removes facts that it was shown. With every a
build that remembers its query does the same on its own when so many turns were
added.`,
		Example: `  anchor-host memory promote --conversation chat-7
  anchor-host memory promote --conversation chat-7 --user ann -o json`,
		Args: cobra.NoArgs,
	}
	cli.HostFlags(cmd)
	storeFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&conversation, "conversation", "", "the conversation")
	cli.SettingFlag(cmd, "conversation", "")
	flags.StringVar(&o.User, "user", "", "whom the facts belong to (default: facts.user)")
	flags.StringVar(&o.Session, "session", "", "the session that the facts belong to (default: facts.session)")
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.withStore(func(cmd *cobra.Command, _ []string, s *session) error {
		if conversation == "" {
			return cli.Usagef(cmd, "name the conversation (--conversation ID)")
		}
		p, err := s.front.Promote(cmd.Context(), conversation, o)
		return a.printPromotion(cmd, *format, p, err)
	})
	return cmd
}

func (a *app) memoryConsolidateCommand() *cobra.Command {
	var f filterFlags
	cmd := &cobra.Command{
		Use:   "consolidate [flags]",
		Short: "Merge and remove facts with a plugin",
		Long: `Put the facts that the flags select in order with the plugin that facts.extract of
anchor.yaml names: it merges, shortens and removes them. Facts of different users or
sessions are never shown to the plugin together.`,
		Example: `  anchor-host memory consolidate --user ann`,
		Args:    cobra.NoArgs,
	}
	cli.HostFlags(cmd)
	storeFlags(cmd)
	f.addFacts(cmd)
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.withStore(func(cmd *cobra.Command, _ []string, s *session) error {
		filter, err := f.filter(cmd)
		if err != nil {
			return err
		}
		p, err := s.front.Consolidate(cmd.Context(), "", filter)
		return a.printPromotion(cmd, *format, p, err)
	})
	return cmd
}

// printPromotion prints what became of facts, also of those before an error.
func (a *app) printPromotion(cmd *cobra.Command, format string, p memory.Promotion, failed error) error {
	if failed != nil && len(p.Added)+len(p.Updated)+p.Removed == 0 {
		return failed
	}
	if p.Added == nil {
		p.Added = []memory.Entry{}
	}
	if p.Updated == nil {
		p.Updated = []memory.Entry{}
	}
	l := cli.Listing{Header: []string{"CHANGE", "ID", "TYPE", "USER", "TEXT"}, Data: p}
	rows := func(change string, facts []memory.Entry) {
		for i := range facts {
			e := &facts[i]
			l.Rows = append(l.Rows, []string{change, cli.OneCell(e.ID), string(e.Type), cli.Dash(cli.OneCell(e.UserID)), cli.Excerpt(e.Content)})
		}
	}
	rows("added", p.Added)
	rows("updated", p.Updated)
	if p.Removed > 0 {
		l.Rows = append(l.Rows, []string{"removed", "-", "-", "-", strconv.Itoa(p.Removed) + " facts"})
	}
	if err := a.Print(cmd, format, l); err != nil {
		return err
	}
	a.Say("%s", promotionSummary(p))
	return failed
}

func promotionSummary(p memory.Promotion) string {
	return fmt.Sprintf("turns: %d; facts added: %d, updated: %d, removed: %d, known already: %d",
		p.Turns, len(p.Added), len(p.Updated), p.Removed, p.Known)
}
