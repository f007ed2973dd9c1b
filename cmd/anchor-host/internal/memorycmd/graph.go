package memorycmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

func graph(a *cli.App) *cobra.Command {
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
  anchor-host memory graph list Ann`,
	})
	cmd.AddCommand(addRelation(a), listRelations(a), removeRelations(a))
	return cmd
}

// relationOf returns the relation that the arguments and --fact describe.
func relationOf(s *records.Session, args []string, fact string) (memory.Relation, error) {
	var r memory.Relation
	switch {
	case fact != "" && len(args) == 1:
		r = memory.Relation{Source: args[0], Fact: fact}
	case fact == "" && len(args) == 3:
		r = memory.Relation{Source: args[0], Relation: args[1], Target: args[2]}
	default:
		return r, s.Usagef("want SOURCE RELATION TARGET, or ENTITY and --fact")
	}
	if err := r.Validate(); err != nil {
		return r, s.Usagef("%w", err)
	}
	return r, nil
}

func addRelation(a *cli.App) *cobra.Command {
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
	cmd.Flags().StringVar(&fact, "fact", "", "id of a fact about the entity")
	return records.Command(a, records.Write, cmd, func(ctx context.Context, s *records.Session, args []string) (none cli.Listing, err error) {
		r, err := relationOf(s, args, fact)
		if err != nil {
			return none, err
		}
		if fact != "" {
			facts, err := s.Facts(ctx, "")
			if err != nil {
				return none, err
			}
			if _, err := facts.Get(ctx, fact); err != nil {
				return none, err
			}
		}
		g, err := s.Graph(ctx, "")
		if err != nil {
			return none, err
		}
		return none, g.Add(ctx, r)
	}, cli.NoFormat)
}

// reachedEntity is an entity of a query, and the facts about it.
type reachedEntity struct {
	Entity string         `json:"entity"`
	Facts  []memory.Entry `json:"facts"`
}

func listRelations(a *cli.App) *cobra.Command {
	var depth int
	cmd := &cobra.Command{
		Use:   "list [flags] [ENTITY]…",
		Short: "List all relations, or show related entities and their facts",
		Long: `List the relations and links to facts of the tenant, in the order in which they were
added. With entities show what can be reached from them over at most --depth relations,
the closest first, with the facts about each. A build uses the same search for the
entities that its query mentions.`,
		Example: `  anchor-host memory graph list -o json
  anchor-host memory graph list --depth 1 Ann Apollo`,
	}
	cmd.Flags().IntVar(&depth, "depth", memory.DefaultGraphDepth, "how many relations to follow")
	return records.Command(a, records.Read, cmd, func(ctx context.Context, s *records.Session, args []string) (cli.Listing, error) {
		if depth < 0 {
			return cli.Listing{}, s.Usagef("flag --depth: want 0 or more, got %d", depth)
		}
		if len(args) > 0 {
			return reach(ctx, s, depth, args)
		}
		g, err := s.Graph(ctx, "")
		if err != nil {
			return cli.Listing{}, err
		}
		relations, err := g.Relations(ctx)
		l := cli.Listing{Header: []string{"SOURCE", "RELATION", "TARGET", "FACT"}, Data: relations}
		for _, r := range relations {
			l.Rows = append(l.Rows, []string{cli.OneCell(r.Source), cli.Dash(r.Relation), cli.Dash(r.Target), cli.Dash(r.Fact)})
		}
		return l, err
	})
}

// reach lists the entities within depth relations of the given ones, with the facts about each.
func reach(ctx context.Context, s *records.Session, depth int, entities []string) (l cli.Listing, err error) {
	stored, err := s.Graph(ctx, "")
	if err != nil {
		return l, err
	}
	g, err := stored.Graph(ctx)
	if err != nil {
		return l, err
	}
	for _, name := range entities {
		if len(g.Related(0, name)) == 0 {
			return l, fmt.Errorf("entity %.100q: %w (list all with: anchor-host memory graph list)", name, memory.ErrNotFound)
		}
	}
	facts, err := s.Facts(ctx, "")
	if err != nil {
		return l, err
	}
	all, err := facts.List(ctx, memory.Filter{})
	if err != nil {
		return l, err
	}
	l.Header = []string{"ENTITY", "FACT", "TEXT"}
	reached := []reachedEntity{}
	for _, name := range g.Related(depth, entities...) {
		r := reachedEntity{name, []memory.Entry{}}
		for _, id := range g.RelatedFacts(0, 0, name) {
			if i := slices.IndexFunc(all, func(e memory.Entry) bool { return e.ID == id }); i >= 0 {
				r.Facts = append(r.Facts, all[i])
				l.Rows = append(l.Rows, []string{cli.OneCell(name), cli.OneCell(id), cli.Excerpt(all[i].Content)})
			}
		}
		if len(r.Facts) == 0 {
			l.Rows = append(l.Rows, []string{cli.OneCell(name), "-", "-"})
		}
		reached = append(reached, r)
	}
	l.Data = reached
	return l, nil
}

func removeRelations(a *cli.App) *cobra.Command {
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
	cmd.Flags().StringVar(&fact, "fact", "", "only the link to this fact; without an entity, all links to it")
	return records.Command(a, records.Delete, cmd, func(ctx context.Context, s *records.Session, args []string) (none cli.Listing, err error) {
		g, err := s.Graph(ctx, "")
		if err != nil {
			return none, err
		}
		n := 0
		switch {
		case len(args) == 0 && fact != "":
			n, err = g.RemoveFact(ctx, fact)
		case len(args) == 1 && fact == "":
			n, err = g.RemoveEntity(ctx, args[0])
		default:
			r, wrong := relationOf(s, args, fact)
			if wrong != nil {
				return none, wrong
			}
			n, err = g.Remove(ctx, r)
		}
		switch {
		case err != nil:
			return none, err
		case n == 0:
			return none, fmt.Errorf("nothing to remove: %w (list all relations with: anchor-host memory graph list)", memory.ErrNotFound)
		}
		a.Say("removed: %d", n)
		return none, nil
	}, cli.NoFormat)
}
