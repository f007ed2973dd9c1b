package sourcescmd

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Collections returns "collections".
func Collections(a *cli.App) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "collections",
		Short: "List, show, search, re-embed, remove and export collections",
		Long: `Manage the collections of a tenant that "anchor-host ingest" fills. They are in the
store, beside facts and conversations.`,
		Example: `  anchor-host collections list
  anchor-host collections show docs --documents
  anchor-host collections search docs "When does the train leave?"
  anchor-host collections export docs > docs.jsonl`,
	})
	cmd.AddCommand(list(a), show(a), search(a), reembed(a), remove(a), export(a))
	return cmd
}

func list(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the collections of a tenant",
		Long: `List the collections of a tenant by name, with the number of their documents, chunks and
vectors, the model of the vectors, and the size of the texts and of the index.`,
		Example: `  anchor-host collections list
  anchor-host collections list --tenant acme -o json`,
		Args: cobra.NoArgs,
	}
	return records.Command(a, records.Read, cmd, func(ctx context.Context, s *records.Session, _ []string) (l cli.Listing, err error) {
		infos, err := s.Collections(ctx, "")
		return infoListing(infos, infos), err
	})
}

func infoListing(infos []retrieve.CollectionInfo, data any) cli.Listing {
	l := cli.Listing{Header: []string{"COLLECTION", "DOCUMENTS", "CHUNKS", "VECTORS", "MODEL", "TEXT", "INDEX", "CHANGED"}, Data: data}
	for i := range infos {
		c := &infos[i]
		l.Rows = append(l.Rows, []string{
			cli.OneCell(c.Name), strconv.Itoa(c.Documents), strconv.Itoa(c.Chunks), strconv.Itoa(c.Vectors), cli.Dash(cli.OneCell(c.Settings.Model.ID)),
			size(c.Bytes), size(c.IndexBytes), c.Changed.UTC().Format(time.RFC3339),
		})
	}
	return l
}

func show(a *cli.App) *cobra.Command {
	var documents bool
	cmd := &cobra.Command{
		Use:   "show [flags] COLLECTION",
		Short: "Show a collection, its documents, or one document",
		Long: `Show the size and the settings of a collection. --documents lists its documents. A
line without chunks stands for a file of which each record is a document.`,
		Example: `  anchor-host collections show docs
  anchor-host collections show docs --documents -o json`,
		Args: cli.Exactly("COLLECTION"),
	}
	cmd.Flags().BoolVar(&documents, "documents", false, "list the documents")
	return records.Command(a, records.Read, cmd, func(ctx context.Context, s *records.Session, args []string) (l cli.Listing, err error) {
		info, err := s.Collection(ctx, named(args[0]))
		if err != nil {
			return l, err
		}
		if !documents {
			return showListing(&info), nil
		}
		l = cli.Listing{Header: []string{"DOCUMENT", "CHUNKS", "VECTORS", "SIZE", "ID"}}
		docs := []retrieve.DocumentInfo{}
		for d, err := range s.CollectionDocuments(ctx, named(args[0]), retrieve.IDs{}) {
			if err != nil {
				return l, err
			}
			docs = append(docs, d)
			l.Rows = append(l.Rows, []string{cli.OneCell(d.Path), strconv.Itoa(d.Chunks), strconv.Itoa(d.Vectors), size(d.Size), cli.OneCell(d.ID)})
		}
		l.Data = docs
		return l, nil
	})
}

// showListing has the settings of a collection after what a list of collections has.
func showListing(info *retrieve.CollectionInfo) cli.Listing {
	l, s := infoListing([]retrieve.CollectionInfo{*info}, info), info.Settings
	l.Header = append(l.Header, "STEM", "STOP WORDS", "SPLIT", "FORM")
	l.Rows[0] = append(l.Rows[0], strconv.FormatBool(*s.Stem), s.StopWords, strconv.FormatBool(*s.SplitIdentifiers), string(s.Vectors))
	return l
}

func search(a *cli.App) *cobra.Command {
	var topK int
	var by, embedder string
	var filter []string
	cmd := &cobra.Command{
		Use:   "search [flags] COLLECTION QUESTION",
		Short: "Find the chunks that match a question",
		Long: `Find the chunks of a collection that match a question best: by its words (BM25), by its
vector, which the embedder of the collection makes, or by both (hybrid). With -o json
they are items, which "anchor-host build --items -" takes.`,
		Example: `  anchor-host collections search docs "When does the train leave?"
  anchor-host collections search docs "departure times" --by vectors
  anchor-host collections search docs "departure" --filter tags=train --filter "time>=2026-01-31"
  anchor-host collections search docs "$Q" -o json | anchor-host build --items - "$Q"`,
		Args: cli.Exactly("COLLECTION", "QUESTION"),
	}
	cmd.Flags().IntVarP(&topK, "top-k", "k", retrieve.DefaultK, fmt.Sprintf("most chunks to find, 1 to %d", retrieve.MaxK))
	cmd.Flags().StringVar(&by, "by", "", "words, vectors or hybrid (default hybrid, if the collection has vectors and an embedder)")
	cmd.Flags().StringArrayVar(&filter, "filter", nil, "condition that each chunk meets: FIELD=VALUE, or with !=, ^= (begins with), >, >=, < or <= (repeatable)")
	embedderFlag(cmd, &embedder)
	return records.Command(a, records.Read, cmd, func(ctx context.Context, s *records.Session, args []string) (l cli.Listing, err error) {
		if topK < 1 || topK > retrieve.MaxK {
			return l, s.Usagef("flag --top-k: %d (want 1 to %d)", topK, retrieve.MaxK)
		}
		if strings.TrimSpace(args[1]) == "" {
			return l, s.Usagef("QUESTION is empty")
		}
		if by != "" && by != string(retrieve.ByWords) && by != string(retrieve.ByVectors) && by != string(retrieve.ByHybrid) {
			return l, s.Usagef("flag --by: %q (want words, vectors or hybrid)", by)
		}
		q := retrieve.Query{Text: args[1], K: topK, By: retrieve.By(by)}
		for _, text := range filter {
			c, ok := condition(text)
			if !ok {
				return l, s.Usagef("flag --filter: %q (want a field, a comparison and a value, such as tags=train)", text)
			}
			q.Filter = append(q.Filter, c)
		}
		e, err := embedderOf(s.App, embedder)
		if err != nil {
			return l, err
		}
		items, err := s.SearchCollection(ctx, named(args[0]), q, e)
		l = cli.Listing{Header: []string{"SCORE", "PATH", "LINE", "TEXT"}, Data: items}
		for i := range items {
			it := &items[i]
			line := ""
			if n, ok := it.Metadata["line"]; ok {
				line = fmt.Sprint(n)
			}
			l.Rows = append(l.Rows, []string{
				strconv.FormatFloat(it.Score, 'f', 3, 64), cli.OneCell(fmt.Sprint(it.Metadata["path"])), cli.Dash(line), cli.Excerpt(it.Content),
			})
		}
		return l, err
	})
}

func remove(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "remove [flags] COLLECTION",
		Short:   "Remove a collection with its documents",
		Long:    `Remove a collection with its documents from the store. The files that were read stay.`,
		Example: `  anchor-host collections remove docs`,
		Args:    cli.Exactly("COLLECTION"),
	}
	return records.Command(a, records.Delete, cmd, func(ctx context.Context, s *records.Session, args []string) (l cli.Listing, err error) {
		err = s.RemoveCollection(ctx, named(args[0]))
		return cli.Listing{Text: fmt.Sprintf("removed: %s\n", cli.OneCell(args[0])), Data: map[string]string{"removed": args[0]}}, err
	})
}

func export(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export [flags] COLLECTION",
		Short: "Write the documents of a collection",
		Long: `Write the documents of a collection with their chunks and vectors: as JSON Lines, as
one JSON or YAML list, or as a table of the chunks.`,
		Example: `  anchor-host collections export docs > docs.jsonl
  anchor-host collections export docs -o table`,
		Args: cli.Exactly("COLLECTION"),
	}
	return records.Command(a, records.Read, cmd, func(ctx context.Context, s *records.Session, args []string) (l cli.Listing, err error) {
		if _, err := s.Collection(ctx, named(args[0])); err != nil {
			return l, err
		}
		if s.Format == "jsonl" {
			return l, exportLines(ctx, s, args[0])
		}
		l = cli.Listing{Header: []string{"DOCUMENT", "CHUNK", "LINES", "TEXT"}}
		docs := []retrieve.Document{}
		for d, err := range s.ExportCollection(ctx, named(args[0])) {
			if err != nil {
				return l, err
			}
			docs = append(docs, d)
			for i := range d.Chunks {
				c := &d.Chunks[i]
				l.Rows = append(l.Rows, []string{cli.OneCell(d.Path), strconv.Itoa(i + 1), fmt.Sprintf("%d-%d", c.Lines.From, c.Lines.To), cli.Excerpt(c.Text)})
			}
		}
		l.Data = docs
		return l, nil
	}, "jsonl", "table", "json", "yaml")
}

func exportLines(ctx context.Context, s *records.Session, name string) error {
	w := bufio.NewWriter(s.CLI.Out)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for d, err := range s.ExportCollection(ctx, named(name)) {
		if err != nil {
			return err
		}
		if err := e.Encode(&d); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}
