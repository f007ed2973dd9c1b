package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/anchor-host/anchor-host/host"
)

// enduranceRows run for a long time, each in its own process. They compare the memory at the
// end with that after a few repetitions.
func (s *suite) enduranceRows() []row {
	lasting := func(name, role, what, against string, j job) row {
		return row{
			name: name, what: what, state: host.StateReset, lane: laneExtism, against: against, target: atMost(percent, 5, 0), needs: needMappings,
			run: func(ctx context.Context) (reading, error) {
				use, err := s.child(ctx, role, j)
				if err != nil {
					return reading{}, err
				}
				return reading{
					value: float64(use.Held) / float64(use.Before) * 100,
					detail: fmt.Sprintf("holds %s more; RSS %s, before %s", megabytes(use.Held), megabytes(use.After),
						megabytes(use.Before)),
				}, nil
			},
		}
	}
	return []row{
		lasting("endurance/calls", "calls", "1,000,000 calls, stock Go: growth of the process", "RSS after call 10,000",
			job{Count: pick(s, 1_000_000, 1000), Base: pick(s, 10_000, 500)}),
		lasting("endurance/loads", "loads", "1,000 times load, call, close: growth of the process", "RSS after cycle 20",
			job{Count: pick(s, 1000, 4), Base: pick(s, 20, 2)}),
	}
}

// manyCalls is the job of a child process: calls of one plugin.
func manyCalls(ctx context.Context, j job) (use memoryUse, err error) {
	err = withHost(ctx, j, func(h *host.Host, wasm []byte) error {
		p, err := loadPlugin(ctx, h, "echo", wasm, nil, host.PluginConfig{State: host.StateReset})
		if err != nil {
			return err
		}
		input := text(64)
		return use.over(j, func() error { return echoed(ctx, ours{p}, input) })
	})
	return use, err
}

// manyLoads is the job of a child process: it loads, calls and closes a plugin repeatedly.
func manyLoads(ctx context.Context, j job) (use memoryUse, err error) {
	err = withHost(ctx, j, func(h *host.Host, wasm []byte) error {
		return use.over(j, func() error {
			p, err := loadPlugin(ctx, h, "echo", wasm, nil, host.PluginConfig{State: host.StateReset})
			if err != nil {
				return err
			}
			return errors.Join(echoed(ctx, ours{p}, text(64)), p.Close(ctx))
		})
	})
	return use, err
}

func withHost(ctx context.Context, j job, do func(*host.Host, []byte) error) error {
	wasm, err := (&guests{root: j.Root}).goGuest(ctx, "testdata/engine/echo")
	if err != nil {
		return err
	}
	h, err := host.New(hostConfig(j.Root))
	if err != nil {
		return err
	}
	return errors.Join(do(h, wasm), h.Close(ctx))
}

// over calls do as often as the job says, and reads the memory after the first few times and
// after the last.
func (use *memoryUse) over(j job, do func() error) (err error) {
	var before, after residence
	for i := range j.Count {
		if i == j.Base {
			for range 2 { // the first time loads the code of reading into memory
				if before, err = residentMemory(); err != nil {
					return err
				}
			}
		}
		if err := do(); err != nil {
			return fmt.Errorf("time %d: %w", i+1, err)
		}
	}
	after, err = residentMemory()
	runtime.KeepAlive(do) // keeps the module alive in both measurements
	*use = memoryUse{Before: before.resident, After: after.resident, Held: after.held - before.held}
	return err
}

func echoed(ctx context.Context, p ours, input []byte) error {
	out, err := p.call(ctx, "echo", input)
	if err == nil && !bytes.Equal(out, input) {
		err = fmt.Errorf("echo of %d bytes differs", len(input))
	}
	return err
}
