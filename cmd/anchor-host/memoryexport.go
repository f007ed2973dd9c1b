package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/store"
)

func (a *app) memoryExportCommand() *cobra.Command {
	var file string
	var skip bool
	cmd := &cobra.Command{
		Use:   "export [flags]",
		Short: "Write everything of a tenant as JSON Lines",
		Long: `Write everything that the store has of the tenant as JSON Lines, to stdout or to a
file. These are facts and relations; the turns and summaries of conversations, and
the marks up to which turns were promoted; and the frames, states, intents, plans
and snapshots of agent runs.

The same content gives the same bytes, and every line is a complete record. A line
with the key last gives the highest number that was used in a list whose newest
records were deleted.

A damaged record is an error that names it. With --skip-damaged it is left out,
and a line on stderr names it.`,
		Example: `  anchor-host memory export > memory.jsonl
  anchor-host memory export --tenant acme --file acme.jsonl`,
		Args: cobra.NoArgs,
	}
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	cmd.Flags().StringVar(&file, "file", "", "write to this file, which must not exist")
	cmd.Flags().BoolVar(&skip, "skip-damaged", false, "leave out records that are damaged, and name them")
	cmd.RunE = a.withStoreToRead(func(cmd *cobra.Command, _ []string, s *session) (err error) {
		if file == "" {
			w := bufio.NewWriter(a.Out)
			if err := s.export(cmd.Context(), w, skip); err != nil {
				return err
			}
			return w.Flush()
		}
		return exportFile(cmd, s, file, skip)
	})
	return cmd
}

// export writes all records of the tenant. With skip it leaves out damaged ones.
func (s *session) export(ctx context.Context, w io.Writer, skip bool) error {
	if !skip {
		return s.front.Export(ctx, "", w, nil)
	}
	return s.front.Export(ctx, "", w, func(key store.Key, damaged *store.CorruptError) {
		s.app.Say("warning: %s: left out: %v", key, damaged)
	})
}

// exportFile writes a new file, and removes it if the export fails.
func exportFile(cmd *cobra.Command, s *session, path string, skip bool) (err error) {
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
	err = s.export(cmd.Context(), w, skip)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func (a *app) memoryImportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import [flags] FILE",
		Short: "Read JSON Lines that export has written",
		Long: `Read JSON Lines from a file, or with "-" from stdin, and store every record under
the tenant. The tenant named in a line is ignored. An existing record is replaced,
so importing twice changes nothing. A line whose content does not match its kind
is an error. Lines are stored in batches; an error names its line and how many
records are stored.

If anchor.yaml has facts: {embedder: NAME}, the vectors of the facts are made, too.
Should that fail, a warning says why, and builds make them later.`,
		Example: `  anchor-host memory import memory.jsonl
  anchor-host memory import -o json memory.jsonl
  anchor-host memory export --tenant acme | anchor-host memory import --tenant test -`,
		Args: cli.Exactly("FILE"),
	}
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	format := cli.FormatFlag(cmd, "text", "json", "yaml")
	cmd.RunE = a.withStore(func(cmd *cobra.Command, args []string, s *session) error {
		r, name, err := a.Open(args[0])
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		defer r.Close()
		n, err := s.front.Import(cmd.Context(), "", r)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		done := imported{Imported: n}
		if done.Embedded, err = s.front.EmbedFacts(cmd.Context(), ""); err != nil {
			a.Say("warning: facts have no vectors yet: %v", err)
		}
		return a.printImport(*format, done)
	})
	return cmd
}

// imported is what an import did.
type imported struct {
	Imported int `json:"imported"`
	// Embedded is how many facts got a vector.
	Embedded int `json:"embedded"`
}

func (a *app) printImport(format string, done imported) error {
	if format != "text" {
		return a.Print(format, cli.Listing{Data: done})
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "imported: %d\n", done.Imported)
	if done.Embedded > 0 {
		fmt.Fprintf(&b, "embedded: %d\n", done.Embedded)
	}
	return a.Emit(&b)
}
