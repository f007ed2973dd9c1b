package host

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/internal/observe"
)

// observed finds out about a call for those who observe it. It is nil without them.
type observed struct {
	CallInfo
	at     time.Duration // when the stretch of time began that is going on
	memory int64
	span   observe.Span
}

// observe begins to observe a call, which goes on under the context that observe returns.
func (set *setup) observe(ctx context.Context, op abi.Operation, step string) (context.Context, *observed) {
	ctx, span := observe.Begin(ctx, observe.Work{Kind: observe.Call, Name: set.name, Operation: string(op)})
	if set.host.cfg.OnCall == nil && !span.Observed() {
		return ctx, nil
	}
	return ctx, &observed{CallInfo: CallInfo{Plugin: set.name, Operation: op, Step: step}, at: guest.Clock(), span: span}
}

func instanceWait(c *CallInfo) *time.Duration  { return &c.InstanceWait }
func processorWait(c *CallInfo) *time.Duration { return &c.ProcessorWait }
func resetTime(c *CallInfo) *time.Duration     { return &c.Reset }

// lap ends a stretch of time and begins another. note is where its length goes, nil for nowhere.
func (o *observed) lap(note func(*CallInfo) *time.Duration) {
	if o == nil {
		return
	}
	now := guest.Clock()
	if note != nil {
		*note(&o.CallInfo) = now - o.at
	}
	o.at = now
}

// ran notes what is known of a call that ended as long as its instance is lent. The last
// stretch of time began when the call had the instance.
func (o *observed) ran(in *guest.Instance) {
	if o == nil {
		return
	}
	c := &in.Call
	o.BytesIn, o.BytesOut, o.Fuel, o.memory = c.Received, c.Returned, in.FuelUsed(), int64(in.Guest.Size())
	switch {
	case c.Batch:
		o.Lane = LaneBatch
	case c.Received > 0:
		o.Lane = LaneJSON
	}
	o.ProcessorWait = c.Began - o.at + c.Waited
	now := guest.Clock()
	o.Running, o.at = now-c.Began-c.Waited, now
}

// ended counts a call that failed, and tells those who observe the call.
// Nothing of it is held any more, so that a panic of the embedder's function breaks nothing.
func (p *Plugin) ended(ctx context.Context, o *observed, failed *PluginError) {
	if failed != nil {
		p.counting.countFailure(failed.Code)
	}
	if o == nil {
		return
	}
	o.Tenant = TenantOf(ctx)
	if n := guest.NestOf(ctx); n != nil {
		o.Depth = n.Depth
	}
	if failed != nil {
		o.Reason, o.Err = failed.Code, failed
	}
	o.span.End(observe.Result{Err: o.Err, Reason: string(o.Reason), Fuel: o.Fuel, BytesIn: o.BytesIn, BytesOut: o.BytesOut, Memory: o.memory, Waited: o.InstanceWait + o.ProcessorWait})
	if f := p.setup.host.cfg.OnCall; f != nil {
		f(ctx, o.CallInfo)
	}
}

// recorder collects the calls of the plugin for Config.OnRecord and OnFailure. It is nil where nobody asks.
func (set *setup) recorder() *record.Plugin {
	if set.host.cfg.OnRecord == nil && set.host.cfg.OnFailure == nil {
		return nil
	}
	schemas := maps.Clone(set.schemas)
	schemas[abi.OpInit] = set.initSchema
	return &record.Plugin{
		Name: set.name, Module: set.spec.Name, Init: set.initRequest, Config: set.cfg.Config, Secrets: set.cfg.secretTexts(), To: set.host.cfg.OnRecord,
		Failed: set.host.cfg.OnFailure, Digest: set.spec.Digest, Fuel: set.limits.Fuel, Memory: set.limits.Memory,
		Settings: func(op abi.Operation, s []byte) []string { return schemas[op].SecretTexts(s) },
	}
}

// recorded hands over a call for Config.OnRecord and OnFailure. in is nil if the plugin was not called.
func (p *Plugin) recorded(ctx context.Context, in *guest.Instance, c call, failed *PluginError) {
	to := p.starting.env.Record
	var r *record.Call
	if in != nil {
		r = in.Call.Record
	} else if to != nil && to.To == nil {
		r = to.Begin(nil)
	}
	if r == nil {
		return
	}
	var f *record.Failure
	if failed != nil {
		o := observe.OwnerOf(ctx)
		f = &record.Failure{Call: record.Call{Err: failed.Err.Error()}, Time: time.Now(), Tenant: TenantOf(ctx), User: o.User, Conversation: o.Conversation, Run: o.Run,
			Reason: failed.Code, Public: observe.Public(failed.Err), Remedy: failed.Remedy, Output: failed.Log, Stack: failed.Stack, Timeout: c.timeout}
	}
	to.End(r, c.op, c.step, f)
}

// failure makes the error of a call that failed. in may be nil.
func (set *setup) failure(op abi.Operation, in *guest.Instance, err error) *PluginError {
	var known *PluginError
	if errors.As(err, &known) {
		return known
	}
	f := guest.Explain(in, err)
	return &PluginError{
		Plugin: set.name, Operation: op, Code: f.Reason, Err: set.secrets.HideError(f.Err), Remedy: set.secrets.Hide(f.Remedy),
		Log: set.secrets.Hide(f.Log), Stack: f.Stack,
	}
}
