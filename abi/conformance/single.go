package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/abi"
)

// Single is one request of the lane JSON outside of a run, as a host would send it.
type Single struct {
	// Document is the request with the columns and parts that the manifest names, and no others.
	Document []byte
	// LeftOut are the columns that items of the given document have and that are not sent.
	LeftOut []abi.Column

	d   Description
	op  *Operation
	req *request
	// expect is what the author expects, nil for nothing.
	expect *Expect
}

// NewCase makes the request of a case, with settings in place of those of the case. An error is
// about the case, or says that the plugin does not have its operation.
func NewCase(d Description, c *OwnCase, settings json.RawMessage) (*Single, error) {
	i := slices.IndexFunc(d.Operations, func(o Operation) bool { return o.Operation == c.Operation })
	if i < 0 {
		return nil, fmt.Errorf("operation %.100q: the plugin does not have it", c.Operation)
	}
	s := &Single{d: d, op: &d.Operations[i], expect: &c.Expect}
	var err error
	if s.req, err = c.request(s.op, settings); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	s.Document, err = s.req.encode(JSON)
	return s, err
}

// NewSingle makes the request of an operation from a document, with its settings as they are. An
// error is about the document, or says that the plugin does not have the operation.
func NewSingle(d Description, op abi.Operation, document []byte) (*Single, error) {
	i := slices.IndexFunc(d.Operations, func(o Operation) bool { return o.Operation == op })
	if i < 0 {
		return nil, fmt.Errorf("operation %.100q: the plugin does not have it", op)
	}
	s := &Single{d: d, op: &d.Operations[i]}
	var given struct {
		Settings json.RawMessage
		Items    []map[string]json.RawMessage
	}
	if err := json.Unmarshal(document, &given); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	var err error
	if s.req, err = (&OwnCase{Request: document}).request(s.op, given.Settings); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	if s.req.doc == nil {
		s.LeftOut = unsent(given.Items, s.op.Reads)
	}
	s.Document, err = s.req.encode(JSON)
	return s, err
}

// unsent lists the columns that items have and that the host does not send.
func unsent(items []map[string]json.RawMessage, reads abi.ColumnSet) (out []abi.Column) {
	for _, c := range abi.Columns {
		member := c.String()
		if c == abi.ColumnText {
			member = "content"
		}
		if !reads.Has(c) && slices.ContainsFunc(items, func(it map[string]json.RawMessage) bool { _, has := it[member]; return has }) {
			out = append(out, c)
		}
	}
	return out
}

// Judge checks an answer to the request against the rules of the contract. The error names the
// rule that it breaks, and what to do. The answer to a case it compares with what the author
// expects; ctx is then that of [WithCase].
func (s *Single) Judge(ctx context.Context, a *Answer) error {
	rep, t := read(ctx, &s.d, s.op, s.req, JSON, a)
	if t == nil {
		if s.expect == nil {
			return nil
		}
		if o := s.expect.judge(rep, s.req, ReplayOf(ctx)); o.verdict == Fail {
			return errors.New("the answer is not the expected one: " + o.detail)
		}
		return nil
	}
	for _, c := range Cases() {
		if c.ID == t.id {
			return fmt.Errorf("the answer breaks the rule %s: %s (%s)", t.id, t.detail, c.Remedy)
		}
	}
	return fmt.Errorf("the answer breaks the rule %s: %s", t.id, t.detail)
}
