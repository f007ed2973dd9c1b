package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestVerdicts(t *testing.T) {
	ratio, took := atLeast(times, 20, 40), atMost(milliseconds, 5, 1)
	for _, c := range []struct {
		name   string
		target target
		value  float64
		err    error
		short  bool
		want   string
	}{
		{"above the stretch", ratio, 40, nil, false, verdictStretch},
		{"between", ratio, 39.9, nil, false, verdictPass},
		{"below the gate", ratio, 19.9, nil, false, verdictMiss},
		{"less is better", took, 1, nil, false, verdictStretch},
		{"at the gate", took, 5, nil, false, verdictPass},
		{"too late", took, 5.1, nil, false, verdictMiss},
		{"no stretch figure", atLeast(times, 1, 0), 100, nil, false, verdictPass},
		{"for information", shown(times), 0.1, nil, false, verdictRan},
		{"short", ratio, 1, nil, true, verdictRan},
		{"absent", ratio, 0, fmt.Errorf("%w: no node", errAbsent), false, verdictAbsent},
		{"wrong", ratio, 0, errors.New("other bytes"), true, verdictError},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &report{Short: c.short}
			if l := r.add(&row{target: c.target}, reading{value: c.value}, c.err); l.Verdict != c.want {
				t.Errorf("verdict %q, want %q", l.Verdict, c.want)
			}
		})
	}
}

func TestCounts(t *testing.T) {
	r := &report{Rows: []line{{Verdict: verdictPass}, {Verdict: verdictMiss}, {Verdict: verdictError}, {Verdict: verdictAbsent}, {Verdict: verdictRan}}}
	if failed, absent := r.counts(); failed != 2 || absent != 1 {
		t.Errorf("%d failed and %d absent, want 2 and 1", failed, absent)
	}
}

func TestTable(t *testing.T) {
	r := &report{Go: "go1.x", CPUs: 2, Peers: map[string]string{}, Reset: "reset by copying"}
	r.add(&row{name: "a/b", what: "echo", state: "keep", lane: laneBatch, against: goSDK, target: atLeast(times, 20, 40)},
		reading{value: 31.04, detail: "1 against 31", parts: []part{{"half", 15.5, "of it"}}}, nil)
	var b bytes.Buffer
	r.write(&b)
	for _, want := range []string{"echo  keep   batch  extism/go-sdk  31.0x     ≥ 20x  ≥ 40x    pass", "a/b: 1 against 31", "half", "15.5 x  of it"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

func TestWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		999: "999 ns", 1500: "1.50 µs", 15 * time.Microsecond: "15.0 µs", 1234567: "1.23 ms", 3 * time.Second: "3.00 s",
	} {
		if got := duration(d); got != want {
			t.Errorf("%d ns: %q, want %q", d, got, want)
		}
	}
}

func TestQuantile(t *testing.T) {
	var xs []time.Duration
	for i := range time.Duration(1000) {
		xs = append(xs, 999-i)
	}
	for q, want := range map[float64]time.Duration{0: 0, 0.5: 500, 0.99: 990, 1: 999} {
		if got := quantile(xs, q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		args string
		want int
	}{
		{"-list", 0}, {"-only no-such-row", 1}, {"-short -o json", 2}, {"-o text f", 2}, {"-only (", 2}, {"-deadlines 0", 2}, {"what", 2}, {"-h", 0},
	} {
		var out, msg bytes.Buffer
		if got := run(context.Background(), strings.Fields(c.args), &out, &msg); got != c.want {
			t.Errorf("%s: status %d, want %d: %s", c.args, got, c.want, msg.String())
		}
	}
	o, err := parse([]string{"-o", "json", "report.json", "-short"}, new(bytes.Buffer))
	if err != nil || o.file != "report.json" || !o.short {
		t.Errorf("options %+v, error %v", o, err)
	}
}

// Names are what -only matches, and must be told apart.
func TestRowNames(t *testing.T) {
	s, err := newSuite(t.Context(), &options{root: "../.."}, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	seen := map[string]bool{}
	for _, r := range s.rows() {
		if r.name == "" || r.what == "" || r.state == "" || r.lane == "" || r.run == nil || seen[r.name] {
			t.Errorf("row %+v", r)
		}
		seen[r.name] = true
	}
}
