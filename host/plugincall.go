package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/nearest"
)

// CallResult is the result of [Plugin.Call].
type CallResult struct {
	// Status is what the export returned, which is not 0 only for exports of the contract:
	// abi.StatusDone or abi.StatusNoChange.
	Status abi.Status
	// Output is the output that the guest set.
	Output []byte
	// Log is the end of what the guest wrote to stdout, stderr and the log.
	Log string
	// Fuel is the fuel that the call used.
	Fuel int64
	// Memory is the size in bytes, after the call, of the linear memory that the guest uses,
	// its own or an imported one. 0: the guest has none.
	Memory int64
	// Time is how long the call ran, without the wait for an instance.
	Time time.Duration
}

// Call calls an export of any module by the Extism convention: the guest reads its input with
// input_load, sets its output with output_set, and returns status 0 for success. Another
// status is an error, and so is a message set with error_set. _start and _initialize run in an
// instance of their own; there an exit with code 0 is success.
//
// Errors are a *PluginError, or wrap ErrNoExport.
func (p *Plugin) Call(ctx context.Context, function string, input []byte) (*CallResult, error) {
	if function == "_start" || function == "_initialize" {
		return p.call(ctx, function, input, &bare{plugin: p})
	}
	return p.call(ctx, function, input, &p.lending)
}

// call is Call in an instance of a lender.
func (p *Plugin) call(ctx context.Context, function string, input []byte, from lender) (r *CallResult, err error) {
	if !slices.Contains(p.setup.spec.Functions, function) {
		return nil, p.setup.noFunction(function)
	}
	err = p.do(ctx, call{op: abi.Operation(function), timeout: p.setup.limits.Timeout, from: from}, nil, func(in *guest.Instance) error {
		status, out, err := in.CallDocument(function, input, false)
		if err == nil {
			err = checkStatus(function, status)
		}
		if err == nil {
			r = &CallResult{Status: status, Output: out, Log: p.setup.secrets.Hide(in.WASI.Output.Tail(guest.MaxLog)), Fuel: in.FuelUsed(), Memory: int64(in.Guest.Size()), Time: in.Call.Took()}
		}
		return err
	})
	return r, err
}

// checkStatus refuses a status that the contract has and a function outside of it has not.
func checkStatus(function string, s abi.Status) error {
	if s != abi.StatusDone && !strings.HasPrefix(function, "anchor_") {
		return guest.Faultf(abi.ReasonGuestError, "status %d without a message", s)
	}
	return nil
}

func (set *setup) noFunction(function string) error {
	return fmt.Errorf("plugin %q: function %q: %w (%s)", set.name, function, ErrNoExport, functionHint(set.spec, function))
}

// functionHint returns the function that was probably meant, or the list of all functions.
func functionHint(s *spec.Spec, function string) string {
	if near := nearest.Name(function, s.Functions); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(s.Functions) == 0 {
		return "the module exports no function that can be called"
	}
	return "the module has " + strings.Join(s.Functions, ", ")
}

// bare lends a new instance in which nothing has run yet. Meanwhile it borrows an instance of the
// pool, so that such calls count among Limits.Instances and Close waits for them.
type bare struct {
	plugin *Plugin
	place  *guest.Instance
}

func (b *bare) lend(ctx context.Context) (in *guest.Instance, err error) {
	p := b.plugin
	if b.place, err = p.lending.lend(ctx); err != nil {
		return nil, err
	}
	if in, err = p.setup.makeInRoom(ctx, func() (*guest.Instance, error) { return p.setup.started(p.starting.env.StartBare(ctx)) }); err != nil {
		p.lending.pool.Put(b.place)
		return nil, err
	}
	in.Bare = true
	return in, nil
}

func (b *bare) takeBack(in *guest.Instance, _ ending) {
	in.Close()
	b.plugin.lending.pool.Put(b.place)
}

// Exchange is the raw outcome of [Plugin.Exchange]. Output is neither decoded nor checked.
type Exchange struct {
	// Status is what the export returned: abi.StatusDone or abi.StatusNoChange.
	Status abi.Status
	// Output is a copy of what the guest set as output.
	Output []byte
	// Log is what the guest wrote to stdout, stderr and the log.
	Log string
	// Fuel is the number of units of fuel that the call used.
	Fuel int64
	// Memory is the size of the guest's linear memory after the call, in bytes.
	Memory int64
	// Time is how long the call took, without the wait for an instance.
	Time time.Duration
}

// Exchange calls an operation in one lane with the request as it is, a document in LaneJSON
// and LaneExtism and a batch in LaneBatch, and returns the answer as it is. It is for tools
// that test or measure plugins. Others use [Plugin.Operation]. Errors wrap ErrNoOperation
// or ErrConfig, or are a *PluginError.
func (p *Plugin) Exchange(ctx context.Context, op abi.Operation, lane Lane, request []byte) (*Exchange, error) {
	spec, err := p.setup.spec.Operation(op)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %s: %w", p.setup.name, op, err)
	}
	if !spec.HasLane(lane) && (lane != LaneExtism || !spec.HasLane(LaneJSON)) {
		return nil, fmt.Errorf("plugin %q: %s: lane %q: %w (the plugin has %v)", p.setup.name, op, lane, ErrConfig, spec.Lanes)
	}
	var out *Exchange
	err = p.do(ctx, call{op: op, timeout: p.setup.limits.Timeout, from: &p.lending}, nil, func(in *guest.Instance) (err error) {
		began := time.Now()
		out = &Exchange{}
		if lane == LaneBatch {
			out.Status, out.Output, err = in.ExchangeBatch(op, request)
		} else {
			out.Status, out.Output, err = in.CallDocument(op.JSONExport(), request, lane == LaneExtism)
		}
		out.Time, out.Log, out.Fuel, out.Memory = time.Since(began), p.setup.secrets.Hide(in.WASI.Output.Tail(guest.MaxLog)), in.FuelUsed(), int64(in.Guest.Size())
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
