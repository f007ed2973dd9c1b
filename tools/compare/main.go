// Command compare runs random builds and agent calls through two binaries of the command
// and reports where their answers differ. It shows that a change of the code changes no
// result.
//
//	go -C tools run ./compare -old FILE -new FILE [-plugins DIR] [-n 10000] [-seed 1]
//	go -C tools run ./compare -old FILE -new FILE -show 4711
//
// With -former the old binary is one from before "config migrate": it is given the keys of that time, and
// the new one what its own "config migrate" makes of them.
//
// The number of a case determines its content. Times and fuel are not compared. The exit
// status is 1 when answers differ. -allow takes a pattern of intended differences, such as a
// changed message.
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
	"runtime"
	"sort"
	"sync"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// options are the flags.
type options struct {
	old, new, plugins string
	count             int
	first             uint64
	show              uint64
	workers           int
	former            bool
	allow             *regexp.Regexp
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.old, "old", "", "the binary to compare with")
	f.StringVar(&o.new, "new", "", "the binary under test")
	f.StringVar(&o.plugins, "plugins", "../build/plugins", "folder of the example plugins; \"\" leaves plugin steps out")
	f.IntVar(&o.count, "n", 10000, "number of cases")
	f.Uint64Var(&o.first, "seed", 1, "number of the first case")
	f.Uint64Var(&o.show, "show", 0, "print this case and both answers, and stop")
	f.IntVar(&o.workers, "workers", runtime.NumCPU(), "cases that run together")
	f.BoolVar(&o.former, "former", false, "the old binary is from before \"config migrate\": it reads the keys of that time")
	allow := f.String("allow", "", "regular expression of differences that are meant")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.old == "" || o.new == "" {
		return nil, errors.New("compare: name both binaries with -old and -new")
	}
	if *allow != "" {
		pattern, err := regexp.Compile(*allow)
		if err != nil {
			return nil, fmt.Errorf("compare: read -allow: %w", err)
		}
		o.allow = pattern
	}
	return o, nil
}

func run(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if o.show != 0 {
		show(ctx, o, stdout)
		return 0
	}
	t := all(ctx, o, stderr)
	t.print(stdout)
	if t.unmeant > 0 || t.cases < o.count {
		return 1
	}
	return 0
}

// tally is the result of all cases.
type tally struct {
	cases, failed, unmeant, meant int
	// numbers are the first cases with each difference, by the difference.
	numbers map[string][]uint64
	counts  map[string]int
	kinds   map[string]int
	// errors counts the errors of the old binary, by message.
	errors map[string]int
}

// all runs the cases, several at a time, and reports its progress on stderr.
func all(ctx context.Context, o *options, stderr io.Writer) *tally {
	t := &tally{numbers: map[string][]uint64{}, counts: map[string]int{}, kinds: map[string]int{}, errors: map[string]int{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	work := make(chan uint64)
	said := time.Now()
	for range o.workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range work {
				c := makeCase(n, o.plugins != "")
				before, after := c.before(ctx, o), c.after(ctx, o)
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				t.add(o, c, before, after)
				if time.Since(said) > 5*time.Second {
					said = time.Now()
					fmt.Fprintf(stderr, "%d of %d cases, %d differ\n", t.cases, o.count, t.unmeant)
				}
				mu.Unlock()
			}
		}()
	}
	for i := range uint64(o.count) {
		select {
		case work <- o.first + i:
		case <-ctx.Done():
		}
	}
	close(work)
	wg.Wait()
	return t
}

// add counts one case.
func (t *tally) add(o *options, c *randomCase, before, after answer) {
	t.cases++
	t.kinds[c.kind]++
	if before.code != 0 {
		t.failed++
		t.errors[short(before.err)]++
	}
	what := difference(before, after)
	if what == "" {
		return
	}
	if o.allow != nil && o.allow.MatchString(what) {
		t.meant++
		return
	}
	t.unmeant++
	t.counts[what]++
	if len(t.numbers[what]) < 5 {
		t.numbers[what] = append(t.numbers[what], c.number)
	}
}

func (t *tally) print(w io.Writer) {
	fmt.Fprintf(w, "%d cases", t.cases)
	for _, kind := range sorted(t.kinds) {
		fmt.Fprintf(w, ", %d of %s", t.kinds[kind], kind)
	}
	fmt.Fprintf(w, "; %d end with an error in the old binary\n", t.failed)
	fmt.Fprintf(w, "%d differ", t.unmeant)
	if t.meant > 0 {
		fmt.Fprintf(w, ", %d more differ where -allow says so", t.meant)
	}
	fmt.Fprintln(w)
	for _, message := range sorted(t.errors) {
		fmt.Fprintf(w, "%6d  the old binary says: %s\n", t.errors[message], message)
	}
	for _, what := range sorted(t.counts) {
		fmt.Fprintf(w, "%6d  %s  (-show %v)\n", t.counts[what], what, t.numbers[what])
	}
}

func sorted(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		if m[keys[i]] != m[keys[j]] {
			return m[keys[i]] > m[keys[j]]
		}
		return keys[i] < keys[j]
	})
	return keys
}

// show prints one case and the answers of both binaries.
func show(ctx context.Context, o *options, w io.Writer) {
	c := makeCase(o.show, o.plugins != "")
	fmt.Fprintf(w, "case %d: %s: %q\n", c.number, c.kind, c.args)
	for _, f := range c.files {
		fmt.Fprintf(w, "== %s\n%s\n", f.name, f.text)
	}
	before, after := c.before(ctx, o), c.after(ctx, o)
	fmt.Fprintf(w, "== old: exit %d\n%s%s\n== new: exit %d\n%s%s\n", before.code, before.out, before.err, after.code, after.out, after.err)
	fmt.Fprintf(w, "== difference: %s\n", difference(before, after))
}
