package memorycmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/store"
)

func export(a *cli.App) *cobra.Command {
	var file string
	var skip bool
	cmd := &cobra.Command{
		Use:   "export [flags]",
		Short: "Write everything of a tenant as JSON Lines",
		Long: `Write everything that the store has of the tenant as JSON Lines, to stdout or to a
file: facts and relations, conversations with their summaries, and agent runs with
all that belongs to them. The same content gives the same bytes, and every line is a
complete record.

A damaged record is an error that names it. With --skip-damaged it is left out,
and a line on stderr names it.`,
		Example: `  anchor-host memory export > memory.jsonl
  anchor-host memory export --tenant acme --file acme.jsonl`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&file, "file", "", "write to this file, which must not exist")
	cmd.Flags().BoolVar(&skip, "skip-damaged", false, "leave out records that are damaged, and name them")
	return records.Command(a, records.Read, cmd, func(ctx context.Context, s *records.Session, _ []string) (none cli.Listing, err error) {
		if file != "" {
			return none, exportFile(ctx, s, file, skip)
		}
		w := bufio.NewWriter(a.Out)
		return none, errors.Join(write(ctx, s, w, skip), w.Flush())
	}, cli.NoFormat)
}

// write writes all records of the tenant. With skip it leaves out damaged ones.
func write(ctx context.Context, s *records.Session, w io.Writer, skip bool) error {
	if !skip {
		return s.Export(ctx, "", w, nil)
	}
	return s.Export(ctx, "", w, func(key store.Key, damaged *store.CorruptError) {
		s.CLI.Say("warning: %s: left out: %v", key, damaged)
	})
}

// exportFile writes a new file, and removes it if the export fails.
func exportFile(ctx context.Context, s *records.Session, path string, skip bool) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path) // the first error is the one to report
		}
	}()
	w := bufio.NewWriter(f)
	err = write(ctx, s, w, skip)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	err = cmp.Or(err, f.Close())
	return err
}

func load(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import [flags] FILE",
		Short: "Read JSON Lines that export has written",
		Long: `Read JSON Lines from a file, or with "-" from stdin, and store every record under
the tenant. The tenant named in a line is ignored. An existing record is replaced,
so importing twice changes nothing. A line whose content does not match its kind
is an error. Lines are stored in batches; an error names its line and how many
records are stored.

If anchor.yaml has an embedder of facts, their vectors are made, too. Should that
fail, a warning says why, and builds make them later.`,
		Example: `  anchor-host memory import memory.jsonl
  anchor-host memory import -o json memory.jsonl
  anchor-host memory export --tenant acme | anchor-host memory import --tenant test -`,
		Args: cli.Exactly("FILE"),
	}
	return records.Command(a, records.Write, cmd, func(ctx context.Context, s *records.Session, args []string) (l cli.Listing, err error) {
		r, name, err := a.Open(args[0])
		if err != nil {
			return l, fmt.Errorf("import: %w", err)
		}
		defer r.Close()
		done := imported{}
		if done.Imported, err = s.Import(ctx, "", r); err != nil {
			return l, fmt.Errorf("%s: %w", name, err)
		}
		if done.Embedded, err = s.EmbedFacts(ctx, ""); err != nil {
			a.Say("warning: facts have no vectors yet: %v", err)
		}
		l = cli.Listing{Data: done, Text: fmt.Sprintf("imported: %d\n", done.Imported)}
		if done.Embedded > 0 {
			l.Text += fmt.Sprintf("embedded: %d\n", done.Embedded)
		}
		return l, nil
	}, "text", "json", "yaml")
}

// imported is what an import did.
type imported struct {
	Imported int `json:"imported"`
	// Embedded is how many facts got a vector.
	Embedded int `json:"embedded"`
}
