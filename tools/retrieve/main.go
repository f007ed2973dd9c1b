// Command retrieve measures the indexes of anchor-host beside bleve, SQLite's FTS5 and chromem-go: how good their
// answers are, and what ingestion and a query cost. It has a module of its own, so that no peer is in the go.mod of the
// product.
//
//	go -C tools/retrieve run . [-table FOLDER] [-runs 3] [-sets REGEXP] [-short] [-json] [-gate]
//
// Each measurement is a process of its own with one processor. The engines alternate, so that other work on the machine
// affects all of them. A figure is the median of its runs. A missed target is exit status 1 only with -gate.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// flags are those of the command.
type flags struct {
	data, table       string
	runs              int
	short, json, gate bool
	only              *regexp.Regexp
	job               string
}

func parse(args []string, stderr io.Writer) (*flags, error) {
	f := &flags{}
	set := flag.NewFlagSet("retrieve", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&f.data, "data", os.Getenv("ANCHOR_DATA_DIR"), "folder with the sets scifact and cranfield in BEIR's form; empty leaves out the quality (default ANCHOR_DATA_DIR)")
	set.StringVar(&f.table, "table", os.Getenv("ANCHOR_STATIC"), "folder with table.safetensors and tokenizer.json, as testdata/demo/table.sh makes it; empty means the table of the program (default ANCHOR_STATIC)")
	only := set.String("sets", "", "regular expression of the names of the sets to measure; empty means all")
	set.IntVar(&f.runs, "runs", 3, "processes for each engine and set")
	set.BoolVar(&f.short, "short", false, "everything once and small, in seconds: shows that it works, judges no figure")
	set.BoolVar(&f.json, "json", false, "print JSON instead of a table")
	set.BoolVar(&f.gate, "gate", false, "exit with status 1 when a target is missed")
	set.StringVar(&f.job, "job", "", "measure one job, given as JSON; the command calls itself with this")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if set.NArg() > 0 || f.runs < 1 {
		return nil, errors.New("want no arguments, and -runs of 1 or more")
	}
	var err error
	if f.only, err = regexp.Compile(*only); err != nil {
		return nil, fmt.Errorf("-sets: %w", err)
	}
	if f.short {
		f.runs = 1
	}
	return f, nil
}

// run returns the exit status: 0 for success, 1 for a failure or, with -gate, a missed target, and 2 for invalid flags.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "retrieve:", err)
		return 2
	}
	if f.job != "" {
		err = runJob(ctx, f.job, stdout)
	} else {
		err = compare(ctx, f, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "retrieve:", err)
		return 1
	}
	return 0
}

// compare measures everything and prints the report.
func compare(ctx context.Context, f *flags, stdout, stderr io.Writer) error {
	r := &report{Short: f.short}
	for _, set := range setsOf(f, stderr) {
		s, err := measureSet(ctx, f, set, stderr)
		if err != nil {
			return fmt.Errorf("set %s: %w", set, err)
		}
		r.Sets = append(r.Sets, *s)
	}
	if !f.short {
		r.judge()
	}
	var err error
	if f.json {
		out := json.NewEncoder(stdout)
		out.SetIndent("", "  ")
		err = out.Encode(r)
	} else {
		err = r.write(stdout)
	}
	if err == nil && f.gate && r.missed() > 0 {
		err = fmt.Errorf("%d targets missed", r.missed())
	}
	return err
}
