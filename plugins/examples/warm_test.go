package examples_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// TestCallsFindTheirInstanceWarm holds what a call costs whose memory is put back after
// each to what it costs where nothing is: the SDK is to do beforehand what the first call
// would have to do.
func TestCallsFindTheirInstanceWarm(t *testing.T) {
	needGuests(t)
	h, err := host.New(host.Config{CacheDir: testbuild.CacheDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []struct {
		plugin string
		op     abi.Operation
		lane   host.Lane
	}{
		{"score-filter", abi.OpFilter, host.LaneBatch}, {"score-filter", abi.OpFilter, host.LaneJSON},
		{"recency-rerank", abi.OpRerank, host.LaneBatch}, {"turn-summary", abi.OpCompact, host.LaneJSON},
	} {
		t.Run(c.plugin+"/"+string(c.lane), func(t *testing.T) {
			needThorough(t, c.plugin)
			t.Parallel()
			reset, keep := fuelOfThird(t, h, c.plugin, c.op, c.lane, host.StateReset), fuelOfThird(t, h, c.plugin, c.op, c.lane, host.StateKeep)
			if t.Logf("%d units of fuel, %d where memory is kept", reset, keep); reset > keep*9/8 {
				t.Errorf("a call draws %d units of fuel, and %d where memory is kept", reset, keep)
			}
		})
	}
}

// fuelOfThird is the fuel of the third call of three.
func fuelOfThird(t *testing.T, h *host.Host, plugin string, op abi.Operation, lane host.Lane, state host.State) (fuel int64) {
	t.Helper()
	spec, err := spec.ReadFile(guest(t, plugin))
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.Load(t.Context(), spec, host.PluginConfig{State: state})
	if err != nil {
		t.Fatal(err)
	}
	request := requestOf(t, spec, op, lane)
	for range 3 {
		out, err := p.Exchange(t.Context(), op, lane, request)
		if err != nil {
			t.Fatal(err)
		}
		fuel = out.Fuel
	}
	return fuel
}

// requestOf is a request for an operation with the defaults of its settings: 1,000 rows
// in a batch, 100 in a document, or 20 turns.
func requestOf(t *testing.T, spec *spec.Spec, op abi.Operation, lane host.Lane) []byte {
	t.Helper()
	settings, err := spec.CheckSettings(op, nil)
	if err != nil {
		t.Fatal(err)
	}
	if op == abi.OpCompact {
		turns := make([]abi.Turn, 20)
		for i := range turns {
			turns[i] = abi.Turn{Role: "user", Content: "The release moves to Friday. The others know. The tests take an hour."}
		}
		request, err := json.Marshal(abi.CompactRequest{Turns: turns, Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		return request
	}
	o, _ := spec.Operation(op)
	rows := make(abi.ItemRows, 1000)
	for i := range rows {
		rows[i].Score = float64(i%100) / 100
	}
	env := &abi.Envelope{Query: &abi.Query{Text: "how"}, TopK: 10, Settings: settings}
	if lane == host.LaneJSON {
		request, err := abi.AppendItemsRequest(nil, rows[:100], o.Reads, env)
		if err != nil {
			t.Fatal(err)
		}
		return request
	}
	var w abi.BatchWriter
	n, err := w.Plan(rows, o.Reads, env)
	if err != nil {
		t.Fatal(err)
	}
	request := make([]byte, n)
	if err := w.Write(request); err != nil {
		t.Fatal(err)
	}
	return request
}
