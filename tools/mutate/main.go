// Command mutate changes the program in small ways, one at a time, and reports which changes
// no test notices: a comparison loses its equality, a statement is gone, an error is not
// returned. It shows what the tests do not hold, which coverage cannot.
//
//	go -C tools run ./mutate [-n NUMBER] [-seed NUMBER] [-fail] [-write] [-o json] [TARGET ...]
//
// A target is a few files and the tests that must notice. Each mutant is built with an overlay,
// so the sources are not touched. One that does not compile does not count, and one whose
// tests take far too long is killed.
//
// floors.json has, for each target, the share of mutants that a run killed, and the mutants that
// survived. -fail holds a run against it. -write enters a run that is not worse, unless it made
// fewer mutants. Mutants that change nothing that a test could see are in equivalent.json, with the
// reason, and are not made.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// target is what is mutated, and which tests must notice. The tests of a further package run
// only for mutants that those before it have not noticed.
type target struct {
	Name  string
	Files []string // of the repository; a folder means its files
	Tests []tests
}

type tests struct{ Package, Run string }

var targets = []target{
	{"fill", []string{"pipeline/fill"}, []tests{{"./pipeline/fill", ""}, {"./pipeline", ""}}},
	{"within", []string{"pipeline/within.go"}, []tests{{"./pipeline", "Partial|Time|Within|Goroutine|Leave|Policy|Panic|Group|Format|Afford|Optional|Bounded"}}},
	{"access", []string{"pipeline/access.go"}, []tests{{"./pipeline", "Access|List|Step|Group|Trace|Copy|Append|Item|Leave|Skipped"}}},
	{"answer", []string{"host/internal/answer"}, []tests{{"./host/internal/answer", ""}}},
	{"lend", []string{"host/lend.go"}, []tests{{"./host", "Nested|Session|Rest|Tenants|TimesOfSteps|Fairness|Closed|Queue|StatsBeside"}}},
}

// result is what became of the mutants of a target.
type result struct {
	Target    string
	Mutants   int // that compile
	Killed    int
	Whole     bool // no sample
	Survivors []survivor
	files     map[string][2]int // made, killed
}

type survivor struct{ Key, Place string }

// share is the share of the mutants that were killed.
func (r *result) share() float64 { return float64(r.Killed) / float64(max(r.Mutants, 1)) }

// floor is what a run of a target has reached.
type floor struct {
	Killed    float64  `json:"killed"`
	Mutants   int      `json:"mutants"`
	Whole     bool     `json:"whole"` // all mutants, no sample
	Survivors []string `json:"survivors"`
}

func (r *result) floor() floor {
	f := floor{float64(int(1000*r.share())) / 1000, r.Mutants, r.Whole, []string{}}
	for _, s := range r.Survivors {
		f.Survivors = append(f.Survivors, s.Key)
	}
	return f
}

// judge returns why a result is worse than the floor, nil if it is not. Chance may make a sample
// worse by twice its standard deviation. After a whole run, a sample has no other survivors.
func (f floor) judge(r *result) error {
	var errs []error
	for _, s := range r.Survivors {
		if f.Whole && !r.Whole && !slices.Contains(f.Survivors, s.Key) {
			errs = append(errs, fmt.Errorf("%s: no test notices %s (write one, or enter it in equivalent.json with the reason)", s.Place, s.Key))
		}
	}
	least := f.Killed
	if !r.Whole {
		least -= 2 * math.Sqrt(least*(1-least)/float64(max(r.Mutants, 1)))
	}
	if r.share() < least-0.001 {
		errs = append(errs, fmt.Errorf("%s: %.1f %% of the mutants are killed, want %.1f %%", r.Target, 100*r.share(), 100*least))
	}
	return errors.Join(errs...)
}

type options struct {
	root   string
	sample int
	seed   uint64
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	flags, o := flag.NewFlagSet("mutate", flag.ContinueOnError), &options{}
	flags.SetOutput(stderr)
	flags.StringVar(&o.root, "root", "..", "`folder` of the repository")
	flags.IntVar(&o.sample, "n", 0, "make `NUMBER` mutants of each target instead of all")
	flags.Uint64Var(&o.seed, "seed", 1, "`NUMBER` that decides which mutants are in a sample")
	format := flags.String("o", "table", "`format` of the report: table or json")
	fail := flags.Bool("fail", false, "exit with status 1 if the result is worse than floors.json")
	write := flags.Bool("write", false, "enter the result in floors.json, unless it is worse or of fewer mutants")
	err := flags.Parse(args)
	if err == nil && *format != "table" && *format != "json" {
		err = errors.New("-o: want table or json")
	}
	if err != nil {
		return err
	}
	if o.root, err = filepath.Abs(o.root); err != nil {
		return err
	}
	floors, equivalent := map[string]floor{}, map[string]string{}
	folder := filepath.Join(o.root, "tools", "mutate")
	if err := errors.Join(read(filepath.Join(folder, "floors.json"), &floors), read(filepath.Join(folder, "equivalent.json"), &equivalent)); err != nil {
		return err
	}
	var results []*result
	var worse []error
	for _, t := range targets {
		if flags.NArg() > 0 && !slices.Contains(flags.Args(), t.Name) {
			continue
		}
		r, err := o.test(t, equivalent, stderr)
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		results, worse = append(results, r), append(worse, floors[t.Name].judge(r))
		if r.Mutants >= floors[t.Name].Mutants || r.Whole {
			floors[t.Name] = r.floor()
		}
	}
	if len(results) == 0 {
		return fmt.Errorf("no target is named %s", strings.Join(flags.Args(), " or "))
	}
	if err := report(stdout, *format, results); err != nil {
		return err
	}
	if err := errors.Join(worse...); err != nil && (*fail || *write) {
		return err
	}
	if !*write {
		return nil
	}
	var data bytes.Buffer
	err = encode(&data, floors)
	return errors.Join(err, os.WriteFile(filepath.Join(folder, "floors.json"), data.Bytes(), 0o644))
}

func read(path string, into any) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err = errors.Join(err, json.Unmarshal(data, into)); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// test makes mutants of a target and runs the tests with each.
func (o *options) test(t target, equivalent map[string]string, log io.Writer) (*result, error) {
	var list []mutant
	for _, name := range t.Files {
		found, err := mutantsOf(o.root, name)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	list = slices.DeleteFunc(list, func(m mutant) bool { return equivalent[m.key] != "" })
	if len(list) == 0 {
		return nil, errors.New("nothing to change")
	}
	limits, err := limits(o.root, t.Tests)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	r := &result{Target: t.Name, Whole: o.sample == 0, Survivors: []survivor{}, files: map[string][2]int{}}
	if !r.Whole {
		random := rand.New(rand.NewPCG(o.seed, 0))
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	for i := 0; i < len(list) && (r.Whole || r.Mutants < o.sample); i++ {
		m, counts := &list[i], r.files[list[i].file]
		switch what, err := try(o.root, dir, m, t.Tests, limits); {
		case err != nil:
			return nil, err
		case what == broken:
			continue
		case what == killed:
			counts[1], r.Killed = counts[1]+1, r.Killed+1
		default:
			r.Survivors = append(r.Survivors, survivor{m.key, fmt.Sprintf("%s:%d", m.file, m.line)})
		}
		counts[0], r.Mutants = counts[0]+1, r.Mutants+1
		r.files[m.file] = counts
		fmt.Fprintf(log, "%s: %d of %d tried, %d mutants, %d killed\r", t.Name, i+1, len(list), r.Mutants, r.Killed)
	}
	fmt.Fprintln(log)
	slices.SortFunc(r.Survivors, func(a, b survivor) int { return cmp.Compare(a.Key, b.Key) })
	return r, nil
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func report(w io.Writer, format string, results []*result) error {
	if format == "json" {
		return encode(w, results)
	}
	fmt.Fprintf(w, "%-40s%10s%10s%10s\n", "file", "mutants", "killed", "share")
	for _, r := range results {
		for _, file := range slices.Sorted(maps.Keys(r.files)) {
			made, killed := r.files[file][0], r.files[file][1]
			fmt.Fprintf(w, "%-40s%10d%10d%9.0f%%\n", file, made, killed, 100*float64(killed)/float64(made))
		}
		fmt.Fprintf(w, "%-40s%10d%10d%9.1f%%\n", "target "+r.Target, r.Mutants, r.Killed, 100*r.share())
		for _, s := range r.Survivors {
			fmt.Fprintf(w, "  survives %s: %s\n", s.Place, s.Key)
		}
	}
	return nil
}
