package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/host"
)

// stateRows call a plugin that counts its calls, back to back, so that each finds the
// state after init: on this host in the one instance that is reset after each call, on
// wazero alone in a new instance for each. Both wait for all of it.
func (s *suite) stateRows() []row {
	return []row{{
		name: "clean", what: "clean state per call, stock Go", state: host.StateReset, lane: laneExtism,
		against: "a fresh instance per call (" + plainWazero + ")", target: atLeast(times, 25, 120),
		run: func(ctx context.Context) (reading, error) {
			wasm, err := s.guests.goGuest(ctx, "testdata/engine/echo")
			if err != nil {
				return reading{}, err
			}
			own, err := s.load(ctx, "echo", wasm, nil, host.PluginConfig{State: host.StateReset, Limits: host.Limits{Instances: 1}})
			if err != nil {
				return reading{}, err
			}
			other, err := s.newPlain(ctx, wasm)
			if err != nil {
				return reading{}, err
			}
			t, err := s.inTurns(ctx,
				side{"anchor-host", func() error { return firstCall(ctx, own) }},
				side{plainWazero, func() error {
					if err := other.renew(ctx); err != nil {
						return err
					}
					return firstCall(ctx, other)
				}})
			return s.compared(t, plainWazero, err)
		},
	}}
}

// firstCall calls count, whose answer is 1 and 1 in a clean state.
func firstCall(ctx context.Context, c caller) error {
	out, err := c.call(ctx, "count", nil)
	if err == nil && !bytes.Equal(out, []byte{1, 1}) {
		err = fmt.Errorf("count %d, want 1 and 1: the state is not clean", out)
	}
	return err
}
