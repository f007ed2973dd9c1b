package host

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/spec"
)

// selfTest makes the calls of the manifest whose answers are known, each in a new instance and
// in every lane of its operation. A plugin that answers differently, for example because it
// was compiled wrongly, is not loaded.
func (p *Plugin) selfTest(ctx context.Context) error {
	if p.setup.spec.Manifest == nil || len(p.setup.spec.Manifest.SelfTest) == 0 {
		return nil
	}
	place, err := p.lending.lend(ctx) // so that closing the host waits for the calls
	if err != nil {
		return p.setup.failure(abi.OpInit, nil, err)
	}
	defer p.lending.pool.Put(place)
	for i, t := range p.setup.spec.Manifest.SelfTest {
		spec, err := p.setup.spec.Operation(t.Operation)
		if err != nil {
			continue
		}
		for _, lane := range spec.Lanes {
			if err := p.selfCall(ctx, spec, lane, t); err != nil {
				f := &guest.Fault{Reason: abi.ReasonInitFailed, Err: fmt.Errorf("self_test[%d], %s lane: %w", i, lane, err),
					Remedy: "the module is damaged or compiled wrongly: try engine: interpreter, or rebuild it"}
				return p.setup.failure(t.Operation, nil, f)
			}
		}
	}
	return nil
}

// maxSelfAnswer bounds the answer of a self-test, in bytes. No answer in a manifest is longer.
const maxSelfAnswer = 1 << 20

// selfCall makes one call of a self-test in one lane.
func (p *Plugin) selfCall(ctx context.Context, spec spec.Operation, lane Lane, t manifest.SelfTest) error {
	in, err := p.setup.makeInRoom(ctx, func() (*guest.Instance, error) { return p.starting.newInstance(ctx) })
	if err != nil {
		return err
	}
	defer in.Close()
	in.Begin(ctx, p.setup.limits.Timeout, p.setup.limits.Fuel)
	defer in.Call.End()
	in.Call.Op = t.Operation
	var out []byte
	if lane == LaneBatch {
		out, err = selfBatch(in, spec, t.Input)
	} else {
		var status abi.Status
		if status, out, err = in.CallDocument(t.Operation.JSONExport(), t.Input, false); status == abi.StatusNoChange {
			out = nil
		}
	}
	if err != nil {
		return in.FaultOf(err)
	}
	if len(out) == 0 {
		out = []byte("null")
	}
	if len(out) > maxSelfAnswer || !sameJSON(out, t.Output) {
		return fmt.Errorf("answers %s (want %s)", guesttext.Clip(guesttext.Line(string(out)), guest.MaxQuote), guesttext.Clip(guesttext.Line(string(t.Output)), guest.MaxQuote))
	}
	return nil
}

// selfBatch sends a request document to an operation in the batch lane, and returns the
// changes as a document, nil for no change.
func selfBatch(in *guest.Instance, spec spec.Operation, input []byte) ([]byte, error) {
	req, err := abi.DecodeItemsRequest(input)
	if err != nil {
		return nil, err
	}
	env := &abi.Envelope{Query: &req.Query, TopK: req.TopK, TokensLeft: req.TokensLeft, Settings: req.Settings}
	within := abi.WidestBounds()
	within.Rows = len(req.Items)
	c, err := in.BatchChanges(spec.Operation, abi.ItemRows(req.Items), spec.SelfTestReads, env, within)
	if err != nil || c == nil {
		return nil, err
	}
	return abi.AppendChangesJSON(nil, c)
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
