// Command attacks runs hostile plugins on a host, and hostile requests, files and registries
// against the command, and judges the effects. It has a module of its own, so that the product does
// not get its dependencies.
//
//	go -C tools/attacks run . [-short] [-only REGEXP]
//	go -C tools/attacks run . -soak 10m [-only REGEXP]
//
// It prints one row for each attack: the figure, its limit, and details. Each attack runs in
// a child process. The tool measures the memory of the child and kills it before it exhausts
// the machine. If a row exceeds its limit, the exit status is 1. With -short some attacks
// run once with a size that is known to be harmful, for two minutes, and times are not judged or
// have larger limits.
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
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if handled, status := serve(ctx); handled {
		os.Exit(status)
	}
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit status: 0 for success, 1 for a failure or an exceeded limit, and 2 for
// invalid flags.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s := &suite{stderr: stderr, swept: map[string]sweep{}, timed: map[string]outcome{}, bodies: map[string][]byte{}, answers: map[int][]answered{}, peaks: map[string]int64{}, read: map[int][]read{}, pulls: map[int][]pulled{}}
	var length time.Duration
	flags := flag.NewFlagSet("attacks", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&s.short, "short", false, "run some attacks once, and judge times generously or not at all")
	flags.StringVar(&s.root, "root", "../..", "folder of the repository")
	flags.DurationVar(&length, "soak", 0, "soak for so `long` instead")
	flags.Func("only", "run the rows, or soak with the bad plugins, whose name matches `regexp`", func(text string) (err error) {
		s.only, err = regexp.Compile(text)
		return err
	})
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0 || length < 0:
		fmt.Fprintln(stderr, "attacks: want no arguments, and -soak of a second or more")
		return 2
	}
	root, err := filepath.Abs(s.root)
	if err != nil {
		fmt.Fprintln(stderr, "attacks:", err)
		return 1
	}
	s.root = root
	if length > 0 {
		if err := soak(ctx, root, length, s.only, stdout); err != nil {
			fmt.Fprintln(stderr, "attacks: soak:", err)
			return 1
		}
		return 0
	}
	defer s.prepare()()
	if n := s.measure(ctx, stdout); n > 0 {
		fmt.Fprintf(stderr, "attacks: %d rows failed\n", n)
		return 1
	}
	return 0
}
