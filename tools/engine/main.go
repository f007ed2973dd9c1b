// Command engine compares the engine of anchor-host with its peers in one run: other plugin
// hosts, plain wazero, and a subprocess. It has a module of its own, so that no peer is in
// the go.mod of the product.
//
//	go -C tools/engine run . [-short] [-only REGEXP] [-o json FILE] [-profiles DIR] [-list]
//
// It prints one row for each target: the measured state and lane, the figure, the gate, and
// the stretch figure. If a gate is missed, the exit status is 1. If something cannot be
// measured, because a toolchain is missing for example, the program says so at the start and
// names the remedy; it still judges the other rows. With -short every row runs once, for at
// most a minute, and no figure is judged: a failure then is an error, not a slow result.
//
// The two sides of a comparison run alternately, so that other work on the machine affects
// both. Figures are medians. Before the program measures, both sides must give the same
// answer. Progress goes to stderr.
package main

import (
	"context"
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
	if handled, status := serveRole(ctx); handled {
		os.Exit(status)
	}
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags.
type options struct {
	short  bool
	list   bool
	only   *regexp.Regexp
	json   bool
	file   string
	root   string
	binary string
	// profiles is a folder for profiles, "" for none.
	profiles string
	// deadlines is how often each hostile function is stopped.
	deadlines int
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("engine", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.short, "short", false, "run every row once, and judge no figure")
	flags.BoolVar(&o.list, "list", false, "list the rows and measure nothing")
	flags.Func("only", "measure the rows whose name matches `regexp`", func(s string) (err error) {
		o.only, err = regexp.Compile(s)
		return err
	})
	flags.Func("o", "write a report too: `json` FILE", func(format string) error {
		if o.json = format == "json"; !o.json {
			return errors.New("want json")
		}
		return nil
	})
	flags.StringVar(&o.root, "root", "../..", "folder of the repository")
	flags.StringVar(&o.binary, "binary", "", "the command anchor-host (default: build/anchor-host of the repository)")
	flags.StringVar(&o.profiles, "profiles", "", "write a CPU profile of each row into this `folder`")
	flags.IntVar(&o.deadlines, "deadlines", 1000, "how often each hostile function is stopped")
	rest, err := parseAround(flags, args, o)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 || o.deadlines < 1 || o.json && o.file == "" {
		err := errors.New("want no arguments, -o json FILE, and -deadlines of 1 or more")
		fmt.Fprintln(stderr, "engine:", err)
		return nil, err
	}
	return o, nil
}

// run returns the exit status: 0 for success, 1 for a failure, a missed gate or a run that
// measured nothing, and 2 for invalid flags.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	s, err := newSuite(ctx, o, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "engine:", err)
		return 1
	}
	defer s.close()
	if o.list {
		for _, r := range s.rows() {
			fmt.Fprintf(stdout, "%-28s %s\n", r.name, r.what)
		}
		return 0
	}
	report := s.measureAll(ctx, s.selected())
	report.write(stdout)
	if o.json {
		if err := report.writeJSON(o.file); err != nil {
			fmt.Fprintln(stderr, "engine:", err)
			return 1
		}
	}
	failed, absent := report.counts()
	if failed+absent > 0 {
		fmt.Fprintf(stderr, "engine: of %d rows %d missed their gate or failed, and %d could not be measured\n", len(report.Rows), failed, absent)
	}
	if failed > 0 || absent == len(report.Rows) {
		return 1
	}
	return 0
}
