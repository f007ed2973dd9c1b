package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
	"github.com/anchor-host/anchor-host/host/internal/guest"
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
	if !slices.Contains(p.spec.Functions, function) {
		return nil, fmt.Errorf("plugin %q: function %q: %w (%s)", p.name, function, ErrNoExport, functionHint(p.spec, function))
	}
	if function == "_start" || function == "_initialize" {
		return p.callBare(ctx, function, input)
	}
	var r *CallResult
	err := p.with(ctx, abi.Operation(function), "", p.limits.Timeout, func(in *guest.Instance) (err error) {
		r, err = callExport(in, function, input)
		return err
	})
	if r != nil {
		r.Log = p.secrets.Hide(r.Log)
	}
	return r, err
}

// callBare calls a function that starts a language runtime, in an instance in which nothing
// has run yet. Meanwhile it borrows an instance of the pool, so that such calls count among
// Limits.Instances and Close waits for them.
func (p *Plugin) callBare(ctx context.Context, function string, input []byte) (*CallResult, error) {
	ctx, o := p.observe(ctx, abi.Operation(function), "")
	r, err := p.bareCall(ctx, function, input, o)
	p.endedWith(ctx, o, err)
	return r, err
}

// bareCall is callBare for a call that o observes.
func (p *Plugin) bareCall(ctx context.Context, function string, input []byte, o *observed) (*CallResult, error) {
	op := abi.Operation(function)
	probe, err := p.admit(ctx)
	if err != nil {
		return nil, p.failure(op, nil, err)
	}
	ended, failed := fairness.Neutral, (*PluginError)(nil)
	defer func() { p.judge(ctx, probe, ended, failed) }()
	fail := func(in *guest.Instance, err error) (*CallResult, error) {
		failed = p.failure(op, in, err)
		ended = outcome(in, failed)
		return nil, failed
	}
	place, err := p.borrow(ctx)
	if err != nil {
		return fail(nil, err)
	}
	defer p.pool.Put(place)
	in, err := p.makeInRoom(ctx, func() (*guest.Instance, error) { return p.bareInstance(ctx) })
	if err != nil {
		return fail(nil, err)
	}
	defer in.Close()
	o.lap(instanceWait)
	if err := p.queue(ctx, in); err != nil {
		return fail(nil, err)
	}
	in.Bare = true
	in.Begin(p.booked(ctx), p.limits.Timeout, p.limits.Fuel)
	defer in.Call.End()
	r, err := callExport(in, function, input)
	guest.ChargeFuel(ctx, in.FuelUsed())
	in.CountCall(in.FuelUsed(), err)
	o.ran(in)
	if err != nil {
		return fail(in, err)
	}
	ended = fairness.Good
	r.Log = p.secrets.Hide(r.Log)
	return r, nil
}

// callExport calls an export by the Extism convention.
func callExport(in *guest.Instance, function string, input []byte) (*CallResult, error) {
	status, out, err := in.CallDocument(function, input)
	if err != nil {
		return nil, err
	}
	if status != abi.StatusDone && !strings.HasPrefix(function, "anchor_") {
		return nil, guest.Faultf(abi.ReasonGuestError, "status %d without a message", status)
	}
	return &CallResult{
		Status: status, Output: out, Log: in.WASI.Output.Tail(guest.MaxLog), Fuel: in.FuelUsed(), Memory: int64(in.Size()), Time: in.Call.Took(),
	}, nil
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
	spec, err := p.spec.Operation(op)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %s: %w", p.name, op, err)
	}
	if !spec.HasLane(lane) && (lane != LaneExtism || !spec.HasLane(LaneJSON)) {
		return nil, fmt.Errorf("plugin %q: %s: lane %q: %w (the plugin has %v)", p.name, op, lane, ErrConfig, spec.Lanes)
	}
	var out *Exchange
	err = p.with(ctx, op, "", p.limits.Timeout, func(in *guest.Instance) (err error) {
		began := time.Now()
		out = &Exchange{}
		switch lane {
		case LaneBatch:
			out.Status, out.Output, err = in.ExchangeBatch(op, request)
		case LaneExtism:
			out.Status, out.Output, err = in.Copied(in.EnterExtism(op.JSONExport(), request))
		default:
			out.Status, out.Output, err = in.CallDocument(op.JSONExport(), request)
		}
		out.Time, out.Log, out.Fuel, out.Memory = time.Since(began), p.secrets.Hide(in.WASI.Output.Tail(guest.MaxLog)), in.FuelUsed(), int64(in.Size())
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
