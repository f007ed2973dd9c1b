package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
)

// laneRows echo in the SDK's own lane: a whole step of a build, one item whose text the
// guest gives back as a new text, but for its first byte. The peer moves the same bytes through the imports of
// Extism, the only way it has.
func (s *suite) laneRows() []row {
	const size = 1 << 20
	return []row{{
		name: "lane/1MiB", what: "echo 1MiB, stock Go, whole step", state: host.StateKeep, lane: laneBatch,
		against: goSDK + " with timeout", target: atLeast(times, 100, 200),
		run: func(ctx context.Context) (reading, error) {
			own, err := s.laneSide(ctx, host.StateKeep, size)
			if err != nil {
				return reading{}, err
			}
			wasm, err := s.guests.goGuest(ctx, "testdata/engine/echo")
			if err != nil {
				return reading{}, err
			}
			peer, err := s.loadSDK(ctx, wasm)
			if err != nil {
				return reading{}, err
			}
			other, err := echoSide(ctx, goSDK, peer, size)
			if err != nil {
				return reading{}, err
			}
			t, err := s.inTurns(ctx, own, other)
			return s.compared(t, goSDK, err)
		},
	}}
}

// loadSteps loads the guest that is made with the SDK.
func (s *suite) loadSteps(ctx context.Context, h *host.Host, cfg host.PluginConfig) (ours, error) {
	wasm, manifest, err := s.guests.steps(ctx)
	if err != nil {
		return ours{}, err
	}
	return s.loadOn(ctx, h, "steps", wasm, manifest, cfg)
}

// steps is that guest.
func (g *guests) steps(ctx context.Context) (wasm, manifest []byte, err error) {
	const pkg = "testdata/engine/steps"
	if wasm, err = g.goGuest(ctx, pkg); err == nil {
		manifest, err = os.ReadFile(filepath.Join(g.root, pkg, "plugin.yaml"))
	}
	return wasm, manifest, err
}

// laneSide runs a step over one item of that size, of which all but a first byte comes
// back. It compares the whole text once, and its length and number of tokens each time.
func (s *suite) laneSide(ctx context.Context, state string, size int) (side, error) {
	p, err := s.loadSteps(ctx, s.host, host.PluginConfig{State: state, Lane: host.LaneBatch})
	if err != nil {
		return side{}, err
	}
	step, err := steps.New(p.Plugin, abi.OpProcess, steps.Options{})
	if err != nil {
		return side{}, err
	}
	items := []pipeline.Item{{ID: "a", Content: "=" + string(text(size)), Source: pipeline.SourceRetrieval, Priority: 5, TokenCount: 1}}
	query := &pipeline.Query{Text: "q"}
	out, err := step.Run(ctx, query, items)
	if err != nil {
		return side{}, err
	}
	if want := items[0].Content[1:]; len(out) != 1 || out[0].Content != want {
		return side{}, fmt.Errorf("the step of %d bytes gave back another text", size)
	}
	return side{"anchor-host", func() error {
		out, err := step.Run(ctx, query, items)
		if err == nil && (len(out) != 1 || len(out[0].Content) != size || out[0].TokenCount != (size+3)/4) {
			err = fmt.Errorf("the step of %d bytes gave back another text", size)
		}
		return err
	}}, nil
}
