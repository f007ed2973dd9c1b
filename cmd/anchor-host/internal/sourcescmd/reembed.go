package sourcescmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

func reembed(a *cli.App) *cobra.Command {
	var embedder string
	var none bool
	cmd := &cobra.Command{
		Use:   "reembed [flags] COLLECTION",
		Short: "Make the vectors of a collection again",
		Long: `Give the documents of a collection vectors of the embedder that the configuration, or
--embedder, names. Their texts are in the collection, so no file is read. A run that was
interrupted goes on when it is started again. Until it ends, documents without vectors
are found by their words. --none removes all vectors.

Each document that the model refuses gets a line on stderr, and the exit code is then 1.`,
		Example: `  anchor-host collections reembed docs
  anchor-host collections reembed docs --embedder local
  anchor-host collections reembed docs --none`,
		Args: cli.Exactly("COLLECTION"),
	}
	embedderFlag(cmd, &embedder)
	cmd.Flags().BoolVar(&none, "none", false, "remove all vectors")
	cmd.MarkFlagsMutuallyExclusive("embedder", "none")
	return records.Command(a, records.Write, cmd, func(ctx context.Context, s *records.Session, args []string) (l cli.Listing, err error) {
		var e retrieve.Embedder
		if !none {
			if e, err = chosen(s.App, args[0], embedder); err != nil {
				return l, err
			}
		}
		p := newProgress(a)
		defer p.stop()
		report, err := s.Reembed(ctx, ingest.Options{
			Collection: named(args[0]), Embedder: e, Progress: p.step, Failed: sayOnce(a, p, map[string]string{}),
		})
		p.stop()
		l = reembedListing(report)
		if err == nil && report.Failed > 0 {
			err = fmt.Errorf("re-embed: documents without vectors: %d of %d (each has a line above; they are found by their words)", report.Failed, report.Files)
			return cli.Listing{}, errors.Join(a.Print(s.Format, l), err)
		}
		return l, err
	})
}

// chosen returns the embedder that a flag names, or else the one of the collection.
func chosen(app *anchor.App, collection, name string) (retrieve.Embedder, error) {
	e, err := embedderOf(app, name)
	if e == nil && err == nil {
		e, err = app.CollectionEmbedder(collection)
	}
	if e == nil && err == nil {
		err = fmt.Errorf("re-embed: %w: the configuration says that collection %q has no embedder (use --embedder NAME; --none removes the vectors)", anchor.ErrInvalid, collection)
	}
	return e, err
}

func reembedListing(r ingest.Report) cli.Listing {
	row := func(name string, v any) []string { return []string{name, fmt.Sprint(v)} }
	return cli.Listing{Data: r, Rows: [][]string{row("documents", r.Files), row("embedded", r.Changed), row("failed", r.Failed), row("time", took(r.Seconds))}}
}
