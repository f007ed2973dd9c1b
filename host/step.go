package host

import (
	"context"
	"fmt"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
)

// Step returns a step of a build that runs the operation retrieve, process,
// filter or rerank: the shortest way from items to guest and back. Errors wrap
// ErrNoOperation or ErrConfig. The step is safe for concurrent use.
func (p *Plugin) Step(op abi.Operation, o StepOptions) (pipeline.Step, error) {
	switch op {
	case abi.OpRetrieve, abi.OpProcess, abi.OpFilter, abi.OpRerank:
	default:
		return nil, fmt.Errorf("plugin %q: %s: %w (a step runs retrieve, process, filter or rerank)", p.name, op, ErrNoOperation)
	}
	out, err := p.operation(op, o)
	if err != nil {
		return nil, err
	}
	if op == abi.OpRetrieve {
		return &retrieveStep{retriever{out}}, nil
	}
	return &changeStep{out}, nil
}

// changeStep runs process, filter or rerank.
type changeStep struct{ o *operation }

// Isolated implements pipeline.Isolated: a guest only ever gets copies.
func (s *changeStep) Isolated() {}

// Run implements pipeline.Step.
func (s *changeStep) Run(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return s.RunInto(ctx, q, items, nil)
}

// RunInto implements pipeline.ListWriter.
func (s *changeStep) RunInto(ctx context.Context, q *pipeline.Query, items, spare []pipeline.Item) ([]pipeline.Item, error) {
	return s.o.changeItems(ctx, q, items, spare, s.o.topK)
}

// changeItems shows the guest the items of its scope and applies its changes, in spare
// if they have room there.
func (o *operation) changeItems(ctx context.Context, q *pipeline.Query, items, spare []pipeline.Item, topK int) ([]pipeline.Item, error) {
	a := questions.Get().(*question)
	defer a.end()
	v := &a.view
	v.show(items, o.scope)
	v.spare = spare
	a.query = guestQuery(q)
	env := abi.Envelope{Query: &a.query, TopK: topK, TokensLeft: tokensLeft(ctx, items)}
	var r receipt
	defer r.done(o.plugin)
	c, err := o.changes(ctx, &r, v, &env)
	if err != nil {
		return nil, err
	}
	defer recycle(c)
	if c != nil && len(c.Edits)+len(c.Items) > 0 {
		var cancel context.CancelFunc
		ctx, cancel = r.context(ctx)
		defer cancel()
	}
	return o.apply(ctx, v, c, topK)
}

// question is what a guest is shown. Nothing refers to it when the call is over, so that
// the next one uses it again.
type question struct {
	view  rowView
	query abi.Query
}

var questions = sync.Pool{New: func() any { return new(question) }}

// end lets go of what was shown.
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

// Append implements pipeline.Appender.
func (s *retrieveStep) Append(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return s.find(ctx, q, s.o.topK, tokensLeft(ctx, items))
}

// Run implements pipeline.Step.
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

// Retrieve implements pipeline.Retriever.
func (r retriever) Retrieve(ctx context.Context, q *pipeline.Query, topK int) ([]pipeline.Item, error) {
	if topK <= 0 {
		topK = r.o.topK
	}
	return r.find(ctx, q, topK, tokensLeft(ctx, nil))
}

// find asks the guest for new items, best first, and cuts what exceeds topK.
func (r retriever) find(ctx context.Context, q *pipeline.Query, topK, tokensLeft int) ([]pipeline.Item, error) {
	var answer receipt
	defer answer.done(r.o.plugin)
	c, err := r.o.changes(ctx, &answer, nil, &abi.Envelope{Query: abiQuery(q), TopK: topK, TokensLeft: tokensLeft})
	if err != nil || c == nil {
		return nil, err
	}
	ctx, cancel := answer.context(ctx)
	defer cancel()
	return r.o.counted(ctx, c.Items[:min(topK, len(c.Items))])
}

// counted makes items of what a guest adds, counted and within the grant.
func (o *operation) counted(ctx context.Context, added []abi.NewItem) ([]pipeline.Item, error) {
	items, err := o.newItems(added)
	if err != nil {
		return nil, o.refuse(err)
	}
	if len(items) == 0 {
		return nil, nil
	}
	places := make([]*pipeline.Item, len(items))
	for i := range items {
		places[i] = &items[i]
	}
	if err := o.countItems(ctx, places, make([]int, len(items))); err != nil {
		return nil, o.refuse(err)
	}
	return items, nil
}

// bytesPerToken estimates the tokens of items nobody has counted yet.
const bytesPerToken = 4

// tokensLeft is the room in the window, 0 when it is full or not known. Items
// without a count are estimated, as counting them here would cost more than
// most steps.
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
