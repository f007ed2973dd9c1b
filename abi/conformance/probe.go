package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// ordinaryRequests is the number of ordinary requests that are sent.
const ordinaryRequests = 3

// nothingToJudge is why a case about an answer is skipped.
const nothingToJudge = "the operation has no answer"

// What the input cases send.
const (
	manyItems  = 5000
	largeBytes = 10_000_000
	// What tryTopK takes of answers into its query.
	maxQueryItems = 4
	maxQueryBytes = 200
)

// probe holds the state that the cases of one operation in one lane share.
type probe struct {
	ctx      context.Context
	s        *subject
	op       *Operation
	lane     string
	settings json.RawMessage
	// extism makes calls as every Extism host does; see Call.
	extism bool
	// guest is reset between calls as in production, and kept keeps its state. kept is loaded at
	// first use.
	guest, kept Guest
	// plain are the answers to ordinary requests, first is the first fault in them.
	first *trouble
	plain []*reply
}

// ask makes one call and judges the answer.
func (p *probe) ask(ctx context.Context, g Guest, req *request) (*reply, *trouble) {
	b, err := req.encode(p.lane)
	if err != nil {
		return nil, troublef(caseAnswers, "the kit cannot make the request: %s", err)
	}
	return p.send(ctx, g, req, b)
}

func (p *probe) send(ctx context.Context, g Guest, req *request, b []byte) (*reply, *trouble) {
	at := &attempt{req: req}
	p.s.last = at
	a, err := g.Call(ctx, Call{Operation: p.op.Operation, Lane: p.lane, Extism: p.extism, Request: b})
	if err != nil {
		if known := traced(nil); errors.As(err, &known) {
			at.wrote, at.stack = known.GuestTrace()
		}
		t := callTrouble(p.lane, err)
		t.at = at
		return nil, t
	}
	rep, t := read(p.ctx, &p.s.d, p.op, req, p.lane, a)
	if t != nil {
		t.at = at
	}
	return rep, t
}

func (p *probe) build(s shape) *request {
	return build(p.op, s, p.s.o.Seed, p.settings)
}

// plainShape is the i-th ordinary request.
func plainShape(i int) shape { return shape{n: []int{8, 3, 20, 5, 1}[i], variant: i} }

// askPlain makes the ordinary requests, which decide the answer cases.
func (p *probe) askPlain() {
	n := ordinaryRequests
	if p.op.Operation == abi.OpObserve {
		n = len(eventTypes)
	}
	for i := range n {
		rep, t := p.ask(p.ctx, p.guest, p.build(plainShape(i)))
		if t != nil {
			p.first = t
			return
		}
		p.plain = append(p.plain, rep)
	}
}

// judged is the outcome of a case that the ordinary answers decide.
func (p *probe) judged(id string) outcome {
	info, _ := abi.LookupOperation(p.op.Operation)
	switch {
	case p.first == nil && !info.Answer && strings.HasPrefix(id, "answer/"):
		return skipped(nothingToJudge)
	case p.first == nil:
		return passed
	case p.first.id == id:
		p.s.last = p.first.at
		return failed("%s", p.first.detail)
	case id == caseAnswers && p.first.reason == "":
		return passed
	}
	return skipped("see %s", p.first.id)
}

// useless reports whether no other case can be checked.
func (p *probe) useless() bool { return p.first != nil && p.first.reason != "" }

// verdictOf turns the fault of an answer into the outcome of the case that asked for it.
func (p *probe) verdictOf(t *trouble) outcome {
	switch {
	case t == nil:
		return passed
	case p.first != nil && (p.first.id == t.id || t.reason == ""): // this fault is reported already
		return skipped("see %s", p.first.id)
	case t.id == caseAnswers || t.id == "":
		return failed("%s", t.detail)
	}
	return failed("%s: %s", t.id, t.detail)
}

// try sends requests. Every answer must follow the rules.
func (p *probe) try(shapes ...shape) outcome {
	for _, s := range shapes {
		if _, t := p.ask(p.ctx, p.guest, p.build(s)); t != nil {
			return p.verdictOf(t)
		}
	}
	return passed
}

// tryLarge sends an item of 10 MB. The guest may refuse it, as long as it survives.
func tryLarge(p *probe) outcome {
	s := shape{n: 3, text: func(r *rand.Rand, i int) string {
		if i == 1 {
			return longText(r, largeBytes)
		}
		return ordinary(r, i)
	}}
	_, t := p.ask(p.ctx, p.guest, p.build(s))
	if t == nil {
		return passed
	}
	switch t.reason {
	case abi.ReasonGuestError, abi.ReasonInputTooLarge, abi.ReasonMemory, abi.ReasonOutputTooLarge:
	default:
		if t.id == caseLimits {
			break
		}
		return p.verdictOf(t)
	}
	if _, next := p.ask(p.ctx, p.guest, p.build(plainShape(0))); next != nil && p.first == nil {
		return failed("refused (%s), but then the next call failed: %s", t.detail, next.detail)
	}
	return outcome{Pass, "refused: " + t.detail}
}

// tryTopK asks a retriever for one item, by an ordinary query and by a query made of the
// texts that it has found, so that it has more than one item to return.
func tryTopK(p *probe) outcome {
	if o := p.try(shape{n: 1, variant: 1}); o.verdict != Pass {
		return o
	}
	var found []string
	for _, rep := range p.plain {
		if rep.changes == nil {
			continue
		}
		for _, it := range rep.changes.Items[:min(len(rep.changes.Items), maxQueryItems)] {
			found = append(found, strings.ToValidUTF8(it.Content[:min(len(it.Content), maxQueryBytes)], ""))
		}
	}
	if len(found) == 0 {
		return skipped("no ordinary request found an item (give the test settings with which it does)")
	}
	query := strings.Join(found, " ")
	return p.try(shape{n: 1, query: &query})
}

// tryLater sends a request of a later version and expects the same answer as without the
// additions.
func tryLater(p *probe) outcome {
	today, t := p.ask(p.ctx, p.guest, p.build(plainShape(0)))
	if t != nil {
		return p.verdictOf(t)
	}
	s := plainShape(0)
	s.later = true
	req := p.build(s)
	later, t := p.ask(p.ctx, p.guest, req)
	if t != nil {
		return p.verdictOf(t)
	}
	return p.compare(today, later, len(req.rows), "with and without members of a later version")
}

// tryReads sends the columns and parts that the manifest does not name. The answer must be the
// same as without them.
func tryReads(p *probe) outcome {
	for i, want := range p.plain {
		all := p.reading(abi.AllColumns, abi.PartSet{})
		req := all.build(plainShape(i))
		got, t := all.ask(p.ctx, p.guest, req)
		want = withoutEcho(want, p.build(plainShape(i)))
		if t == nil && p.compare(want, withoutEcho(got, req), len(req.rows), "").verdict != Fail {
			continue
		}
		return p.readThatCounts(plainShape(i), want)
	}
	return passed
}

// readThatCounts finds the column or part whose values change the answer.
func (p *probe) readThatCounts(s shape, want *reply) outcome {
	req := p.build(s)
	if again, t := p.ask(p.ctx, p.guest, req); t != nil || p.compare(want, withoutEcho(again, req), len(req.rows), "").verdict == Fail {
		return skipped("answers to the same request differ, see %s", caseSame)
	}
	info, _ := abi.LookupOperation(p.op.Operation)
	for _, c := range info.Reads {
		if p.op.Reads.Has(c) {
			continue
		}
		if o := p.counts(p.reading(p.op.Reads.With(c), p.op.Parts), s, want, fmt.Sprintf("column %q", c)); o.verdict == Fail {
			return o
		}
	}
	for _, part := range info.Parts {
		if p.op.Parts.Has(part) || part == abi.PartMessageParts {
			continue
		}
		named := []abi.Part{part}
		for _, name := range p.op.Parts.Names() {
			named = append(named, abi.Part(name))
		}
		if o := p.counts(p.reading(p.op.Reads, abi.PartsOf(named...)), s, want, fmt.Sprintf("part %q", part)); o.verdict == Fail {
			return o
		}
	}
	return failed("answers differ if the host sends what the manifest does not name under reads")
}

// counts fails if the answer to a request with more columns or parts is another one. what names
// what was added.
func (p *probe) counts(more *probe, s shape, want *reply, what string) outcome {
	req := more.build(s)
	got, t := more.ask(p.ctx, p.guest, req)
	if t != nil {
		return failed("the %s is not in reads, and with it %s", what, t.detail)
	}
	if o := p.compare(want, withoutEcho(got, req), len(req.rows), "with and without it"); o.verdict == Fail {
		return failed("reads the %s, which the manifest does not name: %s", what, o.detail)
	}
	return passed
}

// withoutEcho is an answer without what variants of a query repeat of it. A plugin that returns the
// query that it has got does not read it: the host fills in what it has not sent.
func withoutEcho(rep *reply, req *request) *reply {
	variants, ok := rep.doc.(*abi.TransformReply)
	asked, isQuery := req.doc.(abi.QueryRequest)
	if !ok || !isQuery {
		return rep
	}
	doc := &abi.TransformReply{Queries: slices.Clone(variants.Queries)}
	for i := range doc.Queries {
		q := &doc.Queries[i]
		if sameJSON(q.Embedding, asked.Query.Embedding) {
			q.Embedding = nil
		}
		if sameJSON(q.Metadata, asked.Query.Metadata) {
			q.Metadata = nil
		}
		if sameJSON(q.ChatHistory, asked.Query.ChatHistory) {
			q.ChatHistory = nil
		}
	}
	out := *rep
	out.doc = doc
	return &out
}

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// reading is the same probe whose requests have other columns and parts.
func (p *probe) reading(columns abi.ColumnSet, parts abi.PartSet) *probe {
	q, op := *p, *p.op
	op.Reads, op.Parts = columns, parts
	q.op = &op
	return &q
}

func (p *probe) compare(a, b *reply, rows int, when string) outcome {
	if p.s.d.Remembers {
		return skipped("answers may differ: the plugin has a memory outside of its calls")
	}
	x, y := a.canonical(rows), b.canonical(rows)
	if x == y {
		return passed
	}
	return failed("answers differ %s: %s", when, difference(x, y))
}

// keeper is the guest that keeps its state.
func (p *probe) keeper() (Guest, *trouble) {
	if p.kept != nil {
		return p.kept, nil
	}
	g, err := p.s.t.Load(p.ctx, LoadOptions{Settings: p.s.o.Init, Keep: true})
	if err != nil {
		return nil, callTrouble(p.lane, err)
	}
	p.kept = g
	return g, nil
}

// tryAgain calls a new instance twice.
func tryAgain(p *probe) outcome {
	g, t := p.keeper()
	if t != nil {
		return p.verdictOf(t)
	}
	for i := range 2 {
		_, t := p.ask(p.ctx, g, p.build(plainShape(0)))
		if t != nil && i == 1 {
			return p.verdictOf(t)
		}
	}
	return passed
}

// trySame repeats a request after others, in an instance that keeps its state
// and in one that does not.
func trySame(p *probe) outcome {
	first, t := p.ask(p.ctx, p.guest, p.build(plainShape(0)))
	if t != nil {
		return p.verdictOf(t)
	}
	kept, t := p.keeper()
	if t != nil {
		return p.verdictOf(t)
	}
	for _, g := range []Guest{p.guest, kept} {
		for _, i := range []int{1, 0, 2, 0, 0} { // an even and an odd number of calls before
			req := p.build(plainShape(i))
			again, t := p.ask(p.ctx, g, req)
			switch {
			case t != nil && p.lost(caseAgain):
				return skipped("see %s", caseAgain)
			case t != nil:
				return p.verdictOf(t)
			case i != 0:
				continue
			}
			if o := p.compare(first, again, len(req.rows), "for the same request"); o.verdict != Pass {
				return o
			}
		}
	}
	return passed
}

// tryExtism makes the ordinary requests as every Extism host does.
func tryExtism(p *probe) outcome {
	other := *p
	other.extism = true
	for i, want := range p.plain {
		req := p.build(plainShape(i))
		got, t := other.ask(p.ctx, p.guest, req)
		if t != nil {
			return failed("%s", t.detail)
		}
		if o := p.compare(want, got, len(req.rows), "between the mailbox and the Extism input"); o.verdict != Pass {
			return o
		}
	}
	return passed
}

// lost reports whether a case of this operation and lane has failed.
func (p *probe) lost(id string) bool {
	return slices.ContainsFunc(p.s.report.Results, func(r Result) bool {
		return r.Case == id && r.Verdict == Fail && r.Operation == p.op.Operation && (r.Lane == p.lane || r.Lane == "")
	})
}

// tryCancelled cancels a call in the middle.
func tryCancelled(p *probe) outcome {
	req := p.build(shape{n: manyItems})
	b, err := req.encode(p.lane)
	if err != nil {
		return failed("the kit cannot make the request: %s", err)
	}
	began := time.Now()
	if _, t := p.send(p.ctx, p.guest, req, b); t != nil && t.reason != "" {
		return skipped("a request that takes long enough fails without that: %s", t.detail)
	}
	if late := p.cancelHalfway(b, time.Since(began)/2); late > 0 {
		return failed("the call ended %v after it was cancelled, allowed are %v", late.Round(time.Millisecond), p.s.o.Grace)
	}
	if _, next := p.ask(p.ctx, p.guest, p.build(plainShape(0))); next != nil && (p.first == nil || p.first.id != next.id) {
		return failed("the call after a cancelled one failed: %s", next.detail)
	}
	return passed
}

// cancelHalfway makes a call and cancels it after a while. If the call continues for too
// long, it returns how long.
func (p *probe) cancelHalfway(b []byte, after time.Duration) time.Duration {
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	timer := time.AfterFunc(after, cancel)
	defer timer.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = p.guest.Call(ctx, Call{Operation: p.op.Operation, Lane: p.lane, Request: b}) // both an error and an answer are fine
	}()
	select {
	case <-done:
		return 0
	case <-ctx.Done():
	}
	at := time.Now()
	select {
	case <-done:
	case <-p.ctx.Done():
	}
	if late := time.Since(at); late > p.s.o.Grace {
		return late
	}
	return 0
}

// fromList makes texts of a list.
func fromList(list []string) func(*rand.Rand, int) string {
	return func(_ *rand.Rand, i int) string { return list[i%len(list)] }
}

// The requests of input cases whose answers are compared between the lanes.
func scriptsShape() shape  { return shape{n: len(scripts), text: fromList(scripts)} }
func controlShape() shape  { return shape{n: len(oddities), text: fromList(oddities)} }
func metadataShape() shape { return shape{n: 4, metadata: everyKind()} }
func bareShape() shape     { return shape{n: 6, bare: true} }

// everyKind is metadata with a value of every kind.
func everyKind() abi.Metadata {
	deep := any("bottom")
	for range 20 {
		deep = map[string]any{"in": []any{deep}}
	}
	return abi.Metadata{
		"null": nil, "true": true, "big": int64(1)<<62 + 1, "negative": int64(-1), "float": 1.5, "tiny": 5e-324, "text": "fox",
		"list": []any{int64(1), "two", nil, 3.5}, "deep": deep, "": "empty key", `"quoted" \key`: "x", "ключ": "значение",
		"title": int64(7), "page": "seven", "created_at": "not a time", "long": strings.Repeat("x", 5000),
	}
}
