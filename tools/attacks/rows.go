package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"
)

// row is a line of the table: an attack and its limit.
type row struct {
	name, what string
	unit       string
	gate       float64
	// short is the limit in a short run: 0 for the same, notJudged for none.
	short float64
	run   func(ctx context.Context) (reading, error)
}

const notJudged = -1

// reading is the result of a row: the figure, and details line by line.
type reading struct {
	value   float64
	details []string
	// failed describes a failure, which counts whatever the figure is, and skipped why there is no
	// figure here.
	failed, skipped string
}

// add takes the figure of one case, of which the worst counts. Its details are listed with those of
// others, or only if it is the worst.
func (r *reading) add(value float64, details string, list bool) {
	switch {
	case list:
		r.details = append(r.details, details)
	case value > r.value:
		r.details = []string{details}
	}
	r.value = max(r.value, value)
}

// suite is one run.
type suite struct {
	root   string
	short  bool
	only   *regexp.Regexp
	stderr io.Writer
	// swept are the largest accepted modules, by kind of bomb. fairly are the figures of
	// fairness, nil before they were measured.
	swept  map[string]sweep
	fairly *outcome
	// timed are the results of loads with a deadline, by kind of bomb.
	timed map[string]outcome

	// dir is for what commands write, group the control group in which they run, "" for none.
	dir, group string
	// What follows was made or measured for one row and serves others: keys of tenants, bodies of
	// requests, answers by the size of the request, and peaks of the service by flood.
	keys    map[string]string
	bodies  map[string][]byte
	answers map[int][]answered
	peaks   map[string]int64
	uploads []document
	read    map[int][]read
	pulls   map[int][]pulled
}

func (s *suite) rows() []row {
	const mebibyte, seconds = " MiB", " s"
	rows := []row{}
	for i, a := range answers {
		if s.short && i > 0 && a.name != "items" {
			continue
		}
		rows = append(rows, row{"answer/" + a.name, "peak of a build with " + a.what, mebibyte, 200, 0, s.answerRow(i)})
	}
	rows = append(rows,
		row{"load/peak", "peak of the worst module that is accepted", mebibyte, 500, 0, s.worstPeak},
		row{"load/time", "time of the worst module that is accepted, of 5 s or 1.3 s for each MiB", "x", 1, notJudged, s.worstTime},
		row{"load/deadline", "Load with a deadline of 1 s returns after", seconds, 1.1, notJudged, s.deadlines(func(o outcome) time.Duration { return o.Took })},
		row{"load/neighbour", "a small plugin's Load beside the worst one takes", seconds, 1, notJudged, s.deadlines(func(o outcome) time.Duration { return o.Other })},
		row{"call/peak", "peak of four calls that nest as deep as they can", mebibyte, 320, 0, s.deepPeak},
		row{"call/time", "the last of them, with 1 s each, returns after", seconds, 1.5, notJudged, s.deepTime},
		row{"burst", "after a burst of another plugin, Load and a call take", seconds, 1, notJudged, s.burstRow},
		row{"fair/p99", "p99 of a good plugin beside hostile callers, of that beside honest ones", "x", 3, notJudged, s.fairLatency},
		row{"fair/throughput", "its builds alone, of those beside hostile callers", "x", 2.5, notJudged, s.fairThroughput},
	)
	return slices.Concat(rows, s.serviceRows(), s.ingestRows(), s.registryRows())
}

// measure runs the rows and prints them. It returns how many failed.
func (s *suite) measure(ctx context.Context, out io.Writer) (failures int) {
	for _, r := range s.rows() {
		if s.only != nil && !s.only.MatchString(r.name) || ctx.Err() != nil {
			continue
		}
		got, err := r.run(ctx)
		verdict, gate := "pass", r.gate
		if s.short && r.short > 0 {
			gate = r.short
		}
		switch {
		case err != nil:
			verdict, failures = "ERROR: "+err.Error(), failures+1
		case got.skipped != "":
			verdict = "NOT MEASURED: " + got.skipped
		case got.failed != "":
			verdict, failures = "FAIL: "+got.failed, failures+1
		case s.short && r.short == notJudged:
			verdict = "not judged"
		case got.value > gate:
			verdict, failures = "MISS", failures+1
		}
		fmt.Fprintf(out, "%-22s %-66s %8.4g%s (at most %g%s)  %s\n", r.name, r.what, got.value, r.unit, gate, r.unit, verdict)
		for _, d := range got.details {
			fmt.Fprintf(out, "    %s\n", d)
		}
	}
	return failures
}

func (s *suite) answerRow(i int) func(context.Context) (reading, error) {
	return func(ctx context.Context) (reading, error) {
		o, err := attack(ctx, job{Role: "answer", Root: s.root, N: i})
		return reading{value: float64(o.Peak) / (1 << 20), details: []string{o.words()}}, err
	}
}

// words formats an outcome.
func (o outcome) words() string {
	text := fmt.Sprintf("%s, peak %s", short(o.Took), mebibytes(o.Peak))
	if o.Other > 0 {
		text += fmt.Sprintf(", the other %s", short(o.Other))
	}
	if o.Killed != "" {
		return text + ", " + o.Killed
	}
	if o.Error != "" {
		text += fmt.Sprintf(", %.160s", o.Error)
	}
	return text
}

// sweep is the result for a kind of bomb: the worst module that was accepted, and the last
// one that was tried.
type sweep struct {
	bomb        bomb
	time, peak  outcome
	timeN       int
	peakN       int
	most, least int // accepted, refused; 0 for none
	last        int
}

// A sweep stops at these limits, because larger modules would only take longer.
const (
	enoughTime = 8 * time.Second
	enoughPeak = 700 << 20
)

// worst finds the worst accepted module of every kind. It doubles the size until the host
// refuses a module, and then bisects. Each size runs in its own process. A short run tries
// one size of some kinds.
func (s *suite) worst(ctx context.Context, role string, shapes []bomb) ([]sweep, error) {
	var out []sweep
	for _, b := range shapes {
		if s.short && b.short == 0 {
			continue
		}
		w, ok := s.swept[b.name]
		if !ok {
			var err error
			if w, err = s.sweep(ctx, role, b); err != nil {
				return nil, err
			}
			s.swept[b.name] = w
			fmt.Fprintf(s.stderr, "attacks: %-22s accepted %d %s, refused %d; %s\n", b.name, w.most, b.what, w.least, w.time.words())
		}
		out = append(out, w)
	}
	return out, nil
}

func (s *suite) sweep(ctx context.Context, role string, b bomb) (w sweep, err error) {
	w.bomb = b
	n := b.from
	if s.short {
		n = b.short
	}
	for tries := 0; tries < 24; tries++ {
		o, err := attack(ctx, job{Role: role, Root: s.root, Bomb: b.name, N: n, Deadline: time.Second})
		if err != nil {
			return w, err
		}
		w.last = n
		if o.Refused { // the time of refusing counts as well
			w.least = n
		} else {
			w.most = n
		}
		if w.timeN == 0 || o.Took > w.time.Took {
			w.time, w.timeN = o, n
		}
		if w.peakN == 0 || o.Peak > w.peak.Peak {
			w.peak, w.peakN = o, n
		}
		enough := o.Killed != "" || o.Took > enoughTime || o.Peak > enoughPeak
		switch {
		case s.short || enough || w.most == b.most:
			return w, nil
		case w.least == 0:
			n = min(2*n, b.most)
		case w.least-w.most <= max(1, w.least/8):
			return w, nil
		default:
			n = (w.most + w.least) / 2
		}
	}
	return w, nil
}

func (s *suite) worstPeak(ctx context.Context) (reading, error) { return s.peakOf(ctx, "load", bombs) }
func (s *suite) deepPeak(ctx context.Context) (reading, error)  { return s.peakOf(ctx, "call", deep) }
func (s *suite) deepTime(ctx context.Context) (reading, error)  { return s.timeOf(ctx, "call", deep) }

// worstTime compares the time of each kind with the limit for its size, because compiling
// takes longer for larger modules.
func (s *suite) worstTime(ctx context.Context) (r reading, err error) {
	all, err := s.worst(ctx, "load", bombs)
	for _, w := range all {
		size := float64(len(w.bomb.build(w.timeN))) / (1 << 20)
		r.value = max(r.value, w.time.Took.Seconds()/max(5, 1.3*size))
		r.details = append(r.details, fmt.Sprintf("%-22s %7d %s, %.1f MiB: %s", w.bomb.name, w.timeN, w.bomb.what, size, w.time.words()))
	}
	return r, err
}

func (s *suite) peakOf(ctx context.Context, role string, shapes []bomb) (r reading, err error) {
	all, err := s.worst(ctx, role, shapes)
	for _, w := range all {
		r.value = max(r.value, float64(w.peak.Peak)/(1<<20))
		r.details = append(r.details, fmt.Sprintf("%-22s %7d %s: %s", w.bomb.name, w.peakN, w.bomb.what, w.peak.words()))
	}
	return r, err
}

func (s *suite) timeOf(ctx context.Context, role string, shapes []bomb) (r reading, err error) {
	all, err := s.worst(ctx, role, shapes)
	for _, w := range all {
		r.value = max(r.value, w.time.Took.Seconds())
		r.details = append(r.details, fmt.Sprintf("%-22s %7d %s: %s", w.bomb.name, w.timeN, w.bomb.what, w.time.words()))
	}
	return r, err
}

// deadlines loads the worst module of each kind with a deadline of a second.
func (s *suite) deadlines(figure func(outcome) time.Duration) func(context.Context) (reading, error) {
	return func(ctx context.Context) (r reading, err error) {
		all, err := s.worst(ctx, "load", bombs)
		if err != nil {
			return r, err
		}
		for _, w := range all {
			if w.time.Took < 500*time.Millisecond && !s.short {
				continue // it ended before the deadline
			}
			o, ok := s.timed[w.bomb.name]
			if !ok {
				if o, err = attack(ctx, job{Role: "deadline", Root: s.root, Bomb: w.bomb.name, N: w.timeN, Deadline: time.Second}); err != nil {
					return r, err
				}
				s.timed[w.bomb.name] = o
			}
			r.value = max(r.value, figure(o).Seconds())
			r.details = append(r.details, fmt.Sprintf("%-22s %7d %s: %s", w.bomb.name, w.timeN, w.bomb.what, o.words()))
		}
		return r, nil
	}
}

func (s *suite) burstRow(ctx context.Context) (reading, error) {
	o, err := attack(ctx, job{Role: "burst", Root: s.root})
	return reading{value: o.Took.Seconds(), details: []string{o.words()}, failed: o.Error}, err
}

// fairRow returns a figure of fairness. It measures on two processors, once for all rows.
func (s *suite) fairRow(ctx context.Context, figure func(*fairFigures) float64) (reading, error) {
	if s.fairly == nil {
		length := 20 * time.Second
		if s.short {
			length = 2 * time.Second
		}
		o, err := attack(ctx, job{Role: "fair", Root: s.root, Length: length}, "GOMAXPROCS=2")
		if err != nil {
			return reading{}, err
		}
		s.fairly = &o
	}
	f := s.fairly.Fair
	if f == nil {
		return reading{failed: s.fairly.Killed}, nil
	}
	return reading{value: figure(f), details: []string{
		"alone:          " + f.Alone.String(),
		fmt.Sprintf("beside honest:  %s; the honest %.0f/s", f.Honest, f.Honests),
		fmt.Sprintf("beside hostile: %s; the hostile %.0f/s", f.Hostile, f.Hostiles),
		"alone again:    " + f.Again.String(),
	}, failed: s.fairly.Error}, nil
}

func (s *suite) fairLatency(ctx context.Context) (reading, error) {
	return s.fairRow(ctx, func(f *fairFigures) float64 { return float64(f.Hostile.P99) / float64(max(1, f.Honest.P99)) })
}

func (s *suite) fairThroughput(ctx context.Context) (reading, error) {
	return s.fairRow(ctx, func(f *fairFigures) float64 { return f.Alone.PerSecond / max(1, f.Hostile.PerSecond) })
}
