package main

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/anchor-host/anchor-host/host"
)

// byteRows call a plugin in C that stores 650,000 bytes one by one, as the first plugin kits
// of Extism did.
func (s *suite) byteRows() []row {
	return []row{{
		name: "bytes", what: "650,000 byte stores, C", state: host.StateKeep, lane: laneExtism,
		against: goSDK + " with timeout", target: atLeast(times, 500, 0), needs: needPeers, run: s.byteStores,
	}}
}

func (s *suite) byteStores(ctx context.Context) (reading, error) {
	wasm, err := s.guests.committed("bytes.c.wasm")
	if err != nil {
		return reading{}, err
	}
	own, err := s.load(ctx, "bytes", wasm, nil, host.PluginConfig{State: host.StateKeep})
	if err != nil {
		return reading{}, err
	}
	// The peer's default of two seconds is too short for one call.
	compiled, err := s.compileSDK(ctx, wasm, 60_000)
	if err != nil {
		return reading{}, err
	}
	peer, err := sdkInstance(ctx, compiled)
	if err != nil {
		return reading{}, err
	}
	n := pick(s, 650_000, 10_000)
	t, err := s.inTurns(ctx, storesSide(ctx, "anchor-host", own, n), storesSide(ctx, goSDK, peer, n))
	return s.compared(t, goSDK, err)
}

// storesSide stores n bytes, and checks the last of them in the answer.
func storesSide(ctx context.Context, name string, c caller, n int) side {
	input := binary.LittleEndian.AppendUint64(nil, uint64(n))
	want := byte((n-1)*7 + 3)
	return side{name, func() error {
		out, err := c.call(ctx, "stores", input)
		if err == nil && (len(out) != 8 || binary.LittleEndian.Uint64(out) != uint64(want)) {
			err = fmt.Errorf("last byte %x, want %x", out, want)
		}
		return err
	}}
}
