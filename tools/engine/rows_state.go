package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/host"
)

// stateRows call a plugin that counts its calls. Each call must find the state after init. On
// this host the only instance is reset after each call; on wazero alone each call has a new
// instance. The times include the reset or the new instance.
func (s *suite) stateRows() []row {
	const against = "a fresh instance per call (" + plainWazero + ")"
	return []row{{
		name: "clean", what: "clean state per call, stock Go", state: host.StateReset, lane: laneExtism,
		against: against, target: atLeast(times, 25, 120),
		run: func(ctx context.Context) (reading, error) { return s.cleanCalls(ctx, s.host) },
	}, {
		name: "clean/copy", what: "the same where nothing tracks what a call writes", state: host.StateReset, lane: laneExtism,
		against: against, target: shown(times),
		run: func(ctx context.Context) (reading, error) {
			h, err := s.portableHost(ctx)
			if err != nil {
				return reading{}, err
			}
			return s.cleanCalls(ctx, h)
		},
	}}
}

// portableHost returns a host as it is on systems without special support. Memories are
// slices, and a reset compares the whole memory with the image and copies the differences.
func (s *suite) portableHost(ctx context.Context) (*host.Host, error) {
	cfg := hostConfig(s.opts.root)
	cfg.Portable = true
	h, err := host.New(cfg)
	if err != nil {
		return nil, err
	}
	s.later(func() { _ = h.Close(context.Background()) }) // its plugin is closed before it
	return h, nil
}

// cleanCalls compares calls that find a clean state on a host with calls in new instances.
func (s *suite) cleanCalls(ctx context.Context, h *host.Host) (reading, error) {
	wasm, err := s.guests.goGuest(ctx, "testdata/engine/echo")
	if err != nil {
		return reading{}, err
	}
	own, err := s.loadOn(ctx, h, "echo", wasm, nil, host.PluginConfig{State: host.StateReset, Limits: host.Limits{Instances: 1}})
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
}

// firstCall calls count, which returns 1 and 1 in a clean state.
func firstCall(ctx context.Context, c caller) error {
	out, err := c.call(ctx, "count", nil)
	if err == nil && !bytes.Equal(out, []byte{1, 1}) {
		err = fmt.Errorf("count %d, want 1 and 1: the state is not clean", out)
	}
	return err
}
