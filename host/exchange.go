package host

import (
	"context"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
)

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
		out.Time, out.Log, out.Fuel, out.Memory = time.Since(began), in.WASI.Output.Tail(guest.MaxLog), in.FuelUsed(), int64(in.Size())
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
