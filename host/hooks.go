package host

import (
	"context"
	"errors"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
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
	Lane Lane
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
func (p *Plugin) observe(op abi.Operation, step string) *observed {
	if p.host.cfg.OnCall == nil {
		return nil
	}
	return &observed{CallInfo: CallInfo{Plugin: p.name, Operation: op, Step: step}, at: guest.Clock()}
}

// lap ends a stretch of time and begins another.
func (o *observed) lap() time.Duration {
	now := guest.Clock()
	took := now - o.at
	o.at = now
	return took
}

// ran notes what is known of a call that ended as long as its instance is lent. The last
// stretch of time began when the call had the instance.
func (o *observed) ran(in *guest.Instance) {
	c := &in.Call
	o.BytesIn, o.BytesOut, o.Fuel = c.Received, c.Returned, in.FuelUsed()
	switch {
	case c.Batch:
		o.Lane = LaneBatch
	case c.Received > 0:
		o.Lane = LaneJSON
	}
	o.ProcessorWait = c.Began - o.at + c.Waited
	o.at = c.Began
	o.Running = o.lap() - c.Waited
}

// ended counts a call that failed, and tells the embedder of any call that is observed.
// Nothing of it is held any more, so that a panic of the embedder's function breaks nothing.
func (p *Plugin) ended(ctx context.Context, o *observed, failed *PluginError) {
	if failed != nil {
		p.countFailure(failed.Code)
	}
	if o == nil {
		return
	}
	o.Tenant = tenantOf(ctx)
	if n := guest.NestOf(ctx); n != nil {
		o.Depth = n.Depth
	}
	if failed != nil {
		o.Reason, o.Err = failed.Code, failed
	}
	p.host.cfg.OnCall(ctx, o.CallInfo)
}

// endedWith is ended for the error of a call. Another one than a *PluginError says that
// nothing was called.
func (p *Plugin) endedWith(ctx context.Context, o *observed, err error) {
	var failed *PluginError
	if err == nil || errors.As(err, &failed) {
		p.ended(ctx, o, failed)
	}
}
