package examples_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// TestCallsFindTheirInstanceWarm holds what a call costs whose memory is put back after
// each to what it costs where nothing is: the SDK is to do beforehand what the first call
// would have to do.
func TestCallsFindTheirInstanceWarm(t *testing.T) {
	needGuests(t)
	for plugin, op := range map[string]abi.Operation{"score-filter": abi.OpFilter, "recency-rerank": abi.OpRerank} {
		t.Run(plugin, func(t *testing.T) {
			reset, keep := fuelOfThird(t, plugin, op, host.StateReset), fuelOfThird(t, plugin, op, host.StateKeep)
			if t.Logf("%d units of fuel, %d where memory is kept", reset, keep); reset > keep*9/8 {
				t.Errorf("a call draws %d units of fuel, and %d where memory is kept", reset, keep)
			}
		})
	}
}

// fuelOfThird is the fuel of the third call of three, over 1,000 rows.
func fuelOfThird(t *testing.T, plugin string, op abi.Operation, state string) (fuel int64) {
	t.Helper()
	spec, err := host.ReadFile(filepath.Join(work, "plugins", plugin, "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(t.Context(), host.Config{CacheDir: filepath.Join(work, "cache")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	p, err := h.Load(t.Context(), spec, host.PluginConfig{State: state})
	if err != nil {
		t.Fatal(err)
	}
	request := batchOf(t, spec, op)
	for range 3 {
		out, err := p.Exchange(t.Context(), op, host.LaneBatch, request)
		if err != nil {
			t.Fatal(err)
		}
		fuel = out.Fuel
	}
	return fuel
}

// batchOf is a batch of 1,000 rows for an operation, with the defaults of its settings.
func batchOf(t *testing.T, spec *host.Spec, op abi.Operation) []byte {
	t.Helper()
	settings, err := spec.CheckSettings(op, nil)
	if err != nil {
		t.Fatal(err)
	}
	o, _ := spec.Operation(op)
	rows := make(abi.ItemRows, 1000)
	for i := range rows {
		rows[i].Score = float64(i%100) / 100
	}
	var w abi.BatchWriter
	n, err := w.Plan(rows, o.Reads, &abi.Envelope{Query: &abi.Query{Text: "how"}, TopK: 10, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	request := make([]byte, n)
	if err := w.Write(request); err != nil {
		t.Fatal(err)
	}
	return request
}
