package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// Run runs the cases against a guest. The error is about the options or the end of ctx. The
// faults of the guest are in the report.
func Run(ctx context.Context, t Target, o Options) (*Report, error) {
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	d := t.Describe()
	if d.Manifest == nil {
		return nil, errors.New("conformance: the target has no manifest (foreign modules have no contract to keep to)")
	}
	if err := o.check(&d); err != nil {
		return nil, fmt.Errorf("conformance: plugin %q: %w", d.Manifest.Name, err)
	}
	s := &session{cases: Cases(), subject: &subject{t: t, d: d, o: o, report: &Report{
		Plugin: d.Manifest.Name, Version: d.Manifest.Version, Digest: d.Digest, Size: d.Size, Seed: o.Seed, Short: o.Short,
	}}}
	s.all(ctx)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("conformance: plugin %q: %w", d.Manifest.Name, err)
	}
	return s.report, nil
}

// session is one Run.
type session struct {
	*subject
	cases []Case
	// beside runs the long cases, nil if they run among the others.
	beside *beside
	// timed are the probes whose calls are timed when no case runs any more.
	timed []*probe
	// idle are the lanes in which the guest changed nothing in ordinary requests, changed those in
	// which it changed something in a case of its author.
	idle    []laneOf
	changed map[laneOf]bool
}

// laneOf is a lane of an operation.
type laneOf struct {
	operation abi.Operation
	lane      string
}

func (s *session) all(ctx context.Context) {
	s.answers, s.troubles, s.changed = map[string][]*reply{}, map[string]*trouble{}, map[laneOf]bool{}
	s.settings()
	if _, err := s.t.Settings(abi.OpInit, s.o.Init); err != nil && len(s.d.Manifest.Settings) > 0 {
		s.record(caseStarts, "", "", time.Now(), skipped("see %s", caseDefaults))
		return
	}
	guest, err := s.t.Load(ctx, LoadOptions{Settings: s.o.Init})
	s.last = &attempt{}
	if known := traced(nil); errors.As(err, &known) {
		s.last.wrote, s.last.stack = known.GuestTrace()
	}
	s.record(caseStarts, "", "", time.Now(), startOutcome(err))
	s.last = nil
	if err != nil {
		return
	}
	defer guest.Close(context.WithoutCancel(ctx))
	if s.o.Beside && !s.d.Remembers {
		s.beside = newBeside(s)
	}
	for i := range s.d.Operations {
		s.operation(ctx, guest, &s.d.Operations[i])
	}
	s.initSame(ctx)
	s.own(ctx, guest)
	s.noteIdle()
	s.beside.finish(ctx, guest)
	for _, p := range s.timed {
		s.cost(p)
	}
}

func startOutcome(err error) outcome {
	if err != nil {
		return failed("%s", err)
	}
	return passed
}

// operation runs the cases of one operation, lane by lane.
func (s *session) operation(ctx context.Context, guest Guest, op *Operation) {
	if len(s.o.Operations) > 0 && !slices.Contains(s.o.Operations, op.Operation) {
		return
	}
	if op.Unused != "" {
		s.record(caseUsed, op.Operation, Batch, time.Now(), failed("the module %s", op.Unused))
	}
	settings, err := s.t.Settings(op.Operation, s.o.Steps[op.Operation])
	if err != nil {
		s.record(caseAnswers, op.Operation, "", time.Now(), skipped("see %s", caseDefaults))
		return
	}
	lanes := s.lanes(op)
	for _, lane := range lanes {
		p := &probe{ctx: ctx, s: s.subject, op: op, lane: lane, settings: settings, guest: guest}
		s.lane(p, lane == lanes[len(lanes)-1] && len(lanes) > 1)
		if p.kept != nil {
			_ = p.kept.Close(context.WithoutCancel(ctx)) // its error says nothing about the guest
		}
	}
}

func (s *session) lanes(op *Operation) []string {
	if len(s.o.Lanes) == 0 {
		return op.Lanes
	}
	return slices.DeleteFunc(slices.Clone(op.Lanes), func(l string) bool { return !slices.Contains(s.o.Lanes, l) })
}

// lane runs the cases of one operation in one lane; both says that the other
// lane has been run before.
func (s *session) lane(p *probe, both bool) {
	p.askPlain()
	key := string(p.op.Operation) + " " + p.lane
	s.answers[key], s.troubles[key] = p.plain, p.first
	for i := range s.cases {
		c := &s.cases[i]
		if !c.applies(p.op.Operation, p.lane) || c.pair && !both || p.ctx.Err() != nil {
			continue
		}
		s.begin(c.ID, p.op.Operation, p.lane)
		if s.beside.takes(p, c) {
			s.beside.add(p.ctx, p, c)
			continue
		}
		began := time.Now()
		lane := p.lane
		if c.pair {
			lane = ""
		}
		s.record(c.ID, p.op.Operation, lane, began, p.run(c))
	}
	if !p.useless() && !s.o.Sparing {
		s.timed = append(s.timed, p)
	}
	if p.idle() {
		s.idle = append(s.idle, laneOf{p.op.Operation, p.lane})
	}
}

// noteIdle notes the lanes in which the guest changed nothing, not even in a case of its author. The
// cases have checked little of these.
func (s *session) noteIdle() {
	for _, l := range s.idle {
		if !s.changed[l] {
			s.report.Notes = append(s.report.Notes, fmt.Sprintf(
				"%s, lane %s: every answer to an ordinary request was no change (give the test settings with which it does something, or cases of your own, with a query and items, in the folder tests)", l.operation, l.lane))
		}
	}
}

// idle reports whether the guest changed nothing in ordinary requests.
func (p *probe) idle() bool {
	info, _ := abi.LookupOperation(p.op.Operation)
	if info.Reply != "Changes" || len(p.plain) == 0 || p.first != nil {
		return false
	}
	for i, rep := range p.plain {
		if rep.canonical(len(p.build(plainShape(i)).rows)) != "{}" {
			return false
		}
	}
	return true
}

func (p *probe) run(c *Case) outcome {
	first := p.judged(c.ID)
	switch {
	case c.run == nil, first.verdict == Fail:
		return first
	case p.useless():
		return skipped("see %s", p.first.id)
	case p.moot(c):
		return skipped("see %s", c.after)
	}
	o := c.run(p)
	if o.verdict == Fail {
		o.detail = trimOwnID(o.detail, c.ID)
	}
	return o
}

// moot reports whether the failure of another case leaves nothing to check.
func (p *probe) moot(c *Case) bool { return c.after != "" && p.lost(c.after) }

// trimOwnID removes the id of a case from its detail.
func trimOwnID(detail, id string) string {
	if n := len(id) + 2; len(detail) > n && detail[:n] == id+": " {
		return detail[n:]
	}
	return detail
}

// initSame starts the guest a second time.
func (s *session) initSame(ctx context.Context) {
	if _, has := s.d.Manifest.Operations[abi.OpInit]; !has || ctx.Err() != nil || !s.wants(abi.OpInit) {
		return
	}
	s.begin(caseInitSame, "", "")
	began := time.Now()
	s.record(caseInitSame, "", "", began, s.startAgain(ctx))
}

func (s *session) wants(op abi.Operation) bool {
	return len(s.o.Operations) == 0 || slices.Contains(s.o.Operations, op)
}

func (s *session) startAgain(ctx context.Context) outcome {
	guest, err := s.t.Load(ctx, LoadOptions{Settings: s.o.Init})
	if err != nil {
		return failed("the second start failed: %s", err)
	}
	defer guest.Close(context.WithoutCancel(ctx))
	for i := range s.d.Operations {
		op := &s.d.Operations[i]
		for _, lane := range s.lanes(op) {
			answers := s.answers[string(op.Operation)+" "+lane]
			if len(answers) == 0 {
				continue
			}
			settings, _ := s.t.Settings(op.Operation, s.o.Steps[op.Operation]) // accepted before
			p := &probe{ctx: ctx, s: s.subject, op: op, lane: lane, settings: settings, guest: guest}
			req := p.build(plainShape(0))
			rep, t := p.ask(ctx, guest, req)
			if t != nil {
				return failed("%s after the second start: %s", op.Operation, t.detail)
			}
			if o := p.compare(answers[0], rep, len(req.rows), "after the second start"); o.verdict == Fail {
				return o
			}
		}
	}
	return passed
}

func (s *session) begin(id string, op abi.Operation, lane string) {
	s.last = nil
	if s.o.OnCase != nil {
		s.o.OnCase(id, op, lane)
	}
}

// record adds the result of a case that has just ended.
func (s *session) record(id string, op abi.Operation, lane string, began time.Time, o outcome) {
	s.report.add(s.explained(s.result(id, op, lane, time.Since(began), o)))
}

// result makes a result of the outcome of a case.
func (s *session) result(id string, op abi.Operation, lane string, took time.Duration, o outcome) Result {
	r := Result{Case: id, Operation: op, Lane: lane, Verdict: o.verdict, Detail: o.detail, Millis: millis(took)}
	for i := range s.cases {
		if s.cases[i].ID == id {
			r.Rule = s.cases[i].Rule
			if o.verdict == Fail {
				r.Remedy = s.cases[i].Remedy
			}
		}
	}
	return r
}

// explained adds the request of the case and what the guest left to the result of a failure.
func (s *session) explained(r Result) Result {
	if at := s.last; r.Verdict == Fail && at != nil {
		r.Wrote, r.Stack = at.wrote, at.stack
		r.Request = s.keepRequest(r, at.req)
	}
	return r
}

// keepRequest passes a request on, and returns where it was put.
func (s *session) keepRequest(r Result, req *request) string {
	if s.o.KeepRequest == nil || req == nil {
		return ""
	}
	doc, err := req.encode(JSON)
	if err != nil { // the guest never got it
		return ""
	}
	return s.o.KeepRequest(r, doc)
}

// costItems is the number of items of the requests that are timed.
const costItems = 1000

// cost times the operations that work on items.
func (s *session) cost(p *probe) {
	info, _ := abi.LookupOperation(p.op.Operation)
	if !info.Batch {
		return
	}
	n := costItems
	if p.op.Operation == abi.OpRetrieve {
		n = 20
	}
	req := p.build(shape{n: n})
	b, err := req.encode(p.lane)
	if err != nil {
		return
	}
	var times []float64
	for range 11 {
		a, err := p.guest.Call(p.ctx, Call{Operation: p.op.Operation, Lane: p.lane, Request: b})
		if err != nil {
			return
		}
		times = append(times, float64(a.Time.Nanoseconds())/1e3)
	}
	slices.Sort(times)
	s.report.Costs = append(s.report.Costs, Cost{Operation: p.op.Operation, Lane: p.lane, Items: n, Micros: times[len(times)/2]})
}

// settings runs the cases about the schemas of settings.
func (s *session) settings() {
	schemas := []struct {
		op    abi.Operation
		raw   json.RawMessage
		given map[string]any
	}{{abi.OpInit, s.d.Manifest.Settings, s.o.Init}}
	for _, op := range s.d.Operations {
		schemas = append(schemas, struct {
			op    abi.Operation
			raw   json.RawMessage
			given map[string]any
		}{op.Operation, s.d.Manifest.Operations[op.Operation].Settings, s.o.Steps[op.Operation]})
	}
	for _, x := range schemas {
		if len(x.raw) == 0 || !s.wants(x.op) {
			continue
		}
		began := time.Now()
		s.record(caseDefaults, x.op, "", began, s.defaults(x.op, x.given))
		s.record(caseUnknown, x.op, "", began, s.unknownRefused(x.op, x.given))
		s.record(caseWrongType, x.op, "", began, s.wrongTypeRefused(x.op, x.raw, x.given))
	}
}
