package host

import (
	"context"
	"errors"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// CallInfo says how a call of a plugin went; see Config.OnCall.
type CallInfo struct {
	// Plugin is the name of the configured plugin, Step that of the step of a build, if
	// any, and Operation what was called, or the name of a plain export.
	Plugin, Step string
	Operation    abi.Operation
	// Tenant is whom the call was for; see [WithTenant].
	Tenant string
	// Lane is LaneBatch, or LaneJSON where one document crossed each way, as with plain
	// exports. It is empty where the guest was sent nothing.
	Lane string
	// Depth is in how many calls of plugins this one lies; 0 for one of its own.
	Depth int
	// Fuel is the number of units the call used, those of calls within it included.
	Fuel int64
	// BytesIn are the bytes of the request, BytesOut those of the answer.
	BytesIn, BytesOut int64
	// InstanceWait is how long the call waited for an instance, ProcessorWait for a
	// processor, before it began and later, and Running how long it ran or blocked.
	// Reset is how long it then took to put the instance back, 0 where that is left to
	// others: the next call's InstanceWait may have a part of it.
	InstanceWait, ProcessorWait, Running, Reset time.Duration
	// Reason is why the call failed, empty where it did not. Err is its error then, a
	// *PluginError.
	Reason abi.Reason
	Err    error
}

// observed finds out about a call for Config.OnCall. It is nil where nobody asks.
type observed struct {
	CallInfo
	// at is when the stretch of time began that is going on.
	at time.Duration
}

// observe begins to observe a call.
func (p *Plugin) observe() *observed {
	if p.host.cfg.OnCall == nil {
		return nil
	}
	return &observed{at: clock()}
}

// lap ends a stretch of time and begins another.
func (o *observed) lap() time.Duration {
	now := clock()
	took := now - o.at
	o.at = now
	return took
}

// borrowed notes that the call has an instance, or gets none.
func (o *observed) borrowed() {
	if o != nil {
		o.InstanceWait = o.lap()
	}
}

// queued notes that the call has a processor, or gets none.
func (o *observed) queued() {
	if o != nil {
		o.ProcessorWait = o.lap()
	}
}

// ran notes what is known of the call as long as its instance is lent.
func (o *observed) ran(in *instance) {
	if o == nil {
		return
	}
	c := &in.state
	o.Lane, o.BytesIn, o.BytesOut, o.Fuel = c.lane, c.received, c.returned, in.fuelUsed()
	o.ProcessorWait += c.waited
	o.Running = o.lap() - c.waited
}

// handsBack notes that the instance is about to be given back, put back if that is quick.
func (o *observed) handsBack() {
	if o != nil {
		o.lap()
	}
}

// returned notes that it was.
func (o *observed) returned() {
	if o != nil {
		o.Reset = o.lap()
	}
}

// ended counts a call that failed, and tells the embedder of any call. Nothing of it is
// held any more, so that a panic of the embedder's function breaks nothing.
func (p *Plugin) ended(ctx context.Context, o *observed, op abi.Operation, step string, err error) {
	if err != nil {
		p.countFailure(err)
	}
	if o == nil {
		return
	}
	o.Plugin, o.Operation, o.Step, o.Tenant, o.Err = p.name, op, step, tenantOf(ctx), err
	if n := nestOf(ctx); n != nil {
		o.Depth = n.depth
	}
	var failed *PluginError
	if errors.As(err, &failed) {
		o.Reason = failed.Code
	}
	p.host.cfg.OnCall(ctx, o.CallInfo)
}
