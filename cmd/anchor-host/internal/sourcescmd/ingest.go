package sourcescmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/ingest/chunk"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// ingestFlags are the flags of ingest.
type ingestFlags struct {
	collection, name, format, urls string
	embedder                       string
	chunker                        string
	size, overlap, parent          int
	include, exclude               []string
	maxFile                        int
	keep, removeMissing, watch     bool
	interval                       time.Duration
}

// Ingest returns "ingest".
func Ingest(a *cli.App) *cobra.Command {
	var f ingestFlags
	cmd := &cobra.Command{
		Use:   "ingest [flags] PATH|URL|-…",
		Short: "Read files, folders and pages into a collection",
		Long: `Read text, Markdown, reStructuredText, AsciiDoc, LaTeX, man pages, HTML, PDF, DOCX, PPTX,
XLSX, ODT, RTF, EPUB, mails, notebooks, CSV, JSON Lines and source code into a collection.
"-" is stdin, as one file. The documents also get vectors, by which a question finds what
it means in other words, unless collections: {NAME: {embedder: none}} is configured.

The collection is kept as the files are: the next run reads only what has changed, and
deletes what no longer exists. If that is more than half, or a folder is empty, it deletes
nothing without --remove-missing. In folders, hidden files, links, pictures, archives and
programs are left out. Every other file that cannot be read gets a line on stderr, and the
exit code is then 1. docs/operate.md says how documents are cut.`,
		Example: `  anchor-host ingest docs --collection docs
  anchor-host ingest src --collection code --include '*.go' --exclude '*_test.go'
  anchor-host ingest https://go.dev/doc/effective_go --collection go
  git log | anchor-host ingest - --name log.txt --collection log
  anchor-host ingest docs --collection docs --watch`,
	}
	f.add(cmd)
	return records.Command(a, records.Write, cmd, func(_ context.Context, s *records.Session, args []string) (none cli.Listing, err error) {
		if os.Getenv("GOMEMLIMIT") == "" {
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(tidyMemory))
		}
		sources, err := f.sources(a, cmd, args)
		if err != nil {
			return none, err
		}
		if f.watch {
			return none, f.repeat(a, cmd, s.App, sources)
		}
		report, err := f.run(a, cmd, s.App, sources)
		if errors.Is(err, ingest.ErrMissing) { // all else is done
			return none, errors.Join(a.Print(s.Format, reportListing(report)), err)
		}
		if err != nil {
			for _, l := range report.Services {
				a.Say("asked %s %s: %s", l.Service, cli.OneCell(l.Name), cli.Usage(l))
			}
			return none, err
		}
		if report.Files == 0 {
			a.Say("ingest: no files were found in %s (hidden files, links, pictures, archives and programs are left out, and what --include and --exclude leave out)", cli.OneCell(strings.Join(args, ", ")))
		}
		l := reportListing(report)
		if report.Failed > 0 {
			if err := a.Print(s.Format, l); err != nil {
				return none, err
			}
			return none, fmt.Errorf("ingest: files that could not be read: %d of %d (each has a line above; all others are in the collection)", report.Failed, report.Files)
		}
		return l, nil
	})
}

// tidyMemory is the memory in bytes above which garbage is collected at once, and not when it is as
// much as what is in use. What is in use itself may be more.
const tidyMemory = 160 << 20

func (f *ingestFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.collection, "collection", "", "collection to read into (required)")
	flags.StringVar(&f.urls, "urls", "", "file with one address a line (- is stdin)")
	flags.StringVar(&f.name, "name", "stdin.txt", "name of what comes on stdin; its ending selects the format")
	flags.StringVar(&f.format, "format", "", "format of all files: "+formats()+" (default: by name and content)")
	cli.SettingFlag(cmd, "format", "") // in configurations it is that of the output
	flags.StringVar(&f.chunker, "chunker", string(chunk.Auto), "how documents are cut: auto, tokens, recursive, sentences, headings, code, parent-child, semantic")
	embedderFlag(cmd, &f.embedder)
	flags.IntVar(&f.size, "chunk-size", chunk.DefaultSize, "most tokens in a chunk, at 4 bytes each")
	flags.IntVar(&f.overlap, "chunk-overlap", 0, "tokens that a chunk repeats from the one before")
	flags.IntVar(&f.parent, "parent-size", 0, "most tokens in a parent of parent-child (default four times the chunk size)")
	flags.StringArrayVar(&f.include, "include", nil, "in folders, read only files with names like this, such as *.md; repeatable")
	flags.StringArrayVar(&f.exclude, "exclude", nil, "in folders, leave out names like this; repeatable")
	flags.IntVar(&f.maxFile, "max-file", ingest.DefaultMaxFile>>20, "largest file in MiB, 1 to 64; formats with pictures in them, such as PDF and DOCX, may have four times as much, CSV and JSON Lines any size")
	flags.BoolVar(&f.keep, "keep", false, "keep documents of deleted files")
	flags.BoolVar(&f.removeMissing, "remove-missing", false, "delete documents of missing files, also of more than half or of an empty folder")
	flags.BoolVar(&f.watch, "watch", false, "repeat when files change, until interrupted")
	flags.DurationVar(&f.interval, "interval", 2*time.Second, "how often --watch looks for changes; less often in large folders")
	_ = cmd.MarkFlagRequired("collection") // fails only for an unknown flag
}

// formats lists the formats of files.
func formats() string {
	var names []string
	for _, f := range parse.Formats {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// maxURLs bounds a list of addresses.
const maxURLs = 100_000

// sources returns what the arguments name.
func (f *ingestFlags) sources(a *cli.App, cmd *cobra.Command, args []string) ([]ingest.Source, error) {
	var sources []ingest.Source
	for _, arg := range args {
		if arg == "-" {
			if f.watch || f.urls == "-" || slices.ContainsFunc(sources, func(s ingest.Source) bool { return s.Reader != nil }) {
				return nil, cli.Usagef(cmd, "stdin can be read once (name \"-\" once, and without --watch)")
			}
			sources = append(sources, ingest.Source{Path: f.name, Reader: a.In})
			continue
		}
		sources = append(sources, ingest.Source{Path: arg})
	}
	if f.urls != "" {
		list, err := readURLs(a, f.urls)
		if err != nil {
			return nil, err
		}
		if sources = append(sources, list...); len(list) == 0 {
			return nil, cli.Usagef(cmd, "flag --urls: %s has no address (want one a line)", cli.OneCell(f.urls))
		}
	}
	switch {
	case len(sources) == 0:
		return nil, cli.Usagef(cmd, "want PATH, URL, - or --urls")
	case f.maxFile < 1 || f.maxFile > 64:
		return nil, cli.Usagef(cmd, "flag --max-file: want 1 to 64 MiB, got %d", f.maxFile)
	case f.interval < 100*time.Millisecond:
		return nil, cli.Usagef(cmd, "flag --interval: want at least 100ms, got %v", f.interval)
	}
	return sources, nil
}

func readURLs(a *cli.App, path string) ([]ingest.Source, error) {
	r, name, err := a.Open(path)
	if err != nil {
		return nil, fmt.Errorf("urls: %w", err)
	}
	defer r.Close()
	var sources []ingest.Source
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case !strings.HasPrefix(line, "http://") && !strings.HasPrefix(line, "https://"):
			return nil, fmt.Errorf("%s:%d: %.100q is no address (want http:// or https://)", name, n, line)
		case len(sources) == maxURLs:
			return nil, fmt.Errorf("%s:%d: more than %d addresses (split the list)", name, n, maxURLs)
		}
		sources = append(sources, ingest.Source{Path: line})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return sources, nil
}

func (f *ingestFlags) options(a *cli.App, e retrieve.Embedder, p *progress, said map[string]string) ingest.Options {
	return ingest.Options{
		Collection: named(f.collection), Embedder: e, Format: parse.Format(f.format),
		Chunk:   chunk.Options{By: chunk.By(f.chunker), Size: f.size, Overlap: f.overlap, Parent: f.parent},
		MaxFile: int64(f.maxFile) << 20, Include: f.include, Exclude: f.exclude, Keep: f.keep, RemoveMissing: f.removeMissing,
		Progress: p.step, Failed: sayOnce(a, p, said), Warned: func(w ingest.Warning) { p.stop(); a.Say("warning: %s: %s", cli.OneCell(w.Path), w.Text) },
	}
}

// run ingests once.
func (f *ingestFlags) run(a *cli.App, cmd *cobra.Command, app *anchor.App, sources []ingest.Source) (ingest.Report, error) {
	e, err := embedderOf(app, f.embedder)
	if err != nil {
		return ingest.Report{}, err
	}
	p := newProgress(a)
	defer p.stop()
	return app.Ingest(cmd.Context(), sources, f.options(a, e, p, map[string]string{}))
}

func reportListing(r ingest.Report) cli.Listing {
	row := func(name string, v any) []string { return []string{name, fmt.Sprint(v)} }
	speed := "-"
	if r.Seconds > 0 && r.Bytes > 0 {
		speed = rate(r.Bytes, r.Added+r.Changed, r.Seconds)
	}
	rows := [][]string{
		row("files", r.Files), row("unchanged", r.Unchanged), row("added", r.Added), row("changed", r.Changed), row("failed", r.Failed),
		row("skipped", r.Skipped), row("removed", r.Removed), row("missing", r.Missing), row("chunks", r.Chunks), row("read", size(r.Bytes)),
		row("time", took(r.Seconds)), row("rate", speed),
	}
	for _, l := range r.Services {
		rows = append(rows, row(strings.TrimSpace(l.Service+" "+cli.OneCell(l.Name)), cli.Usage(l)))
	}
	return cli.Listing{Data: r, Rows: rows}
}
