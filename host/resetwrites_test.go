package host

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/host/spec"
)

// Whatever a guest and the host write into its memory, and however it ends, a
// reset leaves memory, size and globals as the image has them.
func TestResetUndoesAllWrites(t *testing.T) {
	for name, cfg := range map[string]Config{
		"compiler":    {Engine: EngineCompiler},
		"interpreter": {Engine: EngineInterpreter},
		"growing":     {Engine: EngineCompiler, Features: Features{NoShrinking: true}},
		"moving":      {Engine: EngineCompiler, Features: Features{NoMemories: true}},
		"portable":    {Portable: true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.CacheDir = CacheOff
			p := loadScribbles(t, cfg)
			want, globals := p.starting.env.Image.Content()
			r := rand.New(rand.NewPCG(1, 2))
			for i := range 3 { // one that init ran in, others that map the image
				in, err := p.pooled(t.Context())
				if i == 0 {
					in, err = p.lending.lend(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				in = scribble(t, p, in, r, want, globals)
				if i == 0 {
					p.lending.pool.Put(in)
				} else {
					in.Close()
				}
			}
		})
	}
}

func loadScribbles(t *testing.T, cfg Config) *Plugin {
	t.Helper()
	dir := filepath.Join("..", "testdata", "wasm", "scribbles")
	wasm, err := os.ReadFile(filepath.Join(dir, "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := spec.Read("scribbles", wasm, manifest)
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	p, err := h.Load(t.Context(), spec, PluginConfig{Limits: Limits{Instances: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// scribble has an instance write at random and compares it with the image after
// each reset. It returns the instance, another one where it could not be reset.
func scribble(t *testing.T, p *Plugin, in *guest.Instance, r *rand.Rand, want []byte, globals []uint64) *guest.Instance {
	t.Helper()
	spec, _ := p.setup.spec.Operation(abi.OpFilter)
	for round := range 12 {
		items := make(abi.ItemRows, r.IntN(2000))
		for i := range items {
			items[i].Score = r.Float64()
		}
		in.Begin(t.Context(), p.setup.limits.Timeout, p.setup.limits.Fuel)
		_, err := in.BatchChanges(spec.Operation, items, spec.Reads, &abi.Envelope{Query: &abi.Query{}}, abi.WidestBounds())
		in.Call.End()
		if in.Finish(t.Context(), err); in.Life.Unusable {
			if p.starting.engine.Features.On(wazerox.TrapTexts) {
				t.Error(err)
			}
			in = renewed(t, p, in)
			continue
		}
		if bytes.Equal(in.Guest.Content(), want) {
			t.Fatalf("round %d: nothing was written", round)
		}
		if !in.Reset() {
			if in.Guest.Size() == uint32(len(want)) || p.starting.engine.Features.On(wazerox.Shrinking) && !in.Worn() {
				t.Fatalf("round %d: cannot be reset", round)
			}
			in = renewed(t, p, in)
		}
		if !bytes.Equal(in.Guest.Content(), want) {
			t.Fatalf("round %d left something in %d bytes (image %d)", round, in.Guest.Size(), len(want))
		}
		if got := in.Values(); !slices.Equal(got, globals) {
			t.Fatalf("round %d: globals %v (want %v)", round, got, globals)
		}
	}
	return in
}

// renewed closes an instance that cannot be reset and returns another one.
func renewed(t *testing.T, p *Plugin, in *guest.Instance) *guest.Instance {
	t.Helper()
	in.Close()
	in, err := p.starting.newInstance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// An instance is not used again if nothing tells which files it has open.
func TestInstancesWithUnknownFilesAreReplaced(t *testing.T) {
	p := loadScribbles(t, Config{CacheDir: CacheOff, Engine: EngineCompiler})
	for _, unknown := range []bool{false, true} {
		in, err := p.starting.newInstance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if unknown {
			if err := in.WASI.Watch(nil, true); err != nil {
				t.Error(err)
			}
		}
		if reset := in.Reset(); reset == unknown {
			t.Errorf("unknown files %t: reset %t", unknown, reset)
		}
		in.Close()
	}
}
