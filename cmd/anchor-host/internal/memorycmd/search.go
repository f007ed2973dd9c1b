package memorycmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

// searchFlags are the flags of memory search.
type searchFlags struct {
	filterFlags
	topK                      int
	contains, touch, semantic bool
}

func search(a *cli.App) *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:   "search [flags] QUERY",
		Short: "Find the facts that matter to a query, or turns",
		Long: `Find the facts that matter most to a query. They are ranked by the words they
share with it, by how recently they were used and by how important they are. With
--semantic their meaning counts instead of their words, as in a build: anchor.yaml
names the embedder that compares them (memory: {facts: {embedder: NAME}}). With
--contains find the facts that contain the text, in upper or lower case.

With --conversation find the turns that contain the text.`,
		Example: `  anchor-host memory search --user ann "which train?"
  anchor-host memory search --semantic "how does she travel?"
  anchor-host memory search --contains --top-k 20 -o json oslo
  anchor-host memory search --conversation chat-7 train`,
		Args: cli.Exactly("QUERY"),
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.topK, "top-k", memory.DefaultTopK, "maximum number of facts")
	flags.BoolVar(&f.contains, "contains", false, "only facts that contain the text")
	flags.BoolVar(&f.semantic, "semantic", false, "compare meanings, with the embedder that facts.embedder names")
	cmd.MarkFlagsMutuallyExclusive("contains", "semantic")
	flags.BoolVar(&f.touch, "touch", false, "record a use of the facts, so that they decay more slowly")
	return records.Command(a, records.Read, cmd, func(ctx context.Context, s *records.Session, args []string) (cli.Listing, error) {
		filter, err := f.filter(s)
		switch {
		case err != nil:
			return cli.Listing{}, err
		case f.topK < 1:
			return cli.Listing{}, s.Usagef("flag --top-k: want 1 or more, got %d", f.topK)
		case f.conversation != "":
			talk, err := s.Conversation(ctx, "", f.conversation)
			if err != nil {
				return cli.Listing{}, err
			}
			found, err := talk.Search(ctx, args[0])
			return turnListing(found, found), err
		}
		return searchFacts(ctx, s, &f, filter, args[0])
	})
}

// foundFact is a fact with its score. A fact that was found by --contains has no score.
type foundFact struct {
	Score *float64     `json:"score,omitempty"`
	Fact  memory.Entry `json:"fact"`
}

func searchFacts(ctx context.Context, s *records.Session, f *searchFlags, filter memory.Filter, query string) (cli.Listing, error) {
	facts := s.Facts
	if f.semantic {
		facts = s.SemanticFacts
	}
	m, err := facts(ctx, "")
	if err != nil {
		return cli.Listing{}, err
	}
	found, err := find(ctx, m, f, filter, query)
	if err != nil {
		return cli.Listing{}, err
	}
	entries, ids := make([]memory.Entry, len(found)), make([]string, len(found))
	for i := range found {
		entries[i], ids[i] = found[i].Fact, found[i].Fact.ID
	}
	if f.touch {
		if err := m.Touch(ctx, ids...); err != nil {
			return cli.Listing{}, err
		}
	}
	l := factListing(entries, found)
	l.Header = append([]string{"SCORE"}, l.Header...)
	for i := range l.Rows {
		score := "-"
		if found[i].Score != nil {
			score = fmt.Sprintf("%.3f", *found[i].Score)
		}
		l.Rows[i] = append([]string{score}, l.Rows[i]...)
	}
	return l, nil
}

func find(ctx context.Context, m *memory.Manager, f *searchFlags, filter memory.Filter, query string) ([]foundFact, error) {
	found := []foundFact{}
	if f.contains {
		entries, err := m.Search(ctx, query, f.topK, filter)
		for _, e := range entries {
			found = append(found, foundFact{Fact: e})
		}
		return found, err
	}
	scored, err := m.Relevant(ctx, &pipeline.Query{Text: query}, f.topK, filter)
	for _, r := range scored {
		found = append(found, foundFact{&r.Score, r.Entry})
	}
	return found, err
}
