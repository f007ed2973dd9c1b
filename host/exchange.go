package host

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// Exchange is the raw outcome of Plugin.Exchange. Nothing in Output has been
// decoded or checked.
type Exchange struct {
	// Status is what the export returned: done or no change.
	Status abi.Status
	// Output is a copy of what the guest set as output.
	Output []byte
	// Log is what the guest wrote to stdout, stderr and the log.
	Log string
	// Fuel is the number of units the call used.
	Fuel int64
	// Memory is the size of the guest's linear memory after the call, in bytes.
	Memory int64
	// Time is how long the call took, without the wait for an instance.
	Time time.Duration
}

// Exchange calls an operation in one lane with a request as it is, a document
// in LaneJSON and a batch in LaneBatch, and returns the answer as it is. It is
// for tools that test or measure plugins: a build uses [Plugin.Step]. Errors
// wrap ErrNoOperation or ErrConfig, or are a *PluginError.
func (p *Plugin) Exchange(ctx context.Context, op abi.Operation, lane string, request []byte) (*Exchange, error) {
	spec, ok := p.spec.Operation(op)
	if !ok {
		return nil, fmt.Errorf("plugin %q: %s: %w: the plugin has %s", p.name, op, ErrNoOperation, p.spec.operationNames())
	}
	if !spec.HasLane(lane) {
		return nil, fmt.Errorf("plugin %q: %s: lane %q: %w (the plugin has %v)", p.name, op, lane, ErrConfig, spec.Lanes)
	}
	var out *Exchange
	err := p.with(ctx, op, "", p.limits.Timeout, func(in *instance) (err error) {
		began := time.Now()
		out = &Exchange{}
		if lane == LaneBatch {
			out.Status, out.Output, err = in.exchangeBatch(op, request)
		} else {
			out.Status, out.Output, err = in.callDocument(op.JSONExport(), request)
		}
		out.Time, out.Log, out.Fuel, out.Memory = time.Since(began), in.out.tail(), in.fuelUsed(), int64(in.size())
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// CheckSettings checks settings against the schema of an operation, or of
// abi.OpInit, as a step and a configuration do, and returns them with defaults
// filled in: what travels with each call, and to init. nil means that nothing
// does. Errors wrap ErrConfig or ErrNoOperation, or say what is wrong with the
// schema.
func (s *Spec) CheckSettings(op abi.Operation, settings map[string]any) (json.RawMessage, error) {
	if s.Manifest == nil {
		return nil, fmt.Errorf("plugin %q: %s: %w: the plugin has %s", s.Name, op, ErrNoOperation, s.operationNames())
	}
	raw := s.Manifest.Settings
	if op != abi.OpInit {
		o, ok := s.Manifest.Operations[op]
		if !ok {
			return nil, fmt.Errorf("plugin %q: %s: %w: the plugin has %s", s.Name, op, ErrNoOperation, s.operationNames())
		}
		raw = o.Settings
	}
	schema, err := newSettingsSchema(raw)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %s: %w", s.Name, op, err)
	}
	canonical, full, err := schema.apply(settings)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %s: %w", s.Name, op, err)
	}
	if len(full) == 0 {
		return nil, nil
	}
	return canonical, nil
}

// exchangeBatch is batchChanges with a finished batch, and without reading the
// answer.
func (in *instance) exchangeBatch(op abi.Operation, batch []byte) (abi.Status, []byte, error) {
	if limit := in.plugin.limits.Input; int64(len(batch)) > limit {
		return 0, nil, faultf(abi.ReasonInputTooLarge, "input of %d bytes, allowed %d", len(batch), limit)
	}
	addr, err := in.reserve(len(batch))
	if err != nil {
		return 0, nil, err
	}
	dst, err := view(in.mem, addr, uint32(len(batch)))
	if err != nil {
		return 0, nil, err
	}
	copy(dst, batch)
	in.state.received, in.state.batch = int64(len(batch)), true
	if err := in.run(op.BatchExport(), uint64(addr), uint64(len(batch))); err != nil {
		return 0, nil, err
	}
	status := abi.Status(int32(uint32(in.stack[0])))
	if err := in.guestError(status); err != nil || status == abi.StatusNoChange {
		return status, nil, err
	}
	box, err := readMailbox(in.mem, in.mailbox)
	if err != nil {
		return status, nil, err
	}
	if int64(box.OutLen) > in.plugin.limits.Output {
		return status, nil, faultf(abi.ReasonOutputTooLarge, "output of %d bytes, allowed %d", box.OutLen, in.plugin.limits.Output)
	}
	b, err := view(in.mem, box.OutAddr, box.OutLen)
	in.state.returned = int64(len(b))
	return status, append([]byte(nil), b...), err
}
