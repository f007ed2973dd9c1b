package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// deadline is the time after which hostile functions are stopped.
const deadline = 50 * time.Millisecond

// hostile are functions that never end by themselves: loops and recursions of each
// guest.
var hostile = []hostileGuest{
	{name: "hostile", functions: []string{
		"loop", "nested_loops", "fill_loop", "copy_loop", "grow_loop", "table_loop", "host_loop",
		"recursion_in_width", "recursion_by_table", "recursion_in_depth", "recursion_at_deadline", "wide_recursion_at_deadline",
	}},
	{name: "echo", functions: []string{"spin", "spin_allocating", "recurse"}},
	{name: "jumps", functions: []string{"br_table_loop", "tail_recursion"}, fewer: true},
	{name: "circle-a", links: []string{"a", "b"}, functions: []string{"circle_loop"}, fewer: true},
}

type hostileGuest struct {
	name      string
	functions []string
	// links are the names under which the guest imports from circle-a and circle-b.
	links []string
	// fewer makes its functions share the number of tries with other guests, because they
	// are stopped in the same way.
	fewer bool
}

// sharers is the number of guests that share the tries of one.
const sharers = 6

// fullStack are the functions that may end before they are stopped, when the stack is full.
var fullStack = []string{"recursion_in_depth", "recursion_at_deadline", "wide_recursion_at_deadline"}

// deadlineRows stop each hostile function many times, and also loads of guests that hang. The
// function that is stopped latest decides.
func (s *suite) deadlineRows() []row {
	n := pick(s, s.opts.deadlines, min(s.opts.deadlines, 20))
	return []row{{
		name: "deadline", what: "deadline 50 ms, every hostile loop and recursion: p99 overshoot", state: host.StateReset, lane: laneExtism,
		target: atMost(milliseconds, 5, 1),
		run: func(ctx context.Context) (reading, error) {
			var parts []part
			for i := range hostile {
				more, err := s.stopAll(ctx, &hostile[i], n)
				if err != nil {
					return reading{}, err
				}
				parts = append(parts, more...)
			}
			return worst(parts, fmt.Sprintf("each %d times, the last three %d times", n, fewer(n))), nil
		},
	}, {
		name: "deadline/load", what: "init timeout 50 ms, loops while a guest is loaded: p99 overshoot of the load", state: host.StateReset, lane: laneExtism,
		target: atMost(milliseconds, 5, 1),
		run: func(ctx context.Context) (reading, error) {
			parts, err := s.stopLoads(ctx, fewer(n))
			if err != nil {
				return reading{}, err
			}
			return worst(parts, fmt.Sprintf("each %d times", fewer(n))), nil
		},
	}}
}

// worst returns a reading in which the worst part decides.
func worst(parts []part, detail string) reading {
	most := slices.MaxFunc(parts, func(a, b part) int { return cmp.Compare(a.Value, b.Value) })
	return reading{value: most.Value, detail: detail + "; worst: " + most.Name, parts: parts}
}

// fewer returns how often to stop each function if sharers share n tries.
func fewer(n int) int { return (n + sharers - 1) / sharers }

// stopAll stops the functions of one guest, each n times or fewer.
func (s *suite) stopAll(ctx context.Context, g *hostileGuest, n int) ([]part, error) {
	wasm, err := s.guests.hostile(ctx, g.name)
	if err != nil {
		return nil, err
	}
	cfg := host.PluginConfig{State: host.StateReset, Limits: host.Limits{Timeout: deadline}}
	for _, name := range g.links {
		link, err := s.guests.link(ctx, name)
		if err != nil {
			return nil, err
		}
		cfg.Links = append(cfg.Links, link)
	}
	p, err := s.load(ctx, g.name, wasm, nil, cfg)
	if err != nil {
		return nil, err
	}
	if g.fewer {
		n = fewer(n)
	}
	var parts []part
	for _, f := range g.functions {
		late, err := stop(n, func() error {
			_, err := p.Call(ctx, f, nil)
			return stopped(err, f)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		parts = append(parts, s.lateness(g.name+" "+f, late))
	}
	return parts, nil
}

// lateness returns the figure of one function.
func (s *suite) lateness(name string, late []time.Duration) part {
	median := quantile(late, 0.5)
	s.progress("  %s: median %s late", name, duration(median))
	return part{
		Name: name, Value: float64(quantile(late, 0.99).Nanoseconds()) / 1e6,
		Note: fmt.Sprintf("median %s, worst %s", duration(median), duration(late[len(late)-1])),
	}
}

// stop calls hang n times and returns by how much each call ended too late.
func stop(n int, hang func() error) ([]time.Duration, error) {
	late := make([]time.Duration, 0, n)
	for range n {
		took, err := timed(hang)
		if err != nil {
			return nil, err
		}
		late = append(late, max(0, took-deadline))
		idle(resetPause)
	}
	return late, nil
}

// stopped checks that a call ended because of its deadline.
func stopped(err error, function string) error {
	var failed *host.PluginError
	switch {
	case errors.As(err, &failed) && failed.Code == abi.ReasonTimeout && errors.Is(err, context.DeadlineExceeded):
		return nil
	case slices.Contains(fullStack, function) && failed != nil && failed.Code == abi.ReasonTrap:
		return nil
	}
	return fmt.Errorf("ended with %w, want a timeout", err)
}

// hostile returns a guest with hostile functions.
func (g *guests) hostile(ctx context.Context, name string) ([]byte, error) {
	if name == "echo" {
		return g.goGuest(ctx, "testdata/engine/echo")
	}
	return g.committed(name + ".wasm")
}

// link returns half of a circle, under the name by which the other half imports from it.
func (g *guests) link(ctx context.Context, name string) (host.Link, error) {
	wasm, err := g.hostile(ctx, "circle-"+name)
	if err != nil {
		return host.Link{}, err
	}
	spec, err := spec.Read(name, wasm, nil)
	return host.Link{Name: name, Spec: spec}, err
}
