package conformance

// tryLanes compares the answers of the lanes to ordinary requests, and to requests that a
// lane could misread without breaking a rule.
func tryLanes(p *probe) outcome {
	op := string(p.op.Operation)
	for _, lane := range []string{JSON, Batch} {
		if t := p.s.troubles[op+" "+lane]; t != nil {
			return skipped("see %s in the lane %s", t.id, lane)
		}
	}
	a, b := p.s.answers[op+" "+JSON], p.s.answers[op+" "+Batch]
	for i := range a {
		rows := len(p.build(plainShape(i)).rows)
		if o := p.compare(a[i], b[i], rows, betweenLanes); o.verdict != Pass {
			return o
		}
	}
	for _, unusual := range []struct {
		id string
		shape
	}{
		{caseScripts, scriptsShape()}, {caseControl, controlShape()}, {caseMetadata, metadataShape()}, {caseNoMetadata, bareShape()},
	} {
		if o := p.sameInBoth(unusual.shape, unusual.id); o.verdict == Fail {
			return o
		}
	}
	return passed
}

const betweenLanes = "between the lanes json and batch"

// sameInBoth asks in both lanes and compares. An answer that breaks a rule is reported by the
// case id, which sends the same request.
func (p *probe) sameInBoth(s shape, id string) outcome {
	one, other := *p, *p
	one.lane, other.lane = JSON, Batch
	req := p.build(s)
	a, t := one.ask(p.ctx, p.guest, req)
	if t != nil {
		return skipped("see %s", id)
	}
	b, t := other.ask(p.ctx, p.guest, req)
	if t != nil {
		return skipped("see %s", id)
	}
	return p.compare(a, b, len(req.rows), betweenLanes+" to the request of "+id)
}
