package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/host"
)

// byteRows call a plugin in C that stores 650,000 bytes one by one.
func (s *suite) byteRows() []row {
	return []row{{
		name: "bytes", what: "650,000 byte stores, C", state: host.StateKeep, lane: laneExtism,
		against: goSDK + " with timeout", target: atLeast(times, 1000, 0),
		run: func(ctx context.Context) (reading, error) {
			wasm, err := s.guests.committed("bytes.c.wasm")
			if err != nil {
				return reading{}, err
			}
			own, err := s.load(ctx, "bytes", wasm, nil, host.PluginConfig{State: host.StateKeep})
			if err != nil {
				return reading{}, err
			}
			// The peer's default of two seconds would not do: one call takes longer.
			compiled, err := s.compileSDK(ctx, wasm, 60_000)
			if err != nil {
				return reading{}, err
			}
			peer, err := sdkInstance(ctx, compiled)
			if err != nil {
				return reading{}, err
			}
			t, err := s.inTurns(ctx, storesSide(ctx, "anchor-host", own), storesSide(ctx, goSDK, peer))
			return s.compared(t, goSDK, err)
		},
	}}
}

// storesSide holds the answer to the last byte that was stored.
func storesSide(ctx context.Context, name string, c caller) side {
	last := 649_999*7 + 3
	want := []byte{byte(last), 0, 0, 0, 0, 0, 0, 0}
	return side{name, func() error {
		out, err := c.call(ctx, "stores", nil)
		if err == nil && !bytes.Equal(out, want) {
			err = fmt.Errorf("last byte %v, want %v", out, want)
		}
		return err
	}}
}
