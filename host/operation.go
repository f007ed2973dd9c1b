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
	// name is the name in errors: that of the operation or of the function. export is what a
	// document is sent to.
	name     abi.Operation
	export   string
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
		return nil, fmt.Errorf("plugin %q: %s: %w", p.setup.name, op, err)
	}
	return out, nil
}

func (p *Plugin) prepare(op abi.Operation, o OperationOptions) (*Operation, error) {
	spec, err := p.setup.spec.Operation(op)
	if err != nil {
		return nil, err
	}
	info, _ := abi.LookupOperation(op)
	out := &Operation{plugin: p, op: op, name: op, export: op.JSONExport(), spec: spec, step: o.Step, reads: spec.Reads, parts: spec.Parts, changes: len(info.Writes) > 0}
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
	o.lane = o.plugin.setup.cfg.Lane
	switch {
	case o.plugin.setup.host.cfg.OnRecord != nil && o.spec.HasLane(LaneJSON): // whose documents are recorded
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
	schema := o.plugin.setup.schemas[o.op]
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
	o.timeout = o.plugin.setup.limits.Timeout
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
	limits := &o.plugin.setup.limits
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
		return Answer{}, fmt.Errorf("plugin %q: %s: %w (it answers with a document, see Operation.Ask)", o.plugin.setup.name, o.name, ErrNoOperation)
	}
	own := o.narrowed(env)
	own.TopK = cmp.Or(own.TopK, o.topK)
	a := Answer{TopK: own.TopK}
	var err error
	if o.foreign != nil && o.foreign.input == InputText {
		err = o.texts(ctx, rows, &a)
	} else {
		err = o.plugin.do(ctx, o.call(), &a.receipt, func(in *guest.Instance) (err error) {
			within := o.bounds(in, count(rows))
			if o.lane == LaneBatch {
				a.Changes, err = in.BatchChanges(o.op, rows, o.reads, &own, within)
			} else if doc, failed := o.document(in, rows, &own); failed != nil {
				err = failed
			} else {
				err = in.Document(o.export, doc, false, func(s abi.Status, out []byte) (err error) {
					a.Changes, err = o.decoded(in, s, out, within)
					return err
				})
			}
			if err == nil && a.Changes != nil {
				err = o.check(a.Changes, rows, own.TopK)
			}
			if err != nil && o.lane == LaneBatch {
				in.NoteRequest(rows, o.reads, &own)
			}
			return err
		})
	}
	if err == nil {
		if priced := o.price(ctx, rows, &a); priced != nil {
			failed := o.refuse(priced)
			o.plugin.recorded(ctx, nil, o.call(), failed)
			err = failed
		}
	}
	if err != nil {
		a.Release()
		return Answer{}, err
	}
	return a, nil
}

// call is a call of the operation.
func (o *Operation) call() call {
	return call{op: o.name, step: o.step, timeout: o.timeout, from: &o.plugin.lending}
}

// narrowed returns the parts of env that the guest receives, without rows.
func (o *Operation) narrowed(env *abi.Envelope) abi.Envelope {
	own := *env
	own.Settings, own.Query = o.settings, o.parts.Query(own.Query)
	return own
}

// document is the input of a guest that is asked for changes by a document.
func (o *Operation) document(in *guest.Instance, rows abi.Rows, env *abi.Envelope) ([]byte, error) {
	switch {
	case o.foreign == nil || o.foreign.input == InputRequest:
		return in.Exchange.ItemsRequest(rows, o.reads, env)
	case env.Query == nil:
		return nil, nil
	}
	return []byte(env.Query.Text), nil
}

// check drops new items beyond topK, and holds changes to the grant.
func (o *Operation) check(c *abi.Changes, rows abi.Rows, topK int) error {
	if (o.op == abi.OpRetrieve || o.foreign != nil) && len(c.Items) > topK {
		c.Items = c.Items[:topK]
	}
	return o.grant.Check(c, rows)
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
	err = o.plugin.do(ctx, o.call(), &r, o.asking(doc, texts, reply, &changed))
	return changed && err == nil, err
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
	doc, err := abi.AppendItemsRequest(nil, rows, o.reads, &own)
	if err != nil {
		return false, o.refuse(&guest.Fault{Reason: abi.ReasonInputTooLarge, Err: err})
	}
	var r guest.Receipt
	defer r.Done()
	err = o.plugin.do(ctx, o.call(), &r, o.asking(doc, count(rows), reply, &changed))
	return changed && err == nil, err
}

func (o *Operation) noDocument() error {
	return fmt.Errorf("plugin %q: %s: %w (it answers with changes, see Operation.Changes)", o.plugin.setup.name, o.name, ErrNoOperation)
}

// asking sends a document about a number of rows or texts, and decodes and checks the reply. It does
// not decode a reply that is nil.
func (o *Operation) asking(doc []byte, rows int, reply any, changed *bool) func(*guest.Instance) error {
	return func(in *guest.Instance) error {
		return in.Document(o.export, doc, false, func(s abi.Status, out []byte) error {
			*changed = s != abi.StatusNoChange && reply != nil
			switch {
			case *changed && len(out) == 0:
				return guest.NoOutput()
			case *changed:
				if err := abi.DecodeReplyWithin(out, reply, o.bounds(in, rows)); err != nil {
					return err
				}
			}
			return answer.CheckReply(reply, *changed, rows, o.parts)
		})
	}
}

// bounds returns the bounds for decoding the answer to a request with the given number of rows.
func (o *Operation) bounds(in *guest.Instance, rows int) abi.Bounds {
	return abi.Bounds{Rows: rows, Writes: o.grant.Writes, MaxItems: o.grant.MaxItems, Meter: in}
}

// refuse returns the error for an answer that the host does not accept.
func (o *Operation) refuse(err error) *PluginError {
	return o.plugin.setup.failed(o.call(), nil, err)
}
