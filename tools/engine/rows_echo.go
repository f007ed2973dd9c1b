package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/host"
)

// goSDK is the name of extism/go-sdk in rows.
const goSDK = "extism/go-sdk"

// sdkTimeout is the timeout of the peer, equal to the default of this host. With a timeout,
// wazero stops modules when the context ends; without one nothing stops a guest.
const sdkTimeout = 2000

// The names of lanes in rows.
const (
	laneExtism = "Extism imports"
	laneBatch  = "batch"
	laneJSON   = "JSON"
)

// resetPause is the time for resetting instances between two calls. It is many times the time
// of a reset.
const resetPause = 500 * time.Microsecond

// echoSize is a size of input, with the gates of both states.
type echoSize struct {
	name                string
	bytes               int
	keepGate, keepAim   float64
	resetGate, resetAim float64
}

var echoSizes = []echoSize{
	{"64B", 64, 20, 40, 2, 5},
	{"4KiB", 4 << 10, 12, 22, 6, 0},
	{"64KiB", 64 << 10, 12, 26, 10, 0},
	{"1MiB", 1 << 20, 12, 27, 10, 0},
}

// echoRows pass an input through a plugin in stock Go and back, with the imports of Extism,
// on this host and on the peer. Both enforce their limits.
func (s *suite) echoRows() []row {
	var rows []row
	for _, size := range echoSizes {
		rows = append(rows, row{
			name: "echo/keep/" + size.name, what: "echo " + size.name + ", stock Go", state: host.StateKeep, lane: laneExtism,
			against: goSDK + " with timeout", target: atLeast(times, size.keepGate, size.keepAim), needs: needPeers,
			run: func(ctx context.Context) (reading, error) {
				a, b, err := s.echoSides(ctx, host.StateKeep, size.bytes)
				if err != nil {
					return reading{}, err
				}
				t, err := s.inTurns(ctx, a, b)
				return s.compared(t, goSDK, err)
			},
		})
	}
	for _, size := range echoSizes {
		rows = append(rows, row{
			name: "echo/reset/" + size.name, what: "echo " + size.name + ", stock Go, waited", state: host.StateReset, lane: laneExtism,
			against: goSDK + " with timeout", target: atLeast(times, size.resetGate, size.resetAim), needs: needPeers,
			run: func(ctx context.Context) (reading, error) {
				a, b, err := s.echoSides(ctx, host.StateReset, size.bytes)
				if err != nil {
					return reading{}, err
				}
				t, err := s.waited(ctx, resetPause, a, b)
				return s.compared(t, goSDK, err)
			},
		})
	}
	return rows
}

func (s *suite) echoSides(ctx context.Context, state host.State, size int) (a, b side, err error) {
	wasm, err := s.guests.goGuest(ctx, "testdata/engine/echo")
	if err != nil {
		return a, b, err
	}
	own, err := s.load(ctx, "echo", wasm, nil, host.PluginConfig{State: state})
	if err != nil {
		return a, b, err
	}
	peer, err := s.loadSDK(ctx, wasm)
	if err != nil {
		return a, b, err
	}
	if a, err = echoSide(ctx, "anchor-host", own, size); err == nil {
		b, err = echoSide(ctx, goSDK, peer, size)
	}
	return a, b, err
}

// echoSide calls echo. It compares the whole output once, and its length in each call.
func echoSide(ctx context.Context, name string, c caller, size int) (side, error) {
	input := text(size)
	out, err := c.call(ctx, "echo", input)
	if err != nil {
		return side{}, fmt.Errorf("%s: %w", name, err)
	}
	if !bytes.Equal(out, input) {
		return side{}, fmt.Errorf("%s: echo of %d bytes is %d bytes that differ", name, size, len(out))
	}
	return side{name, func() error {
		out, err := c.call(ctx, "echo", input)
		if err == nil && len(out) != size {
			err = fmt.Errorf("echo of %d bytes has %d", size, len(out))
		}
		return err
	}}, nil
}

// compared returns the reading of two sides that were measured alternately, this host first.
func (s *suite) compared(t []timing, peer string, err error) (reading, error) {
	if err != nil {
		return reading{}, err
	}
	return ratio(t[0], t[1], peer), nil
}

// text returns n bytes of English.
func text(n int) []byte {
	const sentence = "the window of a model holds what retrieval found and memory kept. "
	return []byte(strings.Repeat(sentence, n/len(sentence)+1)[:n])
}
