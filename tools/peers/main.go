// Command peers measures the cost of a build in anchor-host's pipeline and in its peers, in
// one run: the same six steps that do nothing, over the same items. It has a module of its
// own, so that no peer is in the go.mod of the product.
//
//	go -C tools/peers run . [-turns 9] [-o table|json] [-gate]
//
// Cases run alternately, a few short rounds each, so that other work on the machine affects
// all of them. A figure is the median of its rounds. A missed target is exit status 1 only
// with -gate.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit status: 0 for success, 1 for a failure or, with -gate, a missed
// target, and 2 for invalid flags.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	turns := flags.Int("turns", 9, fmt.Sprintf("turns of each case, %d rounds of about %v each", roundsPerTurn, roundTime))
	format := flags.String("o", "table", "output: table or json")
	gate := flags.Bool("gate", false, "exit with status 1 when a target is missed")
	dir := flags.String("js", ".", "folder of bench.mjs")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 || *turns < 1 || *format != "table" && *format != "json" {
		fmt.Fprintln(stderr, "peers: want no arguments, -turns of 1 or more, and -o table or json")
		return 2
	}
	report, err := measureAll(ctx, *turns, *dir, stderr)
	if err == nil {
		err = report.write(stdout, *format)
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "peers:", err)
		return 1
	case *gate && report.missed() > 0:
		fmt.Fprintf(stderr, "peers: %d targets missed\n", report.missed())
		return 1
	}
	return 0
}

// measureAll runs every case.
func measureAll(ctx context.Context, turns int, dir string, stderr io.Writer) (*Report, error) {
	cases, err := hostCases()
	if err != nil {
		return nil, err
	}
	eino, err := einoCase(ctx)
	if err != nil {
		return nil, err
	}
	cases = append(cases, eino)
	js, version, err := startLangChain(ctx, dir, stderr)
	switch {
	case errors.Is(err, errNoNode) && os.Getenv("CI") == "":
		fmt.Fprintf(stderr, "peers: LangChain JS skipped: %v\n", err)
		cases = append(cases, benchCase{key: keyLangChain, skipped: err.Error()})
	case err != nil:
		return nil, fmt.Errorf("langchain: %w", err)
	default:
		defer js.close()
		cases = append(cases, benchCase{key: keyLangChain, round: js.round})
	}
	before := loadAverage()
	figures, err := measure(ctx, cases, turns)
	if err != nil {
		return nil, err
	}
	return newReport(figures, cases, machine{version: version, rounds: turns * roundsPerTurn, before: before, after: loadAverage()}), nil
}
