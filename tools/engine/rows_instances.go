package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/anchor-host/anchor-host/host"
)

// instanceRows measure further instances of a plugin, after its image was made.
func (s *suite) instanceRows() []row {
	return []row{{
		name: "instance/time", what: "next instance and first call, stock Go", state: host.StateKeep, lane: laneExtism,
		against: goSDK + " instance and first call", target: atLeast(times, 6, 20), needs: needPeers,
		run: s.nextInstance,
	}, {
		name: "instance/memory", what: "private memory of an instance in its first call", state: host.StateReset, lane: laneExtism,
		target: atMost(kibibytes, 300, 0), needs: needMappings,
		run: func(ctx context.Context) (reading, error) {
			n := pick(s, 64, 9)
			use, err := s.child(ctx, "instances", job{Count: n})
			if err != nil {
				return reading{}, err
			}
			return reading{
				value:  float64(use.After-use.Before) / float64(n-1) / (1 << 10),
				detail: fmt.Sprintf("%d instances more take %s, %s of it Go heap and stacks", n-1, megabytes(use.After-use.Before), megabytes(use.Heap)),
			}, nil
		},
	}}
}

// nextInstance calls a plugin whose instances are all busy with calls that do not end, so
// that the call needs another instance.
func (s *suite) nextInstance(ctx context.Context) (reading, error) {
	n := pick(s, 60, 5)
	held := newHolders()
	h, err := host.New(held.config(s.opts.root))
	if err != nil {
		return reading{}, err
	}
	s.later(func() { _ = h.Close(context.Background()) }) // its plugin is closed before it
	own, err := s.loadSteps(ctx, h, host.PluginConfig{State: host.StateKeep, Limits: host.Limits{Instances: n + 1, Timeout: holdTime}})
	if err != nil {
		return reading{}, err
	}
	defer held.release()
	wasm, _, err := s.guests.steps(ctx)
	if err != nil {
		return reading{}, err
	}
	compiled, err := s.compileSDK(ctx, wasm, sdkTimeout)
	if err != nil {
		return reading{}, err
	}
	var ownTimes, sdkTimes []time.Duration
	for range n {
		if err := held.hold(ctx, own); err != nil {
			return reading{}, err
		}
		took, err := timed(func() error { _, err := own.call(ctx, "noop", nil); return err })
		if err != nil {
			return reading{}, err
		}
		ownTimes = append(ownTimes, took)
		if took, err = timedSDK(ctx, func() (sdkPlugin, error) { return sdkInstance(ctx, compiled) }); err != nil {
			return reading{}, err
		}
		sdkTimes = append(sdkTimes, took)
	}
	return s.compared(timings([][]time.Duration{ownTimes, sdkTimes}), goSDK, nil)
}

// timedSDK measures making an instance of the peer and its first call, and closes it.
func timedSDK(ctx context.Context, instance func() (sdkPlugin, error)) (time.Duration, error) {
	var p sdkPlugin
	took, err := timed(func() (err error) {
		if p, err = instance(); err != nil {
			return err
		}
		_, err = p.call(ctx, "noop", nil)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", goSDK, err)
	}
	return took, p.Close(ctx)
}

func timed(f func() error) (time.Duration, error) {
	began := time.Now()
	err := f()
	return time.Since(began), err
}

// holdTime is longer than any row takes.
const holdTime = 10 * time.Minute

// holders are calls that keep instances busy until they are released.
type holders struct {
	began chan struct{}
	ended chan error
	ctx   context.Context
	end   context.CancelFunc
	n     int
}

func newHolders() *holders {
	h := &holders{began: make(chan struct{}, 1), ended: make(chan error, 1)}
	h.ctx, h.end = context.WithCancel(context.Background())
	return h
}

// config returns a configuration with which the host reports that a guest keeps its instance.
func (h *holders) config(root string) host.Config {
	cfg := hostConfig(root)
	cfg.Logger = slog.New(holdingLog{h.began})
	return cfg
}

// hold makes an idle instance of the plugin, or a new one, busy.
func (h *holders) hold(ctx context.Context, p ours) error {
	h.n++
	go func() {
		_, err := p.Call(h.ctx, "hold", nil)
		h.ended <- err
	}()
	select {
	case <-h.began:
		return nil
	case err := <-h.ended:
		h.n--
		return fmt.Errorf("a call that was to hold its instance ended: %w", err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release ends the calls.
func (h *holders) release() {
	h.end()
	for ; h.n > 0; h.n-- {
		<-h.ended
	}
}

// holdingLog is a log handler that waits for one message.
type holdingLog struct{ began chan<- struct{} }

// Enabled implements slog.Handler.
func (holdingLog) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

// Handle implements slog.Handler.
func (l holdingLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "holding" {
		l.began <- struct{}{}
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (l holdingLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l holdingLog) WithGroup(string) slog.Handler { return l }

// manyInstances is the job of a child process. It reports its private memory with one
// instance of a plugin and with many, each in its first call.
func manyInstances(ctx context.Context, j job) (use memoryUse, err error) {
	held := newHolders()
	h, err := host.New(held.config(j.Root))
	if err != nil {
		return use, err
	}
	defer func() {
		held.release()
		err = errors.Join(err, h.Close(ctx))
	}()
	wasm, manifest, err := (&guests{root: j.Root}).steps(ctx)
	if err != nil {
		return use, err
	}
	p, err := loadPlugin(ctx, h, "steps", wasm, manifest, host.PluginConfig{
		State: host.StateReset, Limits: host.Limits{Instances: j.Count, Timeout: holdTime},
	})
	if err != nil {
		return use, err
	}
	wasm, manifest = nil, nil //nolint:ineffassign // lets go of the module before memory is measured
	if err := held.hold(ctx, ours{p}); err != nil {
		return use, err
	}
	if use.Before, err = privateMemory(); err != nil {
		return use, err
	}
	heap := goMemory()
	for range j.Count - 1 {
		if err := held.hold(ctx, ours{p}); err != nil {
			return use, err
		}
	}
	use.After, err = privateMemory()
	use.Heap = goMemory() - heap
	return use, err
}
