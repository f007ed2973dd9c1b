package host

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// Operation is one operation of a plugin, or a function of a foreign module, made ready to
// be called: everything that can be checked or worked out before the first call is. What it
// answers is held to the contract, to what is granted and to the limits. It is safe for
// concurrent use. Package host/steps makes parts of a pipeline of it.
type Operation struct {
	plugin *Plugin
	op     abi.Operation
	// name is what errors call it: the operation, or a function's name.
	name     abi.Operation
	spec     OperationSpec
	step     string
	lane     string
	reads    abi.ColumnSet
	settings json.RawMessage
	topK     int
	timeout  time.Duration
	grant    grant
	// changes says that it answers with changes or new items, which a grant is about.
	changes bool
	// foreign says how it is a function of a foreign module, nil if it is none.
	foreign *foreignCall
}

// Answer is what an operation changes in the items it was called with. Who has one calls
// Release when it has been used.
type Answer struct {
	// Changes are within what is granted; nil for none. New items have their source and
	// their priority stated.
	Changes *abi.Changes
	// Tokens are the tokens of the texts of Changes.Edits, 0 for an edit without a text
	// that is new, and then of Changes.Items, as the host counts them.
	Tokens []int

	plugin  *Plugin
	receipt receipt
}

// Release ends the use of an answer. Until then what was decoded of it counts as memory
// of the plugin. Afterwards nothing may refer to the lists of its changes; the texts and
// metadata in them may be kept.
func (a *Answer) Release() {
	a.receipt.done(a.plugin)
	recycle(a.Changes)
	a.Changes = nil
}

// Operation makes an operation of the plugin ready to be called. Errors wrap
// ErrNoOperation or ErrConfig.
func (p *Plugin) Operation(op abi.Operation, o OperationOptions) (*Operation, error) {
	out, err := p.prepare(op, o)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %s: %w", p.name, op, err)
	}
	return out, nil
}

func (p *Plugin) prepare(op abi.Operation, o OperationOptions) (*Operation, error) {
	spec, ok := p.spec.Operation(op)
	if !ok {
		return nil, fmt.Errorf("%w: the plugin has %s", ErrNoOperation, p.spec.operationNames())
	}
	info, _ := abi.LookupOperation(op)
	out := &Operation{plugin: p, op: op, name: op, spec: spec, step: o.Step, reads: spec.Reads, changes: len(info.Writes) > 0}
	for _, f := range []func(OperationOptions) error{
		out.setLane, out.setReads, out.setSettings, out.setTopK, out.setTimeout, out.setGrant,
	} {
		if err := f(o); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// operationNames lists the operations for a message.
func (s *Spec) operationNames() string {
	if s.Foreign {
		return "none: it is a foreign module, whose functions are called by name"
	}
	names := make([]abi.Operation, len(s.Operations))
	for i, o := range s.Operations {
		names[i] = o.Operation
	}
	return fmt.Sprint(names)
}

// setLane takes the batch lane where there is one and nothing else is asked for.
func (o *Operation) setLane(OperationOptions) error {
	info, _ := abi.LookupOperation(o.op)
	o.lane = o.plugin.cfg.Lane
	switch {
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
	if opts.Reads == nil {
		return nil
	}
	narrowed, err := abi.ColumnsOf(opts.Reads)
	if err != nil {
		return fmt.Errorf("reads: %w: %w", ErrConfig, err)
	}
	o.reads &= narrowed
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
		o.topK = pick(opts.TopK, pick(o.spec.Defaults.TopK, DefaultTopK))
	}
	return nil
}

// setTimeout takes the one stated, within that of the plugin.
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
	o.grant = newGrant(o.op, &o.spec, opts.Source, opts.MaxPriority, &o.plugin.limits)
	return nil
}

// Reads are the columns of items that the guest receives.
func (o *Operation) Reads() abi.ColumnSet { return o.reads }

// Settings are what travels with each call, nil if nothing does. They must not be changed.
func (o *Operation) Settings() json.RawMessage { return o.settings }

// Changes calls retrieve, process, filter, rerank, memory or a function of a foreign module
// and returns what it changes in rows, which may be nil for none. The settings of env are
// set, and so is its TopK where it is 0 and the operation has such a bound. What a retrieve
// answers beyond that bound is left out. Errors wrap ErrNoOperation for other operations,
// or are a *[PluginError].
func (o *Operation) Changes(ctx context.Context, rows abi.Rows, env *abi.Envelope) (Answer, error) {
	if !o.changes {
		return Answer{}, fmt.Errorf("plugin %q: %s: %w (it answers with a document, see Operation.Ask)", o.plugin.name, o.name, ErrNoOperation)
	}
	a := Answer{plugin: o.plugin}
	env.Settings, env.TopK = o.settings, pick(env.TopK, o.topK)
	if err := o.change(ctx, rows, env, &a); err != nil {
		a.Release()
		return Answer{}, err
	}
	return a, nil
}

// change is Changes with a place for the answer, which has to be released in any case.
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

// callForChanges asks the guest for its changes to rows, which are checked.
func (o *Operation) callForChanges(ctx context.Context, rows abi.Rows, env *abi.Envelope, a *Answer) error {
	n := count(rows)
	return o.call(ctx, &a.receipt, func(in *instance) (err error) {
		a.Changes, err = in.changesOf(o.spec, o.lane, rows, o.reads, env, o.bounds(in, n))
		if err != nil || a.Changes == nil {
			return err
		}
		return o.grant.check(a.Changes, n)
	})
}

// remember asks the guest for items of memory.
func (o *Operation) remember(ctx context.Context, env *abi.Envelope, a *Answer) error {
	var reply abi.MemoryReply
	changed, err := o.askItems(ctx, &a.receipt, nil, env, &reply)
	if err != nil || !changed {
		return err
	}
	a.Changes = &abi.Changes{Items: reply.Items}
	if err := o.grant.check(a.Changes, 0); err != nil {
		return o.refuse(err)
	}
	return nil
}

// count is the number of rows, which may be nil.
func count(rows abi.Rows) int {
	if rows == nil {
		return 0
	}
	return rows.Len()
}

// Ask sends a document to an operation and reads its answer into reply, a pointer to the
// document that the contract names, or nil if the answer does not matter. changed is false
// when the guest leaves things as they are. Errors wrap ErrNoOperation for operations that
// answer with changes, or are a *[PluginError].
func (o *Operation) Ask(ctx context.Context, request, reply any) (changed bool, err error) {
	if o.changes {
		return false, o.noDocument()
	}
	doc, err := json.Marshal(request)
	if err != nil {
		return false, o.refuse(&fault{code: abi.ReasonInputTooLarge, err: fmt.Errorf("encode %T: %w", request, err)})
	}
	texts := 0
	if r, ok := request.(abi.CountRequest); ok {
		texts = len(r.Texts)
	}
	var r receipt
	defer r.done(o.plugin)
	if changed, err = o.send(ctx, &r, doc, texts, reply); err != nil {
		return false, err
	}
	return changed, o.checkReply(changed, texts, reply)
}

// AskItems is [Operation.Ask] with a request about items, of which the guest receives the
// columns that it reads. The settings of env are set.
func (o *Operation) AskItems(ctx context.Context, rows abi.Rows, env *abi.Envelope, reply any) (changed bool, err error) {
	if o.changes {
		return false, o.noDocument()
	}
	env.Settings = o.settings
	var r receipt
	defer r.done(o.plugin)
	if changed, err = o.askItems(ctx, &r, rows, env, reply); err != nil {
		return false, err
	}
	return changed, o.checkReply(changed, 0, reply)
}

func (o *Operation) noDocument() error {
	return fmt.Errorf("plugin %q: %s: %w (it answers with changes, see Operation.Changes)", o.plugin.name, o.name, ErrNoOperation)
}

// askItems sends a request about items. The caller is done with r when it has used the reply.
func (o *Operation) askItems(ctx context.Context, r *receipt, rows abi.Rows, env *abi.Envelope, reply any) (changed bool, err error) {
	doc, err := abi.AppendItemsRequest(nil, rows, o.reads, env)
	if err != nil {
		return false, o.refuse(&fault{code: abi.ReasonInputTooLarge, err: err})
	}
	return o.send(ctx, r, doc, count(rows), reply)
}

// send sends a document about so many rows and decodes the reply, if one is wanted.
func (o *Operation) send(ctx context.Context, r *receipt, doc []byte, rows int, reply any) (changed bool, err error) {
	err = o.call(ctx, r, func(in *instance) (err error) {
		var decode func([]byte) error
		if reply != nil {
			decode = func(out []byte) error { return abi.DecodeReplyWithin(out, reply, o.bounds(in, rows)) }
		}
		changed, err = in.answered(o.op.JSONExport(), doc, decode)
		return err
	})
	return changed, err
}

// call lends an instance to f. What f decodes is accounted for in r.
func (o *Operation) call(ctx context.Context, r *receipt, f func(*instance) error) error {
	return o.callWithin(ctx, o.timeout, r, f)
}

// callWithin is call within a time of its own.
func (o *Operation) callWithin(ctx context.Context, timeout time.Duration, r *receipt, f func(*instance) error) error {
	return o.plugin.with(ctx, o.name, o.step, timeout, func(in *instance) error {
		defer r.take(in)
		return f(in)
	})
}

// bounds are what the answer to a request with so many rows is decoded within.
func (o *Operation) bounds(in *instance, rows int) abi.Bounds {
	return abi.Bounds{Rows: rows, Writes: o.grant.Writes, MaxItems: o.grant.MaxItems, Meter: in}
}

// refuse makes the error of an answer that the host does not accept.
func (o *Operation) refuse(err error) error {
	return o.plugin.inStep(o.plugin.failure(o.name, nil, err), o.step)
}

// invalid is refuse with the reason invalid_output.
func (o *Operation) invalid(format string, args ...any) error {
	return o.refuse(faultf(abi.ReasonInvalidOutput, format, args...))
}
