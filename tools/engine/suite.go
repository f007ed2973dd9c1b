package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/host"
)

// suite is one run.
type suite struct {
	opts   *options
	stderr io.Writer
	tmp    string
	host   *host.Host
	guests *guests
	// compiled is the cache of machine code for peers. This host has one as well.
	compiled wazero.CompilationCache
	// opened is closed after each row, in reverse order.
	opened []func()
}

// row is a line of the table: the work that is measured, its state and lane, and its target.
type row struct {
	name, what string
	state      host.State
	lane       string
	against    string
	target     target
	// needs is the requirement of the row, and partly that of a part of it. nil means that
	// a clone with Go is enough.
	needs, partly *need
	run           func(ctx context.Context) (reading, error)
}

// reading is the result of measuring a row.
type reading struct {
	value float64
	// detail describes the result, for example the two times of a ratio.
	detail string
	// parts are the figures of which value is the median or the worst.
	parts []part
}

// part is one of several figures behind a row.
type part struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Note  string  `json:"note,omitempty"`
}

// errAbsent marks a row that cannot be measured on this machine.
var errAbsent = errors.New("not measured")

func newSuite(ctx context.Context, o *options, stderr io.Writer) (*suite, error) {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return nil, err
	}
	o.root = root
	if o.binary == "" {
		o.binary = filepath.Join(root, "build", "anchor-host")
	}
	tmp, err := os.MkdirTemp("", "anchor-engine-")
	if err != nil {
		return nil, err
	}
	s := &suite{opts: o, stderr: stderr, tmp: tmp, guests: &guests{root: root}}
	s.host, err = host.New(hostConfig(root))
	if err == nil {
		s.compiled, err = wazero.NewCompilationCacheWithDir(filepath.Join(root, "build", "engine", "cache-peers"))
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(tmp))
	}
	return s, nil
}

func (s *suite) close() {
	s.release()
	if err := errors.Join(s.host.Close(context.Background()), s.compiled.Close(context.Background()), os.RemoveAll(s.tmp)); err != nil {
		s.progress("clean up: %v", err)
	}
}

// peerConfig returns the configuration of wazero for peers.
func (s *suite) peerConfig() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfigCompiler().WithCompilationCache(s.compiled)
}

// rows lists all rows, in the order of the table.
func (s *suite) rows() []row {
	return slices.Concat(
		s.echoRows(), s.laneRows(), s.byteRows(), s.subprocessRows(), s.stepRows(), s.meteringRows(),
		s.stateRows(), s.instanceRows(), s.scalingRows(), s.deadlineRows(), s.collectorRows(),
		s.enduranceRows(), s.startRows(),
	)
}

// selected returns the rows that the flags select.
func (s *suite) selected() []row {
	return slices.DeleteFunc(s.rows(), func(r row) bool { return s.opts.only != nil && !s.opts.only.MatchString(r.name) })
}

// measureAll first reports the rows that it cannot measure, and then measures the others. It
// continues after a row that fails.
func (s *suite) measureAll(ctx context.Context, rows []row) *report {
	s.announce(rows)
	rep := newReport(ctx, s.opts.short)
	for i := range rows {
		r := &rows[i]
		if ctx.Err() != nil {
			break
		}
		if err := r.needs.absent(s); err != nil {
			rep.add(r, reading{}, err)
			continue
		}
		s.progress("%s ...", r.name)
		began := time.Now()
		got, err := s.profiled(r.name, func() (reading, error) { return r.run(ctx) })
		s.release()
		line := rep.add(r, got, err)
		s.progress("%s: %s %s (%s)", r.name, line.Figure, line.Verdict, time.Since(began).Round(time.Millisecond))
	}
	rep.end()
	return rep
}

// profiled runs f, under the profiler if the flags ask for it. The profile includes both
// sides of a comparison.
func (s *suite) profiled(name string, f func() (reading, error)) (reading, error) {
	if s.opts.profiles == "" {
		return f()
	}
	if err := os.MkdirAll(s.opts.profiles, 0o755); err != nil {
		return reading{}, err
	}
	file, err := os.Create(filepath.Join(s.opts.profiles, strings.ReplaceAll(name, "/", "-")+".prof"))
	if err != nil {
		return reading{}, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return reading{}, errors.Join(err, file.Close())
	}
	got, err := f()
	pprof.StopCPUProfile()
	return got, errors.Join(err, file.Close())
}

// later registers f to be called after the row is measured.
func (s *suite) later(f func()) { s.opened = append(s.opened, f) }

func (s *suite) release() {
	for i := len(s.opened) - 1; i >= 0; i-- {
		s.opened[i]()
	}
	s.opened = nil
	runtime.GC()
}

func (s *suite) progress(format string, args ...any) {
	fmt.Fprintf(s.stderr, "engine: "+format+"\n", args...)
}

// pick returns long, or short with -short.
func pick[T any](s *suite, long, short T) T {
	if s.opts.short {
		return short
	}
	return long
}

// ratio returns a reading of how many times slower the other side is.
func ratio(ours, other timing, peer string) reading {
	return reading{
		value: float64(other.median) / float64(max(1, ours.median)),
		detail: fmt.Sprintf("%s against %s (%s); least %s against %s, %sx", duration(ours.median), duration(other.median), peer,
			duration(ours.least), duration(other.least), digits(float64(other.least)/float64(max(1, ours.least)))),
	}
}

// duration formats a time with three digits.
func duration(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < time.Millisecond:
		return digits(float64(d)/float64(time.Microsecond)) + " µs"
	case d < time.Second:
		return digits(float64(d)/float64(time.Millisecond)) + " ms"
	}
	return digits(d.Seconds()) + " s"
}

// digits formats a number with three digits, and with all digits of its integer part.
func digits(x float64) string {
	switch {
	case x >= 100 || x <= -100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10 || x <= -10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}
