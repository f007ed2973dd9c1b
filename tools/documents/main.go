// Command documents measures how well anchor-host reads real documents: which share of the words that a reference
// finds it finds too, beside pdftotext for PDF, pandoc for DOCX and w3m for HTML. It has a module of its own, so that
// no peer is in the go.mod of the product.
//
//	go -C tools/documents run . [-data FOLDER] [-sets REGEXP] [-peers] [-v] [-gate] [FOLDER…]
//
// Without folders it fetches packages of registries, which have the documents, into -data. Each document is read in a
// process of its own, so that a crash, the processor time and the memory belong to one document.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// flags are those of the command.
type flags struct {
	data, read           string
	sets                 *regexp.Regexp
	peers, verbose, gate bool
	folders              []string
}

func parseFlags(args []string, stderr io.Writer) (*flags, error) {
	f := &flags{}
	set := flag.NewFlagSet("documents", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&f.data, "data", "build/documents", "folder for what is fetched; what is there is not fetched again")
	sets := set.String("sets", "", "regular expression of the names of the sets to measure; empty means all")
	set.BoolVar(&f.peers, "peers", false, "measure other libraries for PDF too")
	set.BoolVar(&f.verbose, "v", false, "print a line for each document")
	set.BoolVar(&f.gate, "gate", false, "exit with status 1 when a target is missed")
	set.StringVar(&f.read, "read", "", "read one file with an engine, and print its text; the command calls itself with this")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	f.folders = set.Args()
	var err error
	if f.sets, err = regexp.Compile(*sets); err != nil {
		return nil, fmt.Errorf("-sets: %w", err)
	}
	return f, nil
}

// run returns the exit status: 0 for success, 1 for a failure or, with -gate, a missed target, and 2 for invalid flags.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "documents:", err)
		return 2
	}
	if f.read != "" {
		err = readOne(ctx, f.read, f.folders, stdout)
	} else {
		err = measure(ctx, f, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "documents:", err)
		return 1
	}
	return 0
}

// measure measures all sets and prints a line for each and each engine.
func measure(ctx context.Context, f *flags, stdout, stderr io.Writer) error {
	sets, err := setsOf(ctx, f, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, header)
	missed := 0
	for _, s := range sets {
		for _, e := range enginesOf(s.kind, f.peers) {
			r, err := s.measure(ctx, e, f.verbose, stdout)
			if err != nil {
				return fmt.Errorf("set %s: %w", s.name, err)
			}
			fmt.Fprintln(stdout, r.row(s, e))
			if e.name == own && s.target > 0 && r.share() < s.target {
				missed++
			}
		}
	}
	if f.gate && missed > 0 {
		return fmt.Errorf("%d targets missed", missed)
	}
	return nil
}

// folderSets makes a set of each kind of document in a folder.
func folderSets(folder string) ([]set, error) {
	byKind := map[string][]string{}
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if kind := kindOf(path); err == nil && kind != "" && d.Type().IsRegular() {
			byKind[kind] = append(byKind[kind], path)
		}
		return err
	})
	var out []set
	for _, kind := range []string{"pdf", "docx", "html"} {
		if files := byKind[kind]; len(files) > 0 {
			out = append(out, set{name: filepath.Base(folder) + " " + kind, kind: kind, files: files})
		}
	}
	return out, err
}

// kindOf returns the kind of a document by its name, "" for none that is measured.
func kindOf(path string) string {
	switch e := filepath.Ext(path); e {
	case ".pdf", ".PDF":
		return "pdf"
	case ".docx", ".html":
		return e[1:]
	}
	return ""
}
