package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// own runs the cases of the author.
func (s *session) own(ctx context.Context, guest Guest) {
	for i := range s.o.Own {
		c := &s.o.Own[i]
		op, err := s.ownOperation(c)
		if err != nil {
			s.last = nil
			s.recordOwn(c, nil, "", time.Now(), failed("%s", err))
			continue
		}
		if !s.wants(op.Operation) {
			continue
		}
		for _, lane := range s.lanes(op) {
			if ctx.Err() != nil {
				return
			}
			s.begin(caseOwnPrefix+c.Name, op.Operation, lane)
			began := time.Now()
			s.recordOwn(c, op, lane, began, s.runOwn(ctx, guest, c, op, lane))
		}
	}
}

// ownOperation is the operation that a case names, or the only one.
func (s *session) ownOperation(c *OwnCase) (*Operation, error) {
	if c.Operation == "" && len(s.d.Operations) == 1 {
		return &s.d.Operations[0], nil
	}
	i := slices.IndexFunc(s.d.Operations, func(o Operation) bool { return o.Operation == c.Operation })
	if i < 0 {
		return nil, fmt.Errorf("operation %.100q: the plugin does not have it", c.Operation)
	}
	return &s.d.Operations[i], nil
}

func (s *session) recordOwn(c *OwnCase, op *Operation, lane string, began time.Time, o outcome) {
	r := Result{Case: caseOwnPrefix + c.Name, Lane: lane, Verdict: o.verdict, Detail: o.detail, Millis: millis(time.Since(began)),
		Rule: "The plugin does what its author expects."}
	if op != nil {
		r.Operation = op.Operation
	}
	if o.verdict == Fail {
		r.Remedy = "correct the plugin or the case in " + c.File
	}
	s.report.add(s.explained(r))
}

// runOwn runs a case with the exchanges that it states.
func (s *session) runOwn(ctx context.Context, guest Guest, c *OwnCase, op *Operation, lane string) outcome {
	ctx = WithCase(ctx, c)
	o := s.compareOwn(ctx, guest, c, op, lane)
	problem := ReplayOf(ctx).problem()
	if e := ExchangesOf(ctx); e != nil && problem == "" {
		problem = e.problem()
	}
	switch {
	case problem == "":
		return o
	case o.verdict == Fail:
		return failed("%s; %s", problem, o.detail)
	}
	return failed("%s", problem)
}

// compareOwn makes the request of a case and compares.
func (s *session) compareOwn(ctx context.Context, guest Guest, c *OwnCase, op *Operation, lane string) outcome {
	step := c.Settings
	if step == nil {
		step = s.o.Steps[op.Operation]
	}
	settings, err := s.t.Settings(op.Operation, step)
	if err != nil {
		return c.refused(err)
	}
	if c.Init != nil || c.Config != nil {
		init := c.Init
		if init == nil {
			init = s.o.Init
		}
		if guest, err = s.t.Load(ctx, LoadOptions{Settings: init, Config: c.Config}); err != nil {
			return c.refused(err)
		}
		defer guest.Close(context.WithoutCancel(ctx))
	}
	req, err := c.request(op, settings)
	if err != nil {
		return failed("request: %s", err)
	}
	p := &probe{ctx: ctx, s: s.subject, op: op, lane: lane, guest: guest}
	rep, t := p.ask(ctx, guest, req)
	if t != nil {
		return c.refused(errors.New(t.detail))
	}
	if rep.canonical(len(req.rows)) != "{}" {
		s.changed[laneOf{op.Operation, lane}] = true
	}
	o := c.Expect.judge(rep, req, ReplayOf(ctx))
	if o.verdict == Fail && s.o.Update != nil {
		was := c.Expect
		c.Expect = was.renewed(rep, req, ReplayOf(ctx))
		s.o.Update(c, was, o.detail)
		return passed
	}
	return o
}

// judge compares an answer, and what was stored, with what is expected.
func (e *Expect) judge(rep *reply, req *request, r *Replay) outcome {
	if e.Error != "" {
		return failed("no error; expected one with %.100q", e.Error)
	}
	if o := e.compare(rep, req); o.verdict != Pass {
		return o
	}
	return e.stored(r)
}
