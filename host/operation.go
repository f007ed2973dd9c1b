package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/answer"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/spec"
)

// Operation is an operation of a plugin, or a function of a foreign module, that is ready to
// be called: its options are checked. Its answers are checked against the contract, the grants
// and the limits. It is safe for concurrent use. Package host/steps makes steps of a pipeline
// from operations.
type Operation struct {
	plugin *Plugin
	op     abi.Operation
	// name is the name in errors: that of the operation or of the function.
	name     abi.Operation
	spec     spec.Operation
	step     string
	lane     Lane
	reads    abi.ColumnSet
	parts    abi.PartSet
	settings json.RawMessage
	topK     int
	timeout  time.Duration
	grant    answer.Grant
	// changes means that the answers are changes or new items, which need a grant.
	changes bool
	// foreign says how to call a function of a foreign module, nil for an operation of a
	// plugin.
	foreign *foreignCall
}

// Answer holds the changes of an operation to the items that it received. The caller must
// call Release when it has used the answer.
type Answer struct {
	// Changes are within what is granted, nil for none. New items have their source and their
	// priority set.
	Changes *abi.Changes
	// Tokens are the tokens of the texts of Changes.Edits and then of Changes.Items, as the
	// host counts them. An edit that keeps its text has 0.
	Tokens []int
	// TopK is the number of items that the guest was asked for. It is 0 for operations
	// without one.
	TopK int

	plugin  *Plugin
	receipt guest.Receipt
}

// foreignCall is the input and the output of a function of a foreign module.
type foreignCall struct {
	input  FunctionInput
	output FunctionOutput
}

// Release ends the use of an answer. Until then the decoded answer is charged to the plugin's
// memory. Afterwards the lists in Changes must not be used; the texts and metadata in them may
// be kept.
func (a *Answer) Release() {
	a.receipt.Done()
	guest.Recycle(a.Changes)
	a.Changes = nil
}

// Operation prepares an operation of the plugin for calls. Errors wrap ErrNoOperation or
// ErrConfig.
func (p *Plugin) Operation(op abi.Operation, o OperationOptions) (*Operation, error) {
	out, err := p.prepare(op, o)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %s: %w", p.name, op, err)
	}
	return out, nil
}

func (p *Plugin) prepare(op abi.Operation, o OperationOptions) (*Operation, error) {
	spec, err := p.spec.Operation(op)
	if err != nil {
		return nil, err
	}
	info, _ := abi.LookupOperation(op)
	out := &Operation{plugin: p, op: op, name: op, spec: spec, step: o.Step, reads: spec.Reads, parts: spec.Parts, changes: len(info.Writes) > 0}
	for _, f := range []func(OperationOptions) error{
		out.setLane, out.setReads, out.setSettings, out.setTopK, out.setTimeout, out.setGrant,
	} {
		if err := f(o); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// setLane chooses the batch lane, if the plugin has it and the configuration asks for no other.
func (o *Operation) setLane(OperationOptions) error {
	info, _ := abi.LookupOperation(o.op)
	o.lane = o.plugin.cfg.Lane
	switch {
	case o.plugin.host.cfg.OnRecord != nil && o.spec.HasLane(LaneJSON): // whose documents are recorded
		o.lane = LaneJSON
	case o.lane == LaneAuto && o.spec.HasLane(LaneBatch):
		o.lane = LaneBatch
	case o.lane == LaneAuto, o.lane == LaneBatch && !info.Batch:
		o.lane = LaneJSON
	}
	if !o.spec.HasLane(o.lane) {
		return fmt.Errorf("lane %q: %w (the plugin has %v)", o.lane, ErrConfig, o.spec.Lanes)
	}
	return nil
}

func (o *Operation) setReads(opts OperationOptions) error {
	cols, parts, err := abi.NarrowedReads(o.op, opts.Reads)
	if err != nil {
		return fmt.Errorf("reads: %w: %w", ErrConfig, err)
	}
	o.reads &= cols
	o.parts = o.parts.And(parts)
	if missing := o.parts.Missing(o.op); len(missing) > 0 {
		return fmt.Errorf("reads: %w (name %s: the answer replaces what it stands for)", ErrConfig, missing[0])
	}
	return nil
}

func (o *Operation) setSettings(opts OperationOptions) error {
	schema := o.plugin.schemas[o.op]
	canonical, full, err := checkSettings(schema, opts.Settings)
	if err != nil {
		return err
	}
	if len(full) > 0 {
		o.settings = canonical
	}
	return nil
}

func (o *Operation) setTopK(opts OperationOptions) error {
	info, _ := abi.LookupOperation(o.op)
	switch {
	case opts.TopK < 0:
		return fmt.Errorf("top_k %d: %w (want 1 or more)", opts.TopK, ErrConfig)
	case info.TopK:
		o.topK = cmp.Or(opts.TopK, cmp.Or(o.spec.Defaults.TopK, DefaultTopK))
	}
	return nil
}

// setTimeout takes the stated timeout, at most that of the plugin.
func (o *Operation) setTimeout(opts OperationOptions) error {
	o.timeout = o.plugin.limits.Timeout
	if opts.Timeout < 0 {
		return fmt.Errorf("timeout %v: %w (want 0 or more)", opts.Timeout, ErrConfig)
	}
	if opts.Timeout > 0 {
		o.timeout = min(o.timeout, opts.Timeout)
	}
	return nil
}

func (o *Operation) setGrant(opts OperationOptions) error {
	if opts.Source == "system" {
		return fmt.Errorf("source %q: %w (want a source other than system)", opts.Source, ErrConfig)
	}
	if opts.MaxPriority < 0 || opts.MaxPriority > abi.MaxPriority {
		return fmt.Errorf("max_priority %d: %w (want 1 to %d)", opts.MaxPriority, ErrConfig, abi.MaxPriority)
	}
	limits := &o.plugin.limits
	o.grant = answer.NewGrant(o.op, &o.spec, answer.Terms{Source: opts.Source, MaxPriority: opts.MaxPriority, Items: limits.Items, Tokens: limits.Tokens})
	return nil
}

// Reads returns the columns of items that the guest receives.
func (o *Operation) Reads() abi.ColumnSet { return o.reads }

// Parts returns the parts of a request, besides columns, that the guest receives.
func (o *Operation) Parts() abi.PartSet { return o.parts }

// Settings returns the settings that are sent with each call, nil for none. They must not be
// changed.
func (o *Operation) Settings() json.RawMessage { return o.settings }

// Changes calls retrieve, process, filter, rerank, memory or a function of a foreign
// module, and returns what the guest changes in rows. rows may be nil. The guest receives
// env with the settings of the operation and the parts of the query that it reads. If TopK
// of env is 0, the guest receives that of the operation. env is not changed. The host drops
// items of retrieve beyond TopK. Errors are a *[PluginError], or wrap ErrNoOperation for
// other operations.
func (o *Operation) Changes(ctx context.Context, rows abi.Rows, env *abi.Envelope) (Answer, error) {
	if !o.changes {
		return Answer{}, fmt.Errorf("plugin %q: %s: %w (it answers with a document, see Operation.Ask)", o.plugin.name, o.name, ErrNoOperation)
	}
	a := Answer{plugin: o.plugin}
	own := o.narrowed(env)
	own.TopK = cmp.Or(own.TopK, o.topK)
	a.TopK = own.TopK
	if err := o.change(ctx, rows, &own, &a); err != nil {
		a.Release()
		return Answer{}, err
	}
	return a, nil
}

// narrowed returns the parts of env that the guest receives, without rows.
func (o *Operation) narrowed(env *abi.Envelope) abi.Envelope {
	own := *env
	own.Settings, own.Query = o.settings, o.parts.Query(own.Query)
	return own
}

// change is Changes with the answer in a. The caller releases a, also after an error.
func (o *Operation) change(ctx context.Context, rows abi.Rows, env *abi.Envelope, a *Answer) (err error) {
	switch {
	case o.foreign != nil:
		err = o.foreignChanges(ctx, rows, env, a)
	case o.op == abi.OpMemory:
		err = o.remember(ctx, env, a)
	default:
		err = o.callForChanges(ctx, rows, env, a)
	}
	if err != nil || a.Changes == nil {
		return err
	}
	if c := a.Changes; o.op == abi.OpRetrieve && len(c.Items) > env.TopK {
		c.Items = c.Items[:env.TopK]
	}
	if err := o.allow(ctx, rows, a); err != nil {
		return o.refuse(err)
	}
	return nil
}

// callForChanges asks the guest for its changes to rows and checks them.
func (o *Operation) callForChanges(ctx context.Context, rows abi.Rows, env *abi.Envelope, a *Answer) error {
	n := count(rows)
	return o.call(ctx, &a.receipt, func(in *guest.Instance) (err error) {
		if o.lane == LaneBatch {
			a.Changes, err = in.BatchChanges(o.op, rows, o.reads, env, o.bounds(in, n))
		} else {
			a.Changes, err = in.DocumentChanges(o.op, rows, o.reads, env, o.bounds(in, n))
		}
		if err != nil || a.Changes == nil {
			return err
		}
		return o.grant.Check(a.Changes, n)
	})
}

// remember calls the operation memory and returns its items as changes.
func (o *Operation) remember(ctx context.Context, env *abi.Envelope, a *Answer) error {
	var reply abi.MemoryReply
	changed, err := o.askItems(ctx, &a.receipt, nil, env, &reply)
	if err != nil || !changed {
		return err
	}
	a.Changes = &abi.Changes{Items: reply.Items}
	if err := o.grant.Check(a.Changes, 0); err != nil {
		return o.refuse(err)
	}
	return nil
}

// count is the number of rows; rows may be nil.
func count(rows abi.Rows) int {
	if rows == nil {
		return 0
	}
	return rows.Len()
}

// Ask sends a document to an operation and decodes the answer into reply: a pointer to the
// document that the contract names, or nil to ignore the answer. The guest receives the
// parts of the request that it reads. The caller must leave out columns of items that the
// guest does not read. changed is false if the guest answered that nothing changes. Errors
// are a *[PluginError], or wrap ErrNoOperation for operations that answer with changes.
func (o *Operation) Ask(ctx context.Context, request, reply any) (changed bool, err error) {
	if o.changes {
		return false, o.noDocument()
	}
	doc, err := o.encode(request)
	if err != nil {
		return false, o.refuse(&guest.Fault{Reason: abi.ReasonInputTooLarge, Err: fmt.Errorf("encode %T: %w", request, err)})
	}
	texts := 0
	if r, ok := request.(abi.CountRequest); ok {
		texts = len(r.Texts)
	}
	var r guest.Receipt
	defer r.Done()
	if changed, err = o.send(ctx, &r, doc, texts, reply); err != nil {
		return false, err
	}
	return changed, o.checkReply(changed, texts, reply)
}

// encode makes the document that the guest receives.
func (o *Operation) encode(request any) ([]byte, error) {
	request, err := o.parts.Request(o.op, request)
	if err != nil {
		return nil, err
	}
	return json.Marshal(request)
}

// AskItems is [Operation.Ask] with a request about items. The guest receives the columns that
// it reads, and env with the settings of the operation and the parts of the query that it reads.
// env is not changed.
func (o *Operation) AskItems(ctx context.Context, rows abi.Rows, env *abi.Envelope, reply any) (changed bool, err error) {
	if o.changes {
		return false, o.noDocument()
	}
	own := o.narrowed(env)
	var r guest.Receipt
	defer r.Done()
	if changed, err = o.askItems(ctx, &r, rows, &own, reply); err != nil {
		return false, err
	}
	return changed, o.checkReply(changed, 0, reply)
}

func (o *Operation) noDocument() error {
	return fmt.Errorf("plugin %q: %s: %w (it answers with changes, see Operation.Changes)", o.plugin.name, o.name, ErrNoOperation)
}

// askItems sends a request about items. The caller calls r.done when it has used the reply.
func (o *Operation) askItems(ctx context.Context, r *guest.Receipt, rows abi.Rows, env *abi.Envelope, reply any) (changed bool, err error) {
	doc, err := abi.AppendItemsRequest(nil, rows, o.reads, env)
	if err != nil {
		return false, o.refuse(&guest.Fault{Reason: abi.ReasonInputTooLarge, Err: err})
	}
	return o.send(ctx, r, doc, count(rows), reply)
}

// send sends a document about a number of rows, and decodes the reply unless reply is nil.
func (o *Operation) send(ctx context.Context, r *guest.Receipt, doc []byte, rows int, reply any) (changed bool, err error) {
	err = o.call(ctx, r, func(in *guest.Instance) (err error) {
		var decode func([]byte) error
		if reply != nil {
			decode = func(out []byte) error { return abi.DecodeReplyWithin(out, reply, o.bounds(in, rows)) }
		}
		changed, err = in.Answered(o.op.JSONExport(), doc, decode)
		return err
	})
	return changed, err
}

// call runs f with a borrowed instance. r takes over the charge for what f decodes.
func (o *Operation) call(ctx context.Context, r *guest.Receipt, f func(*guest.Instance) error) error {
	return o.callWithin(ctx, o.timeout, r, f)
}

// callWithin is call with a timeout other than that of the operation.
func (o *Operation) callWithin(ctx context.Context, timeout time.Duration, r *guest.Receipt, f func(*guest.Instance) error) error {
	return o.plugin.with(ctx, o.name, o.step, timeout, func(in *guest.Instance) error {
		defer r.Take(in)
		return f(in)
	})
}

// bounds returns the bounds for decoding the answer to a request with the given number of rows.
func (o *Operation) bounds(in *guest.Instance, rows int) abi.Bounds {
	return abi.Bounds{Rows: rows, Writes: o.grant.Writes, MaxItems: o.grant.MaxItems, Meter: in}
}

// refuse returns the error for an answer that the host does not accept.
func (o *Operation) refuse(err error) error {
	return o.plugin.inStep(o.plugin.failure(o.name, nil, err), o.step)
}
