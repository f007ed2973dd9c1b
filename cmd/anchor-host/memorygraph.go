package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

func (a *app) memoryGraphCommand() *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "graph",
		Short: "Link entities to each other and to facts",
		Long: `Keep a graph of entities, such as people and projects, in the store. It has
relations between entities, and links from entities to facts about them. With
"memory: {facts: {graph: {}}}" in anchor.yaml, a build also gets the facts about entities
that the query mentions, and about entities related to those. Names are not
case-sensitive.`,
		Example: `  anchor-host memory graph add Ann "works on" Apollo
  anchor-host memory graph add Apollo --fact f1
  anchor-host memory graph query Ann`,
	})
	cmd.AddCommand(a.graphAddCommand(), a.graphQueryCommand(), a.graphListCommand(), a.graphRemoveCommand())
	return cmd
}

// relationOf returns the relation that the arguments and --fact describe.
func relationOf(cmd *cobra.Command, args []string, fact string) (memory.Relation, error) {
	var r memory.Relation
	switch {
	case fact != "" && len(args) == 1:
		r = memory.Relation{Source: args[0], Fact: fact}
	case fact == "" && len(args) == 3:
		r = memory.Relation{Source: args[0], Relation: args[1], Target: args[2]}
	default:
		return r, cli.Usagef(cmd, "want SOURCE RELATION TARGET, or ENTITY and --fact")
	}
	if err := r.Validate(); err != nil {
		return r, cli.Usagef(cmd, "%w", err)
	}
	return r, nil
}

func (a *app) graphAddCommand() *cobra.Command {
	var fact string
	cmd := &cobra.Command{
		Use:   "add [flags] SOURCE RELATION TARGET | ENTITY --fact ID",
		Short: "Add a relation, or link an entity to a fact",
		Long: `Add a relation between two entities. With --fact link an entity to an existing
fact instead. An entity exists as long as it has a relation or a fact. Adding the
same relation or link again changes nothing.`,
		Example: `  anchor-host memory graph add Ann "works on" Apollo
  anchor-host memory graph add Ann --fact 0199a7c2-7d1e-4b52-9f5e-2b0c3f6a1d11`,
	}
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	cmd.Flags().StringVar(&fact, "fact", "", "id of a fact about the entity")
	cmd.RunE = a.withStore(func(cmd *cobra.Command, args []string, s *session) error {
		r, err := relationOf(cmd, args, fact)
		if err != nil {
			return err
		}
		if fact != "" {
			facts, err := s.front.Facts(cmd.Context(), "")
			if err != nil {
				return err
			}
			if _, err := facts.Get(cmd.Context(), fact); err != nil {
				return err
			}
		}
		g, err := s.front.Graph(cmd.Context(), "")
		if err != nil {
			return err
		}
		return g.Add(cmd.Context(), r)
	})
	return cmd
}

func (a *app) graphListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List all relations",
		Long: `List the relations and links to facts of the tenant, in the order in which they were
added.`,
		Example: `  anchor-host memory graph list -o json`,
		Args:    cobra.NoArgs,
	}
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.withStoreToRead(func(cmd *cobra.Command, _ []string, s *session) error {
		g, err := s.front.Graph(cmd.Context(), "")
		if err != nil {
			return err
		}
		relations, err := g.Relations(cmd.Context())
		if err != nil {
			return err
		}
		l := cli.Listing{Header: []string{"SOURCE", "RELATION", "TARGET", "FACT"}, Data: relations}
		for _, r := range relations {
			l.Rows = append(l.Rows, []string{cli.OneCell(r.Source), cli.Dash(cli.OneCell(r.Relation)), cli.Dash(cli.OneCell(r.Target)), cli.Dash(cli.OneCell(r.Fact))})
		}
		return a.Print(*format, l)
	})
	return cmd
}

// reachedEntity is an entity of a query, and the facts about it.
type reachedEntity struct {
	Entity string         `json:"entity"`
	Facts  []memory.Entry `json:"facts"`
}

func (a *app) graphQueryCommand() *cobra.Command {
	var depth int
	cmd := &cobra.Command{
		Use:   "query [flags] ENTITY…",
		Short: "Show related entities and their facts",
		Long: `Show the entities that can be reached from the given ones over at most --depth
relations, the closest first, with the facts about each. A build uses the same
search for the entities that its query mentions.`,
		Example: `  anchor-host memory graph query --depth 1 Ann Apollo`,
		Args:    cobra.MinimumNArgs(1),
	}
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	cmd.Flags().IntVar(&depth, "depth", memory.DefaultGraphDepth, "how many relations to follow")
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.withStoreToRead(func(cmd *cobra.Command, args []string, s *session) error {
		if depth < 0 {
			return cli.Usagef(cmd, "flag --depth: want 0 or more, got %d", depth)
		}
		reached, err := queryGraph(cmd, s.front, depth, args)
		if err != nil {
			return err
		}
		l := cli.Listing{Header: []string{"ENTITY", "FACT", "TEXT"}, Data: reached}
		for _, r := range reached {
			if len(r.Facts) == 0 {
				l.Rows = append(l.Rows, []string{cli.OneCell(r.Entity), "-", "-"})
			}
			for _, e := range r.Facts {
				l.Rows = append(l.Rows, []string{cli.OneCell(r.Entity), cli.OneCell(e.ID), cli.Excerpt(e.Content)})
			}
		}
		return a.Print(*format, l)
	})
	return cmd
}

// queryGraph returns the entities within depth relations of the given ones, with the facts about
// each.
func queryGraph(cmd *cobra.Command, front *anchor.App, depth int, entities []string) ([]reachedEntity, error) {
	stored, err := front.Graph(cmd.Context(), "")
	if err != nil {
		return nil, err
	}
	g, err := stored.Graph(cmd.Context())
	if err != nil {
		return nil, err
	}
	for _, name := range entities {
		if len(g.Related(0, name)) == 0 {
			return nil, fmt.Errorf("entity %.100q: %w (list all with: anchor-host memory graph list)", name, memory.ErrNotFound)
		}
	}
	facts, err := front.Facts(cmd.Context(), "")
	if err != nil {
		return nil, err
	}
	all, err := facts.List(cmd.Context(), memory.Filter{})
	if err != nil {
		return nil, err
	}
	reached := []reachedEntity{}
	for _, name := range g.Related(depth, entities...) {
		r := reachedEntity{name, []memory.Entry{}}
		for _, id := range g.RelatedFacts(0, 0, name) {
			if i := slices.IndexFunc(all, func(e memory.Entry) bool { return e.ID == id }); i >= 0 {
				r.Facts = append(r.Facts, all[i])
			}
		}
		reached = append(reached, r)
	}
	return reached, nil
}

func (a *app) graphRemoveCommand() *cobra.Command {
	var fact string
	cmd := &cobra.Command{
		Use:   "remove [flags] SOURCE RELATION TARGET | ENTITY | [ENTITY] --fact ID",
		Short: "Remove a relation, an entity with all its relations, or links to a fact",
		Long: `Remove one relation, or all relations and links of an entity. With --fact remove
the links to a fact instead. The facts themselves stay; "memory forget" deletes
them.`,
		Example: `  anchor-host memory graph remove Ann "works on" Apollo
  anchor-host memory graph remove Apollo
  anchor-host memory graph remove --fact f1`,
		Args: cobra.MaximumNArgs(3),
	}
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	cmd.Flags().StringVar(&fact, "fact", "", "only the link to this fact; without an entity, all links to it")
	cmd.RunE = a.withStoreToDelete(func(cmd *cobra.Command, args []string, s *session) error {
		g, err := s.front.Graph(cmd.Context(), "")
		if err != nil {
			return err
		}
		n := 0
		switch {
		case len(args) == 0 && fact != "":
			n, err = g.RemoveFact(cmd.Context(), fact)
		case len(args) == 1 && fact == "":
			n, err = g.RemoveEntity(cmd.Context(), args[0])
		default:
			r, wrong := relationOf(cmd, args, fact)
			if wrong != nil {
				return wrong
			}
			n, err = g.Remove(cmd.Context(), r)
		}
		switch {
		case err != nil:
			return err
		case n == 0:
			return fmt.Errorf("nothing to remove: %w (list all relations with: anchor-host memory graph list)", memory.ErrNotFound)
		}
		a.Say("removed: %d", n)
		return nil
	})
	return cmd
}
