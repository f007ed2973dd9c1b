package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/host"
)

// program is a function of a guest that computes, and a size for which it runs for a few
// milliseconds.
type program struct {
	language, name string
	size           uint64
}

// allPrograms are the programs for measuring the meter. Those in JavaScript have their sizes
// in their source.
var allPrograms = []program{
	{"C", "hash", 256}, {"C", "sort", 30_000}, {"C", "matrix", 160}, {"C", "recursion", 11}, {"C", "search", 256},
	{"Rust", "sort", 50_000}, {"Rust", "tree", 20_000}, {"Rust", "words", 5000}, {"Rust", "json", 3000},
	{"Go", "json", 100}, {"Go", "regex", 300}, {"Go", "sort", 20_000}, {"Go", "map", 50_000}, {"Go", "search", 256},
	{"AssemblyScript", "hash", 512}, {"AssemblyScript", "sort", 10_000}, {"AssemblyScript", "recursion", 27}, {"AssemblyScript", "strings", 3000},
	{javaScript, "recursion", 0}, {javaScript, "sort", 0}, {javaScript, "json", 0}, {javaScript, "regex", 0},
}

const javaScript = "JavaScript"

// programs returns the programs that can be measured on this machine.
func (s *suite) programs() []program {
	if needQuickJS.there(s) {
		return allPrograms
	}
	return slices.DeleteFunc(slices.Clone(allPrograms), func(p program) bool { return p.language == javaScript })
}

// overhead is the cost of metering a program, in percent.
type overhead struct {
	program
	metered, plain timing
}

// percent returns the overhead of the medians.
func (o *overhead) percent() float64 { return percentMore(o.metered.median, o.plain.median) }

func percentMore(a, b time.Duration) float64 { return (float64(a)/float64(b) - 1) * 100 }

// meteringRows run programs on this host, with every limit, and on wazero alone. Both rows
// use the same measurement.
func (s *suite) meteringRows() []row {
	programs := s.programs()
	words := fmt.Sprintf("metering, %d programs", len(programs))
	if len(programs) < len(allPrograms) {
		words = fmt.Sprintf("metering, %d of %d programs", len(programs), len(allPrograms))
	}
	measured := map[string]func() ([]overhead, error){}
	overall := func(name, what string, gate, stretch float64, of func([]float64) float64) row {
		return row{
			name: "metering/" + name, what: what, state: host.StateKeep, lane: laneExtism,
			against: plainWazero, target: atMost(percent, gate, stretch), partly: needQuickJS,
			run: func(ctx context.Context) (reading, error) {
				all, err := s.overheads(ctx, programs, measured)
				if err != nil {
					return reading{}, err
				}
				return overheadReading(all, name == "worst", of), nil
			},
		}
	}
	return []row{
		overall("median", words+": median", 12, 8, func(xs []float64) float64 { return quantile(xs, 0.5) }),
		overall("worst", words+": worst", 45, 25, slices.Max[[]float64]),
	}
}

func overheadReading(all []overhead, listed bool, of func([]float64) float64) reading {
	var r reading
	var values []float64
	var undisturbed []float64
	for i := range all {
		o := &all[i]
		values = append(values, o.percent())
		least := percentMore(o.metered.least, o.plain.least)
		undisturbed = append(undisturbed, least)
		if listed {
			r.parts = append(r.parts, part{o.language + " " + o.name, o.percent(), fmt.Sprintf("%s metered, %s plain; of the least times %s %%",
				duration(o.metered.median), duration(o.plain.median), digits(least))})
		}
	}
	r.detail = fmt.Sprintf("of the least times %s %%", digits(of(undisturbed)))
	r.value = of(values)
	return r
}

// overheads measures the programs, only once in a run of the suite.
func (s *suite) overheads(ctx context.Context, programs []program, measured map[string]func() ([]overhead, error)) ([]overhead, error) {
	if done, ok := measured["all"]; ok {
		return done()
	}
	var all []overhead
	var err error
	for i := range programs {
		var o overhead
		if o, err = s.overhead(ctx, programs[i]); err != nil {
			err = fmt.Errorf("%s %s: %w", programs[i].language, programs[i].name, err)
			break
		}
		s.release()
		s.progress("  %s %s: %s %%", o.language, o.name, digits(o.percent()))
		all = append(all, o)
	}
	measured["all"] = func() ([]overhead, error) { return all, err }
	return all, err
}

// overhead measures one program.
func (s *suite) overhead(ctx context.Context, p program) (overhead, error) {
	wasm, err := s.guests.language(ctx, p.language)
	if err != nil {
		return overhead{}, err
	}
	own, err := s.load(ctx, p.language, wasm, nil, host.PluginConfig{State: host.StateKeep, Limits: host.Limits{Instances: 1}})
	if err != nil {
		return overhead{}, err
	}
	other, err := s.newPlain(ctx, wasm)
	if err != nil {
		return overhead{}, err
	}
	input := binary.LittleEndian.AppendUint64(nil, p.size)
	a, err := own.call(ctx, p.name, input)
	if err != nil {
		return overhead{}, err
	}
	b, err := other.call(ctx, p.name, input)
	if err != nil {
		return overhead{}, err
	}
	if len(a) != 8 || !bytes.Equal(a, b) || bytes.Count(a, []byte{0}) == 8 {
		return overhead{}, fmt.Errorf("answers %x metered and %x plain", a, b)
	}
	t, err := s.inTurns(ctx, programSide(ctx, "metered", own, p.name, input, a), programSide(ctx, plainWazero, other, p.name, input, a))
	if err != nil {
		return overhead{}, err
	}
	return overhead{p, t[0], t[1]}, nil
}

func programSide(ctx context.Context, name string, c caller, function string, input, want []byte) side {
	return side{name, func() error {
		out, err := c.call(ctx, function, input)
		if err == nil && !bytes.Equal(out, want) {
			err = fmt.Errorf("answer %x, want %x", out, want)
		}
		return err
	}}
}

// language returns the module with the programs of a language.
func (g *guests) language(ctx context.Context, name string) ([]byte, error) {
	switch name {
	case "Go":
		return g.goGuest(ctx, "testdata/engine/programs/go")
	case javaScript:
		return g.javaScript(ctx)
	case "C":
		return g.committed("programs.c.wasm")
	case "Rust":
		return g.committed("programs.rust.wasm")
	}
	return g.committed("programs.ts.wasm")
}
