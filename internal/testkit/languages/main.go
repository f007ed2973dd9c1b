package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/anchor-host/anchor-host/internal/authoring"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "languages: %v\n", err)
		os.Exit(1)
	}
}

var errUsage = errors.New(`usage: languages build|test [-lang go,rust,…] [-write] [-short]`)

func run(ctx context.Context, args []string, out, messages io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	o := options{CI: os.Getenv("CI") != ""}
	flags := flag.NewFlagSet("languages", flag.ContinueOnError)
	flags.SetOutput(messages)
	names := flags.String("lang", "", "languages, separated by commas (default: all)")
	flags.StringVar(&o.Out, "out", "build/languages", "folder of the built modules")
	flags.BoolVar(&o.Write, "write", false, "write the table into the README instead of printing it")
	flags.StringVar(&o.README, "readme", "docs/languages/README.md", "the page with the table")
	flags.BoolVar(&o.Short, "short", false, "make fewer calls in the conformance kit")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if *names != "" {
		o.Languages = strings.Split(*names, ",")
	}
	for _, name := range o.Languages {
		if _, err := authoring.Lookup(name); err != nil {
			return err
		}
	}
	switch args[0] {
	case "build":
		return buildAll(ctx, &o, out, messages)
	case "test":
		return testAll(ctx, &o, out)
	}
	return errUsage
}
