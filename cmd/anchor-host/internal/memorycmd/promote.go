package memorycmd

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

func promote(a *cli.App) *cobra.Command {
	var conversation string
	var o anchor.PromoteOptions
	cmd := &cobra.Command{
		Use:   "promote --conversation ID [flags]",
		Short: "Extract facts from the turns of a conversation",
		Long: `Extract facts from the turns that were added to a conversation since the last
promotion. anchor.yaml names the plugin or the model that does it, as
"memory: {facts: {extract: {model: small}}}". It can add facts, and change or remove
facts that it was shown. A build that remembers its query also promotes the
conversation, as soon as it has as many new turns as facts.extract.every says.`,
		Example: `  anchor-host memory promote --conversation chat-7
  anchor-host memory promote --conversation chat-7 --user ann -o json`,
		Args: cobra.NoArgs,
	}
	cli.HostFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&conversation, "conversation", "", "the conversation")
	cli.SettingFlag(cmd, "conversation", "")
	flags.StringVar(&o.User, "user", "", "user who owns the facts (default: that of the conversation, or facts.user)")
	flags.StringVar(&o.Session, "session", "", "session that owns the facts (default: facts.session)")
	return records.Command(a, records.Write, cmd, func(ctx context.Context, s *records.Session, _ []string) (none cli.Listing, err error) {
		if conversation == "" {
			return none, s.Usagef("name the conversation (--conversation ID)")
		}
		p, err := s.Promote(ctx, conversation, o)
		return none, printPromotion(s, p, err)
	})
}

func consolidate(a *cli.App) *cobra.Command {
	var f filterFlags
	cmd := &cobra.Command{
		Use:   "consolidate [flags]",
		Short: "Merge and remove facts with a plugin or a model",
		Long: `Tidy up the facts that the flags select. The model that facts.consolidate in
anchor.yaml names, or else the plugin or model of facts.extract, merges, shortens
and removes facts. It never sees facts of different users or sessions together.`,
		Example: `  anchor-host memory consolidate --user ann
  anchor-host memory consolidate --session chat-7 -o json`,
		Args: cobra.NoArgs,
	}
	cli.HostFlags(cmd)
	f.addFacts(cmd)
	return records.Command(a, records.Write, cmd, func(ctx context.Context, s *records.Session, _ []string) (none cli.Listing, err error) {
		filter, err := f.filter(s)
		if err != nil {
			return none, err
		}
		p, err := s.Consolidate(ctx, "", filter)
		return none, printPromotion(s, p, err)
	})
}

// printPromotion prints how facts changed, including the changes before an error.
func printPromotion(s *records.Session, p memory.Promotion, failed error) error {
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
	if err := s.CLI.Print(s.Format, l); err != nil {
		return err
	}
	s.CLI.Say("turns: %d; facts added: %d, updated: %d, removed: %d, known already: %d",
		p.Turns, len(p.Added), len(p.Updated), p.Removed, p.Known)
	for _, l := range p.Services {
		s.CLI.Say("asked %s %s: %s", l.Service, cli.OneCell(l.Name), cli.Usage(l))
	}
	return failed
}
