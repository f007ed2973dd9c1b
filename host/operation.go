package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
)

// operation is one operation of a plugin, made ready to be called: everything
// that can be checked or worked out before the first call is. It is safe for
// concurrent use.
type operation struct {
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
	scope    scope
	grant    grant
}

// grant is what the operation may add and change.
type grant struct {
	abi.Grant
	// source is what new items without one get.
	source pipeline.Source
	// ceiling is the highest priority the operator grants, 0 for the default of
	// the item's source; wish is the highest the manifest asks for, 0 for any.
	ceiling, wish int
	tokens        int
}

// highest is the highest priority that an item of a source may be given.
func (g *grant) highest(src pipeline.Source) int {
	p := g.ceiling
	if p == 0 {
		p = src.DefaultPriority()
	}
	if g.wish > 0 {
		p = min(p, g.wish)
	}
	return p
}

// operation checks the options of a step against what the plugin is.
func (p *Plugin) operation(op abi.Operation, o StepOptions) (*operation, error) {
	out, err := p.prepare(op, o)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %s: %w", p.name, op, err)
	}
	return out, nil
}

func (p *Plugin) prepare(op abi.Operation, o StepOptions) (*operation, error) {
	spec, ok := p.spec.Operation(op)
	if !ok {
		return nil, fmt.Errorf("%w: the plugin has %s", ErrNoOperation, p.spec.operationNames())
	}
	out := &operation{plugin: p, op: op, name: op, spec: spec, step: o.Step, reads: spec.Reads}
	for _, f := range []func(StepOptions) error{
		out.setLane, out.setReads, out.setSettings, out.setTopK, out.setTimeout, out.setScope, out.setGrant,
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
func (o *operation) setLane(StepOptions) error {
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

func (o *operation) setReads(opts StepOptions) error {
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

func (o *operation) setSettings(opts StepOptions) error {
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

func (o *operation) setTopK(opts StepOptions) error {
	info, _ := abi.LookupOperation(o.op)
	switch {
	case opts.TopK < 0:
		return fmt.Errorf("top_k %d: %w (want 1 or more)", opts.TopK, ErrConfig)
	case info.TopK:
		o.topK = pick(opts.TopK, pick(o.spec.Defaults.TopK, pipeline.DefaultTopK))
	}
	return nil
}

// setTimeout takes the step's, within that of the plugin.
func (o *operation) setTimeout(opts StepOptions) error {
	o.timeout = o.plugin.limits.Timeout
	if opts.Timeout < 0 {
		return fmt.Errorf("timeout %v: %w (want 0 or more)", opts.Timeout, ErrConfig)
	}
	if opts.Timeout > 0 {
		o.timeout = min(o.timeout, opts.Timeout)
	}
	return nil
}

func (o *operation) setScope(opts StepOptions) error {
	if len(opts.Scope) == 0 {
		o.scope = defaultScope(o.op)
		return nil
	}
	for _, s := range opts.Scope {
		if !s.Valid() || s == pipeline.SourceSystem {
			return fmt.Errorf("scope: source %q: %w (want sources other than system)", s, ErrConfig)
		}
		o.scope = o.scope.with(s)
	}
	return nil
}

func (o *operation) setGrant(opts StepOptions) error {
	if opts.Source != "" && (!opts.Source.Valid() || opts.Source == pipeline.SourceSystem) {
		return fmt.Errorf("source %q: %w (want a source other than system)", opts.Source, ErrConfig)
	}
	if opts.MaxPriority < 0 || opts.MaxPriority > pipeline.MaxPriority {
		return fmt.Errorf("max_priority %d: %w (want 1 to %d)", opts.MaxPriority, ErrConfig, pipeline.MaxPriority)
	}
	l := o.plugin.limits
	o.grant = grant{
		source: opts.Source, ceiling: opts.MaxPriority, wish: o.spec.MaxPriority, tokens: l.Tokens,
		// Which priority is allowed depends on the item: apply checks it.
		Grant: abi.Grant{Writes: o.spec.Writes, MaxItems: l.Items, MaxPriority: pipeline.MaxPriority, Decoded: true},
	}
	switch {
	case o.grant.source != "":
		o.grant.Sources = []string{string(o.grant.source)}
	case o.op == abi.OpMemory:
		o.grant.source = pipeline.SourceMemory
		o.grant.Sources = []string{string(pipeline.SourceMemory), string(pipeline.SourceConversation)}
	default:
		o.grant.source = pipeline.SourceRetrieval
		o.grant.Sources = []string{string(pipeline.SourceRetrieval)}
	}
	return nil
}

// call lends an instance to f. What f decodes is accounted for in r.
func (o *operation) call(ctx context.Context, r *receipt, f func(*instance) error) error {
	return o.callWithin(ctx, o.timeout, r, f)
}

// callWithin is call within a time of its own.
func (o *operation) callWithin(ctx context.Context, timeout time.Duration, r *receipt, f func(*instance) error) error {
	return o.plugin.with(ctx, o.name, o.step, timeout, func(in *instance) error {
		defer r.take(in)
		return f(in)
	})
}

// bounds are what the answer to a request with so many rows is decoded within.
func (o *operation) bounds(in *instance, rows int) abi.Bounds {
	return abi.Bounds{Rows: rows, Writes: o.grant.Writes, MaxItems: o.grant.MaxItems, Meter: in}
}

// changes asks the guest for its changes to rows. nil means no change. They are
// checked. The caller is done with r when it has applied them.
func (o *operation) changes(ctx context.Context, r *receipt, rows abi.Rows, env *abi.Envelope) (*abi.Changes, error) {
	var c *abi.Changes
	n := 0
	if rows != nil {
		n = rows.Len()
	}
	env.Settings = o.settings
	err := o.call(ctx, r, func(in *instance) (err error) {
		if c, err = in.changesOf(o.spec, o.lane, rows, o.reads, env, o.bounds(in, n)); err != nil || c == nil {
			return err
		}
		return o.check(c, n)
	})
	return c, err
}

// check holds a change set to the rows it is about and to the grant.
func (o *operation) check(c *abi.Changes, rows int) error {
	if n := len(c.Items); n > o.grant.MaxItems && o.grant.Writes.Has(abi.ChangeItems) {
		return faultf(abi.ReasonOutputTooLarge, "adds %d items, allowed %d", n, o.grant.MaxItems)
	}
	err := c.Check(rows, o.grant.Grant)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, abi.ErrNotGranted):
		return &fault{code: abi.ReasonDenied, err: err}
	}
	return &fault{code: abi.ReasonInvalidOutput, err: err}
}

// ask sends a document and reads the reply. changed is false when the guest has
// nothing to say.
func (o *operation) ask(ctx context.Context, request, reply any) (changed bool, err error) {
	doc, err := json.Marshal(request)
	if err != nil {
		return false, o.refuse(&fault{code: abi.ReasonInputTooLarge, err: fmt.Errorf("encode %T: %w", request, err)})
	}
	rows := 0
	if texts, ok := request.(abi.CountRequest); ok {
		rows = len(texts.Texts)
	}
	var r receipt
	defer r.done(o.plugin)
	return o.send(ctx, &r, doc, rows, reply)
}

// askItems is ask with an ItemsRequest. The caller is done with r when it has used the
// reply.
func (o *operation) askItems(ctx context.Context, r *receipt, v *rowView, env *abi.Envelope, reply any) (changed bool, err error) {
	env.Settings = o.settings
	var rows abi.Rows
	n := 0
	if v != nil {
		rows, n = v, v.Len()
	}
	doc, err := abi.AppendItemsRequest(nil, rows, o.reads, env)
	if err != nil {
		return false, o.refuse(&fault{code: abi.ReasonInputTooLarge, err: err})
	}
	return o.send(ctx, r, doc, n, reply)
}

// send sends a document about so many rows and decodes the reply, if one is wanted.
func (o *operation) send(ctx context.Context, r *receipt, doc []byte, rows int, reply any) (changed bool, err error) {
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

// refuse makes the error of an answer that the host does not accept.
func (o *operation) refuse(err error) error {
	return o.plugin.inStep(o.plugin.failure(o.name, nil, err), o.step)
}

// invalid is refuse with the reason invalid_output.
func (o *operation) invalid(format string, args ...any) error {
	return o.refuse(faultf(abi.ReasonInvalidOutput, format, args...))
}

// scope is a set of sources, a bit for each.
type scope uint8

func (s scope) with(src pipeline.Source) scope { return s | bitOf(src) }

// has is asked once per item.
func (s scope) has(src pipeline.Source) bool { return s&bitOf(src) != 0 }

// bitOf is the bit of a source, 0 for what is none. Texts that are constant are compared
// without a call.
func bitOf(src pipeline.Source) scope {
	switch src {
	case pipeline.SourceRetrieval:
		return 1 << 0
	case pipeline.SourceMemory:
		return 1 << 1
	case pipeline.SourceSystem:
		return 1 << 2
	case pipeline.SourceUser:
		return 1 << 3
	case pipeline.SourceTool:
		return 1 << 4
	case pipeline.SourceConversation:
		return 1 << 5
	}
	return 0
}

// defaultScope is what an operation sees: filters and rerankers what was found
// and said for this query, the others everything; none the system prompts.
func defaultScope(op abi.Operation) scope {
	var s scope
	sources := pipeline.Sources
	if op == abi.OpFilter || op == abi.OpRerank {
		sources = pipeline.ContextSources
	}
	for _, src := range sources {
		if src != pipeline.SourceSystem {
			s = s.with(src)
		}
	}
	return s
}
