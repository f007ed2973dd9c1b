package extismhost

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/answer"
	"github.com/anchor-host/anchor-host/host/internal/fault"
	"github.com/anchor-host/anchor-host/host/spec"
)

// Options say how an operation is called. The zero value takes what the manifest says.
type Options struct {
	Settings map[string]any // of the step, checked against the manifest's schema
	// Reads narrows what the guest receives to the columns and parts named. nil: does not.
	Reads []string
	// TopK is the most items that retrieve and rerank are asked for. 0: the manifest's, or 10.
	TopK int
	// Source is that of all new items. "": retrieval, for memory also conversation. MaxPriority is
	// the highest priority that new items and edits may have, 1 to 10. 0: the default of the source.
	Source      string
	MaxPriority int
	// MaxItems, MaxTokens and MaxOutput bound an answer: its new items, the tokens that it adds,
	// its bytes. 0: 10,000, a million and 8 MiB, as in anchor-host.
	MaxItems, MaxTokens, MaxOutput int
	// CountTokens counts the tokens of a text. nil: 4 bytes are one token.
	CountTokens func(text string) int
}

// Operation is an operation of an instance, ready to be called.
type Operation struct {
	instance *Instance
	op       abi.Operation
	o        Options
	reads    abi.ColumnSet
	parts    abi.PartSet
	settings json.RawMessage
	topK     int
	grant    answer.Grant
	writes   bool
}

// Operation checks options against the manifest. Errors wrap spec.ErrConfig or spec.ErrNoOperation.
func (i *Instance) Operation(op abi.Operation, o Options) (*Operation, error) {
	s := i.plugin.spec
	of, err := s.Operation(op)
	if op == abi.OpInit {
		err = fmt.Errorf("%w: Start has called it", spec.ErrNoOperation)
	}
	if err != nil {
		return nil, i.misused(op, err)
	}
	cols, parts, err := abi.NarrowedReads(op, o.Reads)
	out := &Operation{instance: i, op: op, o: o, reads: of.Reads & cols, parts: of.Parts.And(parts)}
	if missing := out.parts.Missing(op); err == nil && len(missing) > 0 {
		err = fmt.Errorf("name %s: the answer replaces what it stands for", missing[0])
	}
	if err != nil {
		return nil, i.misused(op, fmt.Errorf("reads: %w: %w", spec.ErrConfig, err))
	}
	if o.TopK < 0 || o.MaxPriority < 0 || o.MaxPriority > abi.MaxPriority || o.Source == "system" {
		return nil, i.misused(op, fmt.Errorf("%w (want top_k 0 or more, max_priority 0 to %d, a source other than system)", spec.ErrConfig, abi.MaxPriority))
	}
	info, _ := abi.LookupOperation(op)
	out.writes = len(info.Writes) > 0
	if info.TopK {
		out.topK = cmp.Or(o.TopK, of.Defaults.TopK, spec.DefaultTopK)
	}
	out.o.MaxOutput = cmp.Or(o.MaxOutput, 8<<20)
	if o.CountTokens == nil {
		out.o.CountTokens = func(text string) int { return (len(text) + 3) / 4 }
	}
	out.grant = answer.NewGrant(op, &of, answer.Terms{Source: o.Source, MaxPriority: o.MaxPriority,
		Items: cmp.Or(o.MaxItems, 10_000), Tokens: cmp.Or(o.MaxTokens, 1_000_000)})
	if out.settings, err = s.CheckSettings(op, o.Settings); err != nil {
		return nil, err
	}
	return out, nil
}

// misused is the error of a call that the caller got wrong.
func (i *Instance) misused(op abi.Operation, err error) error {
	return fmt.Errorf("plugin %q: %s: %w", i.plugin.spec.Name, op, err)
}

// Run calls retrieve, process, filter, rerank or memory, and returns the items after the changes
// of the guest. items is not changed. env may be nil; its settings are those of the options. The
// error is an *[Error]; then nothing has changed.
func (o *Operation) Run(ctx context.Context, items []abi.Item, env *abi.Envelope) ([]abi.Item, error) {
	c, err := o.Changes(ctx, items, env)
	if err != nil || c == nil {
		return items, err
	}
	tokens, texts := make([]int, len(c.Edits)+len(c.Items)), answer.NewTexts(c, abi.ItemRows(items))
	counts := make([]int, len(texts.Texts))
	for i, text := range texts.Texts {
		counts[i] = o.o.CountTokens(text)
	}
	if err := o.grant.Counted(texts, counts, tokens); err != nil {
		return items, o.instance.failed(o.op, err)
	}
	return o.apply(items, c, tokens, o.most(env)), nil
}

// Changes is Run without applying the changes, which are nil if nothing changes. All but the number
// of tokens that they add is checked.
func (o *Operation) Changes(ctx context.Context, items []abi.Item, env *abi.Envelope) (*abi.Changes, error) {
	if !o.writes {
		return nil, o.instance.misused(o.op, fmt.Errorf("%w: it answers with a document, see Ask", spec.ErrNoOperation))
	}
	doc, err := o.itemsRequest(items, env)
	out, changed, err := o.send(ctx, doc, err)
	if err != nil || !changed {
		return nil, err
	}
	c, within := &abi.Changes{}, abi.Bounds{Rows: len(items), Writes: o.grant.Writes, MaxItems: o.grant.MaxItems}
	if o.op == abi.OpMemory {
		var reply abi.MemoryReply
		err = abi.DecodeReplyWithin(out, &reply, within)
		c.Items = reply.Items
	} else {
		err = c.DecodeJSONWithin(out, within)
	}
	if o.op == abi.OpRetrieve {
		c.Items = c.Items[:min(len(c.Items), o.most(env))]
	}
	if err == nil {
		err = o.grant.Check(c, abi.ItemRows(items))
	}
	if err != nil {
		return nil, o.instance.failed(o.op, err)
	}
	return c, nil
}

// most is the top_k of a request.
func (o *Operation) most(e *abi.Envelope) int { return cmp.Or(cmp.Or(e, &abi.Envelope{}).TopK, o.topK) }

// itemsRequest is the document about items, with only what the guest reads.
func (o *Operation) itemsRequest(items []abi.Item, env *abi.Envelope) ([]byte, error) {
	own := *cmp.Or(env, &abi.Envelope{})
	own.Settings, own.Query, own.TopK = o.settings, o.parts.Query(own.Query), o.most(env)
	doc, err := abi.AppendItemsRequest(nil, abi.ItemRows(items), o.reads, &own)
	if err != nil {
		err = o.instance.failed(o.op, fault.New(abi.ReasonInputTooLarge, "%w", err))
	}
	return doc, err
}

// Ask calls an operation that answers with a document, and decodes the answer into reply, a
// pointer to the document that the contract names, or nil to ignore it. request points to the document
// of the contract. It is sent with the settings of the options, and with only what the guest reads. changed is false if the guest answered that nothing changes.
func (o *Operation) Ask(ctx context.Context, request, reply any) (changed bool, err error) {
	if o.writes {
		return false, o.instance.misused(o.op, fmt.Errorf("%w: it answers with changes, see Run", spec.ErrNoOperation))
	}
	info, _ := abi.LookupOperation(o.op)
	named := func(name string, v any) bool { return reflect.TypeOf(v) == reflect.TypeOf(abi.NewDocument(name)) }
	if !named(info.Request, request) || reply != nil && !named(info.Reply, reply) {
		return false, o.instance.misused(o.op, fmt.Errorf("%w (got %T and %T, want *abi.%s and *abi.%s)", spec.ErrConfig, request, reply, info.Request, info.Reply))
	}
	doc, texts, err := o.document(request)
	out, changed, err := o.send(ctx, doc, err)
	if err != nil {
		return false, err
	}
	if changed = changed && reply != nil; changed {
		err = abi.DecodeReplyWithin(out, reply, abi.Bounds{Rows: texts})
	}
	if err == nil {
		err = answer.CheckReply(reply, changed, texts, o.parts)
	}
	if err != nil {
		return false, o.instance.failed(o.op, err)
	}
	return changed, nil
}

// document encodes a request, and returns the number of rows or texts in it.
func (o *Operation) document(request any) (doc []byte, rows int, err error) {
	switch r := request.(type) {
	case *abi.ItemsRequest:
		doc, err = o.itemsRequest(r.Items, &abi.Envelope{Query: &r.Query, TopK: r.TopK, TokensLeft: r.TokensLeft})
		return doc, len(r.Items), err
	case *abi.CountRequest:
		rows = len(r.Texts)
	case *abi.FormatRequest:
		own, read := *r, &abi.ItemsRequest{}
		if doc, err = abi.AppendItemsRequest(nil, abi.ItemRows(r.Items), o.reads, nil); err == nil {
			read, err = abi.DecodeItemsRequest(doc)
		}
		own.Items, request, rows = read.Items, &own, len(r.Items)
	}
	if err == nil {
		doc, err = o.encode(request)
	}
	if err != nil {
		return nil, 0, o.instance.failed(o.op, fault.New(abi.ReasonInputTooLarge, "encode %T: %w", request, err))
	}
	return doc, rows, nil
}

// encode writes a document with the parts that the guest reads and the settings of the options.
func (o *Operation) encode(request any) (doc []byte, err error) {
	var members map[string]json.RawMessage
	if request, err = o.parts.Request(o.op, request); err == nil {
		doc, err = json.Marshal(request)
	}
	if err == nil {
		err = json.Unmarshal(doc, &members)
	}
	if err != nil {
		return nil, err
	}
	if members["settings"] = o.settings; len(o.settings) == 0 {
		delete(members, "settings")
	}
	return json.Marshal(members)
}

// send calls the guest with a document, if making it did not fail with failed, and bounds its
// output. changed says that there is an answer to decode.
func (o *Operation) send(ctx context.Context, doc []byte, failed error) (out []byte, changed bool, err error) {
	if failed != nil {
		return nil, false, failed
	}
	status, out, err := o.instance.Call(ctx, o.op, doc)
	info, _ := abi.LookupOperation(o.op)
	switch {
	case err != nil:
		return nil, false, err
	case status == abi.StatusNoChange || !info.Answer:
		return nil, false, nil
	case len(out) == 0:
		err = fault.New(abi.ReasonInvalidOutput, "no output (status 1 says that nothing changes)")
	case len(out) > o.o.MaxOutput:
		err = fault.New(abi.ReasonOutputTooLarge, "output of %d bytes, allowed %d", len(out), o.o.MaxOutput)
	default:
		return out, true, nil
	}
	return nil, false, o.instance.failed(o.op, err)
}

// apply applies checked changes by section 10 of the contract. tokens are those of the new texts.
func (o *Operation) apply(items []abi.Item, c *abi.Changes, tokens []int, topK int) []abi.Item {
	rows := slices.Clone(items)
	for i, e := range c.Edits {
		it := &rows[e.Row]
		if e.Content != nil && *e.Content != it.Content {
			it.Content, it.TokenCount = *e.Content, tokens[i]
		}
		if e.Metadata != nil {
			it.Metadata = e.Metadata
		}
		if e.Priority != nil {
			it.Priority = *e.Priority
		}
	}
	for _, s := range c.Scores {
		rows[s.Row].Score = s.Score
	}
	for i := range c.Items {
		n, sum := &c.Items[i], sha256.Sum256([]byte(c.Items[i].Content))
		id := o.instance.plugin.spec.Name + ":" + cmp.Or(n.Key, hex.EncodeToString(sum[:8])) // as anchor-host makes it
		rows = append(rows, abi.Item{ID: id, Content: n.Content, Source: n.Source, Score: n.Score, Priority: n.Priority,
			TokenCount: tokens[len(c.Edits)+i], Metadata: n.Metadata, CreatedAt: n.CreatedAt})
	}
	return o.arrange(rows, len(items), c, topK)
}

// arrange returns the survivors in their order. The first n rows were in the request.
func (o *Operation) arrange(rows []abi.Item, n int, c *abi.Changes, topK int) []abi.Item {
	out, left := rows, c.Order
	if left == nil {
		left = c.Keep
	}
	if left != nil {
		out = make([]abi.Item, 0, len(rows))
		for _, row := range left {
			out = append(out, rows[row])
		}
		if c.Order == nil {
			out = append(out, rows[n:]...)
		}
	}
	switch best := func(a, b abi.Item) int { return cmp.Compare(b.Score, a.Score) }; {
	case c.Order != nil && len(c.Scores) == 0: // the scores go to the rows in their new order
		for i, it := range slices.SortedStableFunc(slices.Values(out), best) {
			out[i].Score = it.Score
		}
	case o.op == abi.OpRerank && c.Order == nil && len(c.Scores) > 0:
		slices.SortStableFunc(out, best)
	}
	if o.op == abi.OpRerank && topK > 0 && len(out) > topK {
		out = out[:topK]
	}
	return out
}
