package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

// searchFlags are the flags of memory search.
type searchFlags struct {
	filterFlags
	topK                      int
	contains, touch, semantic bool
}

func (a *app) memorySearchCommand() *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:   "search [flags] QUERY",
		Short: "Find the facts that matter to a query, or turns",
		Long: `Find the facts that matter most to a query. They are ranked by the words they
share with it, by how recently they were used and by how important they are. With
--semantic their meaning counts instead of their words, as in a build: anchor.yaml
names the embedder that compares them (facts: {embedder: NAME}). With --contains
find the facts that contain the text, in upper or lower case.

With --conversation find the turns that contain the text.`,
		Example: `  anchor-host memory search --user ann "which train?"
  anchor-host memory search --semantic "how does she travel?"
  anchor-host memory search --contains --top-k 20 -o json oslo
  anchor-host memory search --conversation chat-7 train`,
		Args: cli.Exactly("QUERY"),
	}
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	f.add(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.topK, "top-k", memory.DefaultTopK, "maximum number of facts")
	flags.BoolVar(&f.contains, "contains", false, "only facts that contain the text")
	flags.BoolVar(&f.semantic, "semantic", false, "compare meanings, with the embedder that facts.embedder names")
	cmd.MarkFlagsMutuallyExclusive("contains", "semantic")
	flags.BoolVar(&f.touch, "touch", false, "record a use of the facts, so that they decay more slowly")
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.withStoreToRead(func(cmd *cobra.Command, args []string, s *session) error {
		filter, err := f.filter(cmd)
		if err != nil {
			return err
		}
		if f.topK < 1 {
			return cli.Usagef(cmd, "flag --top-k: want 1 or more, got %d", f.topK)
		}
		var l cli.Listing
		if f.conversation != "" {
			l, err = s.searchTurns(cmd.Context(), f.conversation, args[0])
		} else {
			l, err = s.searchFacts(cmd.Context(), &f, filter, args[0])
		}
		if err != nil {
			return err
		}
		return a.Print(*format, l)
	})
	return cmd
}

// foundFact is a fact with its score. A fact that was found by --contains has no score.
type foundFact struct {
	Score *float64     `json:"score,omitempty"`
	Fact  memory.Entry `json:"fact"`
}

func (s *session) searchFacts(ctx context.Context, f *searchFlags, filter memory.Filter, query string) (cli.Listing, error) {
	facts := s.front.Facts
	if f.semantic {
		facts = s.front.SemanticFacts
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

func (s *session) searchTurns(ctx context.Context, conversation, text string) (cli.Listing, error) {
	talk, err := s.front.Conversation(ctx, "", conversation)
	if err != nil {
		return cli.Listing{}, err
	}
	found, err := talk.Search(ctx, text)
	return turnListing(found, found), err
}
