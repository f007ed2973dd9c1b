package main

import (
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
)

// laneRows echo in the lanes of the ABI. One is a whole step of a build with one item, whose
// text the guest returns without its first byte. The other is a document that the guest
// returns without reading it. The peer passes the same bytes through the imports of Extism,
// because it has no other way.
func (s *suite) laneRows() []row {
	const against = goSDK + " with timeout"
	return []row{{
		name: "lane/1MiB", what: "echo 1MiB, stock Go, whole step", state: host.StateKeep, lane: laneBatch,
		against: against, target: atLeast(times, 100, 200), needs: needPeers,
		run: func(ctx context.Context) (reading, error) { return s.againstSDK(ctx, s.laneSide, 1<<20) },
	}, {
		name: "json/64KiB", what: "echo 64KiB, stock Go", state: host.StateKeep, lane: laneJSON,
		against: against, target: atLeast(times, 30, 0), needs: needPeers,
		run: func(ctx context.Context) (reading, error) { return s.againstSDK(ctx, s.documentSide, 64<<10) },
	}}
}

// againstSDK compares a side with an echo of as many bytes on the peer.
func (s *suite) againstSDK(ctx context.Context, sideOf func(context.Context, int) (side, error), size int) (reading, error) {
	own, err := sideOf(ctx, size)
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
}

// documentSide sends a document of that size to a plugin, which returns it.
func (s *suite) documentSide(ctx context.Context, size int) (side, error) {
	wasm, manifest, err := s.guests.plugin(ctx, "sdk/pdk-go/testdata/echo")
	if err != nil {
		return side{}, err
	}
	p, err := s.load(ctx, "", wasm, manifest, host.PluginConfig{State: host.StateKeep})
	if err != nil {
		return side{}, err
	}
	return echoSide(ctx, "anchor-host", documents{p.Plugin}, size)
}

// documents is a plugin that is called in the JSON lane.
type documents struct{ *host.Plugin }

func (d documents) call(ctx context.Context, _ string, input []byte) ([]byte, error) {
	x, err := d.Exchange(ctx, abi.OpProvide, host.LaneJSON, input)
	if err != nil {
		return nil, err
	}
	return x.Output, nil
}

// loadSteps loads the guest that uses the SDK.
func (s *suite) loadSteps(ctx context.Context, h *host.Host, cfg host.PluginConfig) (ours, error) {
	wasm, manifest, err := s.guests.steps(ctx)
	if err != nil {
		return ours{}, err
	}
	return s.loadOn(ctx, h, "steps", wasm, manifest, cfg)
}

// steps builds the guest that uses the SDK.
func (g *guests) steps(ctx context.Context) (wasm, manifest []byte, err error) {
	return g.plugin(ctx, "testdata/engine/steps")
}

// laneSide runs a step over one item of that size, which returns all but the first byte. It
// compares the whole text once, and the length and the number of tokens in each call.
func (s *suite) laneSide(ctx context.Context, size int) (side, error) {
	p, err := s.loadSteps(ctx, s.host, host.PluginConfig{State: host.StateKeep, Lane: host.LaneBatch})
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
