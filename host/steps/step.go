package steps

import (
	"context"
	"fmt"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/listwriter"
	"github.com/anchor-host/anchor-host/pipeline"
)

// New returns a step of a build that runs the operation retrieve, process, filter or
// rerank. Errors wrap host.ErrNoOperation or host.ErrConfig. The step is safe for
// concurrent use.
func New(p *host.Plugin, op abi.Operation, o Options) (pipeline.Step, error) {
	switch op {
	case abi.OpRetrieve, abi.OpProcess, abi.OpFilter, abi.OpRerank:
	default:
		return nil, fmt.Errorf("plugin %q: %s: %w (a step runs retrieve, process, filter or rerank)", p.Name(), op, host.ErrNoOperation)
	}
	out, err := prepare(p, op, o)
	if err != nil {
		return nil, err
	}
	if op == abi.OpRetrieve {
		return &retrieveStep{retriever{out}}, nil
	}
	return &changeStep{o: out}, nil
}

// Function returns a step of a build that calls a function of a foreign module. Its answer
// may do the same as that of a plugin with the operation process. The operator's
// configuration replaces the manifest. A status other than 0, or a message, is an error.
// Errors wrap host.ErrNoOperation, host.ErrNoExport or host.ErrConfig. The step is safe for
// concurrent use.
func Function(p *host.Plugin, function string, o FunctionOptions) (pipeline.Step, error) {
	called, err := p.Function(function, host.FunctionOptions{OperationOptions: o.called(), Input: o.Input, Output: o.Output})
	if err != nil {
		return nil, err
	}
	s, err := o.placed(abi.OpProcess)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: function %q: %w", p.Name(), function, err)
	}
	return &changeStep{o: &operation{Operation: called, op: abi.OpProcess, step: o.Step, scope: s, module: moduleOf(p)}}, nil
}

var _ listwriter.Step = (*changeStep)(nil)

// changeStep runs process, filter or rerank, or a function of a foreign module.
type changeStep struct {
	o *operation
	// topK is what the guest is asked for, 0 for the TopK of the operation.
	topK int
}

// Isolated implements pipeline.Isolated: a guest only ever gets copies.
func (s *changeStep) Isolated() {}

func (s *changeStep) Run(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return s.RunInto(ctx, q, items, nil)
}

// RunInto implements listwriter.Step. It sends the items of the scope to the guest and applies its
// changes.
func (s *changeStep) RunInto(ctx context.Context, q *pipeline.Query, items, spare []pipeline.Item) ([]pipeline.Item, error) {
	o := s.o
	a := questions.Get().(*question)
	defer a.end()
	v := &a.view
	v.show(items, o.scope)
	v.spare = spare
	if err := v.addVectors(ctx, o.Reads()); err != nil {
		return nil, err
	}
	var err error
	if a.query, err = o.guestQuery(ctx, q); err != nil {
		return nil, err
	}
	env := abi.Envelope{Query: &a.query, TopK: s.topK, TokensLeft: tokensLeft(ctx, items)}
	answer, err := o.Changes(ctx, v, &env)
	if err != nil {
		return nil, err
	}
	defer answer.Release()
	return o.apply(v, &answer, answer.TopK), nil
}

// question holds the data for one call. Nothing refers to it after the call, so that the
// next call uses its memory again.
type question struct {
	view  rowView
	query abi.Query
}

var questions = sync.Pool{New: func() any { return new(question) }}

// end clears the references to the items.
func (a *question) end() {
	const most = 1 << 16
	room := a.view.room
	if a.view.at != nil {
		room = a.view.at
	}
	if cap(room) > most {
		room = nil
	}
	*a = question{view: rowView{room: room}}
	questions.Put(a)
}

// retrieveStep runs retrieve.
type retrieveStep struct{ retriever }

func (s *retrieveStep) Append(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return s.o.added(ctx, q, &abi.Envelope{TokensLeft: tokensLeft(ctx, items)})
}

func (s *retrieveStep) Run(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	more, err := s.Append(ctx, q, items)
	if err != nil {
		return nil, err
	}
	return append(items[:len(items):len(items)], more...), nil
}

// retriever runs retrieve as a pipeline.Retriever.
type retriever struct{ o *operation }

// Isolated implements pipeline.Isolated: a guest only ever gets copies.
func (r retriever) Isolated() {}

func (r retriever) Retrieve(ctx context.Context, q *pipeline.Query, topK int) ([]pipeline.Item, error) {
	return r.o.added(ctx, q, &abi.Envelope{TopK: max(0, topK), TokensLeft: tokensLeft(ctx, nil)})
}

// added asks the guest for items by a query, the best first. It returns nil if there are none.
func (o *operation) added(ctx context.Context, q *pipeline.Query, env *abi.Envelope) (items []pipeline.Item, err error) {
	if env.Query, err = o.abiQuery(ctx, q); err != nil {
		return nil, err
	}
	answer, err := o.Changes(ctx, nil, env)
	if err != nil {
		return nil, err
	}
	defer answer.Release()
	if answer.Changes == nil || len(answer.Changes.Items) == 0 {
		return nil, nil
	}
	return o.newItems(&answer), nil
}

// bytesPerToken is the estimate for items that have no token count yet.
const bytesPerToken = 4

// tokensLeft returns the room in the window in tokens, 0 if the window is full or its size
// is not known. It estimates items without a count, because counting them would cost more
// than most steps.
func tokensLeft(ctx context.Context, items []pipeline.Item) int {
	info, ok := pipeline.BuildInfoFrom(ctx)
	if !ok {
		return 0
	}
	left := info.MaxTokens
	for i := range items {
		n := items[i].TokenCount
		if n == 0 {
			n = (len(items[i].Content) + bytesPerToken - 1) / bytesPerToken
		}
		left -= n
	}
	return max(left, 0)
}
