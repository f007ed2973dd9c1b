package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// deadline is when hostile functions are stopped.
const deadline = 50 * time.Millisecond

// hostile are functions that never end by themselves: loops and recursions of both
// guests.
var hostile = []struct {
	guest     string
	functions []string
}{
	{"hostile", []string{
		"loop", "nested_loops", "fill_loop", "copy_loop", "grow_loop", "table_loop", "host_loop",
		"recursion_in_width", "recursion_by_table", "recursion_in_depth", "recursion_at_deadline", "wide_recursion_at_deadline",
	}},
	{"echo", []string{"spin", "spin_allocating", "recurse"}},
}

// fullStack are those that may end before they are stopped, when the stack is full.
var fullStack = []string{"recursion_in_depth", "recursion_at_deadline", "wide_recursion_at_deadline"}

// deadlineRows stop each hostile function many times. What is judged is the function
// that is stopped worst.
func (s *suite) deadlineRows() []row {
	return []row{{
		name: "deadline", what: "deadline 50 ms, every hostile loop and recursion: p99 overshoot", state: host.StateReset, lane: laneExtism,
		target: atMost(milliseconds, 5, 1),
		run: func(ctx context.Context) (reading, error) {
			n := pick(s, s.opts.deadlines, min(s.opts.deadlines, 20))
			r := reading{}
			for _, g := range hostile {
				parts, err := s.stopAll(ctx, g.guest, g.functions, n)
				if err != nil {
					return reading{}, err
				}
				r.parts = append(r.parts, parts...)
			}
			worst := r.parts[0]
			for _, p := range r.parts {
				if p.Value > worst.Value {
					worst = p
				}
			}
			r.value, r.detail = worst.Value, fmt.Sprintf("each %d times; worst: %s", n, worst.Name)
			return r, nil
		},
	}}
}

// stopAll stops the functions of one guest.
func (s *suite) stopAll(ctx context.Context, guest string, functions []string, n int) ([]part, error) {
	wasm, err := s.guests.hostile(ctx, guest)
	if err != nil {
		return nil, err
	}
	p, err := s.load(ctx, guest, wasm, nil, host.PluginConfig{State: host.StateReset, Limits: host.Limits{Timeout: deadline}})
	if err != nil {
		return nil, err
	}
	var parts []part
	for _, f := range functions {
		late, err := stop(ctx, p, f, n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		median := quantile(late, 0.5)
		parts = append(parts, part{
			Name: guest + " " + f, Value: float64(quantile(late, 0.99).Nanoseconds()) / 1e6,
			Note: fmt.Sprintf("median %s, worst %s", duration(median), duration(late[len(late)-1])),
		})
		s.progress("  %s: median %s late", f, duration(median))
	}
	return parts, nil
}

// stop calls a function n times and returns how late each call came back.
func stop(ctx context.Context, p ours, function string, n int) ([]time.Duration, error) {
	late := make([]time.Duration, 0, n)
	for range n {
		began := time.Now()
		_, err := p.Call(ctx, function, nil)
		took := time.Since(began)
		if err := stopped(err, function); err != nil {
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

// hostile is a guest with hostile functions.
func (g *guests) hostile(ctx context.Context, name string) ([]byte, error) {
	if name == "echo" {
		return g.goGuest(ctx, "testdata/engine/echo")
	}
	return g.committed(name + ".wasm")
}
