package conformance

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
)

// read decodes an answer and checks every rule. The trouble is the first rule that it
// breaks.
func read(ctx context.Context, d *Description, op *Operation, req *request, lane string, a *Answer) (*reply, *trouble) {
	rep := new(reply)
	info, _ := abi.LookupOperation(op.Operation)
	switch {
	case a.Status != abi.StatusDone && a.Status != abi.StatusNoChange:
		return nil, troublef(caseAnswers, "status %d", a.Status)
	case !info.Answer:
		return rep, nil
	case a.Status == abi.StatusNoChange:
		return rep, mustAnswer(op.Operation)
	case d.MaxOutput > 0 && int64(len(a.Output)) > d.MaxOutput:
		return nil, troublef(caseSize, "an answer of %d bytes, allowed are %d", len(a.Output), d.MaxOutput)
	case len(a.Output) == 0:
		return nil, troublef(caseDecodes, "status 0 without an output")
	case lane == JSON && !utf8.Valid(a.Output):
		return nil, troublef(caseUTF8, "the document is not UTF-8")
	}
	if info.Reply == "Changes" {
		return rep, rep.readChanges(ctx, d, op, req, lane, a.Output)
	}
	return rep, rep.readDocument(ctx, d, op, req, a.Output)
}

// mustAnswer refuses "no change" from an operation that must produce an answer.
func mustAnswer(op abi.Operation) *trouble {
	switch op {
	case abi.OpFormat:
		return troublef(caseFormat, "status 1: no output")
	case abi.OpCountTokens:
		return troublef(caseCounts, "status 1: no counts")
	}
	return nil
}

func (rep *reply) readChanges(ctx context.Context, d *Description, op *Operation, req *request, lane string, out []byte) *trouble {
	within := abi.WidestBounds()
	within.Rows = len(req.rows)
	rep.changes = new(abi.Changes)
	decode := rep.changes.DecodeJSONWithin
	if lane == Batch {
		decode = rep.changes.DecodeWithin
	}
	if err := decode(out, within); err != nil {
		rep.changes = nil
		if strings.Contains(err.Error(), "UTF-8") {
			return troublef(caseUTF8, "%s", err)
		}
		return troublef(caseDecodes, "%s", err)
	}
	j := judge{d: d, op: op, req: req, c: rep.changes}
	for _, rule := range []func() *trouble{j.kinds, j.keep, j.edits, j.scores, j.newItems, j.order, j.topK} {
		if t := rule(); t != nil {
			return t
		}
	}
	if err := rep.changes.Check(len(req.rows), j.grant()); err != nil {
		return troublef(caseSound, "%s", err)
	}
	return j.limits(ctx)
}
