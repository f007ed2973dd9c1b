// Command cluster runs hosts on one PostgreSQL, lets clients use them through a balancer, breaks what can break,
// and judges what the clients saw.
//
//	go -C tools/cluster run . [-short] demo|faults|restore|throughput|simulate
//
// It starts everything itself, in a temporary folder and on ports of this machine, and leaves nothing behind.
// The exit status is 1 if anything acknowledged was lost or doubled, or another row misses its target.
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
	"syscall"
	"time"
)

// proofs are what the tool can show.
var proofs = map[string]func(context.Context, *suite) error{"demo": demo, "faults": faults, "throughput": throughput, "simulate": simulation, "restore": restored}

// suite is one run.
type suite struct {
	out         io.Writer
	dir         string
	command     string
	old, skewed string
	short       bool
	verbose     bool
	seed        uint64
	share       float64
	missed      int
	settings    []string // of PostgreSQL
	env         []string // of hosts

	database *database
	hosts    []*host
	balancer *balancer
	clients  *clients
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s := &suite{out: stdout}
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.command, "command", "../../build/anchor-host", "the `program` of the hosts")
	flags.StringVar(&s.old, "old", "", "`program` of an older version, which runs on the same database")
	flags.StringVar(&s.skewed, "skewed", "", "`program` whose clock is an hour ahead; skewed.sh builds it")
	flags.BoolVar(&s.short, "short", false, "fewer faults, and no speed is judged")
	flags.BoolVar(&s.verbose, "v", false, "print why requests were refused")
	flags.Float64Var(&s.share, "share", defaultShare, "part of a core that each host gets, for throughput")
	flags.Uint64Var(&s.seed, "seed", 1, "seed of random choices")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	proof := proofs[flags.Arg(0)]
	if proof == nil || flags.NArg() != 1 {
		fmt.Fprintf(stderr, "cluster: want one of %s\n", strings.Join(slices.Sorted(maps.Keys(proofs)), ", "))
		return 2
	}
	begin := time.Now()
	err := s.prepare(ctx)
	if err == nil {
		err = proof(ctx, s)
	}
	s.end()
	if err != nil {
		fmt.Fprintf(stderr, "cluster: %s: %v\n", flags.Arg(0), err)
		return 1
	}
	fmt.Fprintf(stdout, "\n%s in all", time.Since(begin).Round(time.Second))
	if s.missed > 0 {
		fmt.Fprintf(stdout, "; %d rows miss their target\n", s.missed)
		return 1
	}
	fmt.Fprintln(stdout, "; every row meets its target")
	return 0
}

// prepare makes the folder and finds the programs.
func (s *suite) prepare(ctx context.Context) (err error) {
	if s.command, err = filepath.Abs(s.command); err != nil {
		return err
	}
	if _, err := os.Stat(s.command); err != nil {
		return fmt.Errorf("%w (make build builds it)", err)
	}
	if s.dir, err = os.MkdirTemp("", "anchor-cluster-"); err != nil {
		return err
	}
	return os.Chmod(s.dir, 0o755) // for the user of PostgreSQL
}

// up starts a database and hosts.
func (s *suite) up(ctx context.Context, hosts int, data string) (err error) {
	if s.database, err = newDatabase(ctx, data); err != nil {
		return err
	}
	s.database.settings = s.settings
	if err := s.database.start(ctx); err != nil {
		return err
	}
	if _, err := s.database.sql(ctx, "postgres", "CREATE DATABASE anchor"); err != nil {
		return err
	}
	keys, err := makeKeys(ctx, s.command, s.dir)
	if err != nil {
		return err
	}
	for i := range hosts {
		h, err := newHost(s.command, s.dir, string(rune('a'+i)), s.database)
		if err != nil {
			return err
		}
		h.env = s.env
		s.hosts = append(s.hosts, h)
		if err := h.start(ctx); err != nil {
			return err
		}
	}
	if s.balancer, err = newBalancer(s.hosts); err != nil {
		return err
	}
	s.clients = newClients(s.balancer.url(), keys, s.seed)
	return nil
}

// end ends all processes and removes all files.
func (s *suite) end() {
	if s.balancer != nil {
		s.balancer.close()
	}
	for _, h := range s.hosts {
		if h.cmd != nil && h.cmd.Process != nil {
			h.kill()
		}
		h.wire.close()
	}
	if s.database != nil && s.database.running() {
		s.database.signal(syscall.SIGCONT)
		s.database.kill()
	}
	unmount(s.dir)
	if s.dir != "" {
		if err := os.RemoveAll(s.dir); err != nil {
			fmt.Fprintln(s.out, "cluster: files are left:", err)
		}
	}
}

// row prints a figure and its target.
func (s *suite) row(name, figure, target string, ok bool, details string, args ...any) {
	verdict := "ok"
	if !ok {
		verdict = "MISSED"
		s.missed++
	}
	fmt.Fprintf(s.out, "%-42s %12s  %-16s %-6s  %s\n", name, figure, target, verdict, fmt.Sprintf(details, args...))
}

// shown prints a figure that is not judged.
func (s *suite) shown(name, figure, details string, args ...any) {
	fmt.Fprintf(s.out, "%-42s %12s  %-16s %-6s  %s\n", name, figure, "", "-", fmt.Sprintf(details, args...))
}

// say prints a line.
func (s *suite) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// phase lets something happen and prints what the clients saw meanwhile.
func (s *suite) phase(name string, f func() error) error {
	s.clients.take()
	begin := time.Now()
	if err := f(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	t := s.clients.take()
	s.shown(name, fmt.Sprintf("%.0f/s", float64(t.done)/time.Since(begin).Seconds()), "p50 %.1f ms, p99 %.0f ms; %d refused, %d unknown, %d conflicts; nothing done for %.1f s at most",
		ms(percentile(t.times, 0.5)), ms(percentile(t.times, 0.99)), t.refused, t.unknown, t.conflicts, t.gap.Seconds())
	for why, n := range t.why {
		if s.verbose {
			s.say("    %d × %s", n, why)
		}
	}
	if t.untold > 0 {
		s.row(name+": refusals without Retry-After", fmt.Sprint(t.untold), "0", false, "")
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// judged prints the verdict on all that the clients did.
func (s *suite) judged(ctx context.Context) error {
	v, err := s.clients.finish(ctx)
	if err != nil {
		return err
	}
	s.say("")
	s.row("faults in the history", fmt.Sprint(len(v.faults)), "0", len(v.faults) == 0,
		"%d operations on %d conversations and runs, %d acknowledged writes, %d outcomes unknown; checked in %.1f s", v.operations, v.logs, v.acknowledged, v.unknown, v.took.Seconds())
	for _, f := range v.faults {
		s.say("    %s", f)
	}
	others := 0
	for text, n := range s.clients.others {
		others += n
		s.say("    %d × %s", n, text)
	}
	size, err := s.database.sql(ctx, "anchor", "SELECT count(*) || ' records, ' || pg_total_relation_size('anchor.records') / greatest(count(*), 1) || ' bytes each with indexes' FROM anchor.records")
	if err == nil {
		s.shown("the database has", "", "%s", size)
	}
	s.row("answers that no fault excuses", fmt.Sprint(others), "0", others == 0, "statuses other than success, 409, 502, 503, 504 and 507")
	return nil
}
