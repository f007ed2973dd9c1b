package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"time"

	"github.com/anchor-host/anchor-host/host"
)

// collectorRows collect garbage while a guest computes. On wazero alone a collection waits
// until the guest returns.
func (s *suite) collectorRows() []row {
	return []row{{
		name: "collector", what: "runtime.GC while a guest loops", state: host.StateReset, lane: laneExtism,
		target: atMost(milliseconds, 20, 2),
		run: func(ctx context.Context) (reading, error) {
			ours, err := s.collections(ctx)
			if err != nil {
				return reading{}, err
			}
			guest, waited, err := s.plainCollection(ctx)
			if err != nil {
				return reading{}, err
			}
			median := quantile(ours, 0.5)
			return reading{
				value: float64(median.Nanoseconds()) / 1e6,
				detail: fmt.Sprintf("worst of %d: %s; on %s %s, in a guest that runs %s",
					len(ours), duration(ours[len(ours)-1]), plainWazero, duration(waited), duration(guest)),
			}, nil
		},
	}}
}

// collections returns the times of collections while an endless loop runs.
func (s *suite) collections(ctx context.Context) ([]time.Duration, error) {
	wasm, err := s.guests.hostile(ctx, "hostile")
	if err != nil {
		return nil, err
	}
	p, err := s.load(ctx, "hostile", wasm, nil, host.PluginConfig{State: host.StateReset, Limits: host.Limits{Timeout: holdTime, Fuel: 1 << 60}})
	if err != nil {
		return nil, err
	}
	looping, end := context.WithCancel(ctx)
	defer end()
	ended := make(chan error, 1)
	go func() {
		_, err := p.Call(looping, "loop", nil)
		ended <- err
	}()
	var took []time.Duration
	for range pick(s, 200, 10) {
		time.Sleep(5 * time.Millisecond) // the guest is in its loop again
		t, _ := timed(func() error { runtime.GC(); return nil })
		took = append(took, t)
	}
	select {
	case err := <-ended:
		return nil, fmt.Errorf("the loop ended before it was cancelled: %w", err)
	default:
	}
	end()
	<-ended
	return took, nil
}

// plainCollection returns how long a collection takes that begins while a guest runs on
// wazero alone, and how long the guest runs.
func (s *suite) plainCollection(ctx context.Context) (guest, waited time.Duration, err error) {
	wasm, err := s.guests.committed("programs.c.wasm")
	if err != nil {
		return 0, 0, err
	}
	p, err := s.newPlain(ctx, wasm)
	if err != nil {
		return 0, 0, err
	}
	ended := make(chan error, 1)
	go func() {
		var err error
		guest, err = timed(func() error {
			_, err := p.call(ctx, "recursion", binary.LittleEndian.AppendUint64(nil, 14))
			return err
		})
		ended <- err
	}()
	time.Sleep(10 * time.Millisecond)
	waited, _ = timed(func() error { runtime.GC(); return nil })
	err = <-ended
	return guest, waited, err
}
