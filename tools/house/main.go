// Command house reports how large the repository's Go packages are and what they
// export: lines, files, exported symbols, doc comments, the type with the most methods, the longest
// function, and files that use each other in a circle. Tests are not counted.
//
//	go -C tools run ./house [-root DIR] [-only REGEXP] [-max-lines N] [-max-files N] [-cycles] [-fail] [-o json]
//
// It marks packages that are too large. With -fail the exit status is then 1. With -cycles it
// lists only the files that use each other in a circle, and which names they use.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// options are the flags.
type options struct {
	root     string
	only     *regexp.Regexp
	maxLines int
	maxFiles int
	cycles   bool
	fail     bool
	json     bool
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("house", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.root, "root", "..", "`folder` of the repository")
	flags.Func("only", "report the packages whose folder matches `regexp`", func(s string) (err error) {
		o.only, err = regexp.Compile(s)
		return err
	})
	flags.IntVar(&o.maxLines, "max-lines", 5000, "mark packages with more lines than `N`")
	flags.IntVar(&o.maxFiles, "max-files", 30, "mark packages with more files than `N`")
	flags.BoolVar(&o.cycles, "cycles", false, "list only the files that use each other in a circle, and which names they use")
	flags.BoolVar(&o.fail, "fail", false, "exit with status 1 if a package is too large")
	flags.Func("o", "`format` of the report: json; a table without it", func(s string) error {
		if o.json = s == "json"; !o.json {
			return errors.New("want json")
		}
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		err := errors.New("arguments: want none (to narrow the report use -only REGEXP)")
		fmt.Fprintln(stderr, "house:", err)
		return nil, err
	}
	return o, nil
}

// run returns the exit status: 0 for success, 1 for a repository that cannot be read or, with
// -fail, has packages that are too large, and 2 for invalid flags.
func run(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	packages, err := readPackages(o.root, o.only)
	if err == nil && len(packages) == 0 {
		err = fmt.Errorf("packages: none in %s that -only matches", o.root)
	}
	if err != nil {
		fmt.Fprintln(stderr, "house:", err)
		return 1
	}
	r := newReport(packages, o.maxLines, o.maxFiles)
	switch {
	case o.json:
		err = r.writeJSON(stdout)
	case o.cycles:
		err = r.writeCycles(stdout)
	default:
		err = r.writeTable(stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "house: write the report:", err)
		return 1
	}
	if o.fail {
		return r.judge(stderr)
	}
	return 0
}
