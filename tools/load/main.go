// Command load starts the service, sends it what a bad day brings, and compares what happens with
// its targets. It has a module of its own, so that the product does not get what it imports.
//
//	go -C tools/load run . [-short] throughput|reloads|soak|kill|tenants|schema
//
// It prints one row for each figure: the figure, its target, and details. If a row misses its
// target, the exit status is 1. With -short it judges what is lost, refused or leaked, but no speed,
// because the speed of a CI machine is not known.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// proofs are what the tool can show, by name.
var proofs = map[string]func(context.Context, *suite) error{
	"throughput": throughput, "reloads": reloads, "soak": soak, "kill": kill, "tenants": tenants, "schema": schema,
}

// suite is one run of the tool.
type suite struct {
	// root is the folder of the repository, command the binary, and plugins the folder of built plugins.
	root, command, plugins string
	// schemathesis is the program that tests the API.
	schemathesis string
	// short judges no speed.
	short bool
	// count is how many reloads, requests or kills there are; 0 means the number of the full form.
	count int
	// over is the time for all reloads, and the length of each measurement of tenants and throughput.
	over time.Duration
	// seed is that of all random choices.
	seed int64
	report
}

func main() {
	if handled := floodAsChild(); handled {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit status: 0 for success, 1 for a failure or a missed target, and 2 for invalid
// arguments.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s := &suite{report: report{out: stdout}}
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.root, "root", "../..", "`folder` of the repository, with build/anchor-host and build/plugins")
	flags.StringVar(&s.schemathesis, "schemathesis", "", "`program` that tests the API, for schema")
	flags.BoolVar(&s.short, "short", false, "judge no speed")
	flags.IntVar(&s.count, "count", 0, "how many reloads, requests or kills, or examples for each operation of schema")
	flags.DurationVar(&s.over, "over", 0, "time for all reloads, or for each measurement")
	flags.Int64Var(&s.seed, "seed", 1, "seed of random choices")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	proof := proofs[flags.Arg(0)]
	if proof == nil || flags.NArg() != 1 || s.count < 0 || s.over < 0 {
		fmt.Fprintf(stderr, "load: want one of %s, and no negative numbers\n", strings.Join(slices.Sorted(maps.Keys(proofs)), ", "))
		return 2
	}
	root, err := filepath.Abs(s.root)
	if err == nil {
		s.root, s.command, s.plugins = root, filepath.Join(root, "build/anchor-host"), filepath.Join(root, "build/plugins")
		err = proof(ctx, s)
	}
	if err != nil {
		fmt.Fprintf(stderr, "load: %s: %v\n", flags.Arg(0), err)
		return 1
	}
	if s.missed > 0 {
		fmt.Fprintf(stderr, "load: %s: %d rows miss their target\n", flags.Arg(0), s.missed)
		return 1
	}
	return 0
}
