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
	s.addFailing(r)
}

// runOwn runs a case with the exchanges that it states.
func (s *session) runOwn(ctx context.Context, guest Guest, c *OwnCase, op *Operation, lane string) outcome {
	if c.HTTP == nil {
		return s.compareOwn(ctx, guest, c, op, lane)
	}
	e := NewExchanges(c.HTTP)
	e.inOrder = true
	o := s.compareOwn(context.WithValue(ctx, exchangesKey{}, e), guest, c, op, lane)
	if problem := e.problem(); problem != "" && o.verdict == Fail {
		return failed("%s; %s", problem, o.detail)
	} else if problem != "" {
		return failed("%s", problem)
	}
	return o
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
	if c.Init != nil {
		if guest, err = s.t.Load(ctx, LoadOptions{Settings: c.Init}); err != nil {
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
	switch {
	case t != nil:
		return c.refused(errors.New(t.detail))
	case c.Expect.Error != "":
		return failed("no error; expected one with %.100q", c.Expect.Error)
	}
	return c.Expect.compare(rep, req)
}
