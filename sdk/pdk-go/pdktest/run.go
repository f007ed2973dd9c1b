//go:build !wasip1

package pdktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/imports"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/mem"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

// Lane is one of the two forms in which rows are sent to a plugin.
type Lane string

// The lanes.
const (
	JSON  Lane = "json"
	Batch Lane = "batch"
)

// maxItems is the largest number of new items that Run allows.
const maxItems = 10_000

// Call is one call of retrieve, process, filter or rerank.
type Call struct {
	Op      abi.Operation
	Request *abi.ItemsRequest
	// Reads are the columns and the parts of the query that the manifest lists. The handler
	// sees no other columns, and Run fails the test if it reads one. If the list names parts of
	// the query, it sees no other parts. nil means everything that the operation may read.
	Reads []string
	// Writes are the changes that the manifest lists. nil means every change that the
	// operation may make.
	Writes []abi.Change
}

// Run calls the handler of op in both lanes, with all columns, and returns the changes. If
// there are none, the set is empty. Run fails the test if the handler fails.
func Run(tb testing.TB, op abi.Operation, req *abi.ItemsRequest) *abi.Changes {
	tb.Helper()
	return Call{Op: op, Request: req}.Run(tb)
}

// Run makes the call in both lanes and returns the changes. It fails the test
// when the handler fails, when it reads a column that Reads does not name, when the lanes
// disagree, and when a host would refuse the changes.
func (c Call) Run(tb testing.TB) *abi.Changes {
	tb.Helper()
	before := len(imports.Host.Logs)
	got, err := c.In(Batch)
	if err != nil {
		tb.Fatalf("%s in the batch lane: %v", c.Op, err)
	}
	other, err := c.In(JSON)
	if err != nil {
		tb.Fatalf("%s in the JSON lane: %v", c.Op, err)
	}
	if column, ok := firstUnsent(imports.Host.Logs[before:]); ok {
		tb.Fatalf("%s reads the column %s, which Reads does not name (name it there and under reads in plugin.yaml, or do not read it)", c.Op, column)
	}
	if a, b := canonical(got), canonical(other); a != b {
		tb.Fatalf("%s answers differ\nbatch: %s\njson:  %s", c.Op, a, b)
	}
	if err := c.check(got); err != nil {
		tb.Fatalf("%s: a host refuses the answer: %v", c.Op, err)
	}
	return got
}

// firstUnsent returns a column that a handler read without its being sent, by what the library
// told the host.
func firstUnsent(logs []imports.LogEntry) (abi.Column, bool) {
	for _, l := range logs {
		if column, ok := abi.UnsentColumn(l.Text); ok {
			return column, true
		}
	}
	return 0, false
}

// In makes the call in one lane. The error is that of the handler. If there are no changes,
// the set is empty.
func (c Call) In(lane Lane) (*abi.Changes, error) {
	exports, ok := serve.Lookup(c.Op)
	if !ok || exports.Batch == nil {
		return nil, fmt.Errorf("%s: no such operation on rows (import its package)", c.Op)
	}
	cols, parts, err := c.reads()
	if err != nil {
		return nil, err
	}
	req := c.Request
	env := &abi.Envelope{Query: parts.Query(&req.Query), TopK: req.TopK, TokensLeft: req.TokensLeft, Settings: req.Settings}
	if lane == JSON {
		return inJSON(exports, abi.ItemRows(req.Items), cols, env)
	}
	return inBatch(exports, abi.ItemRows(req.Items), cols, env)
}

func inJSON(e serve.Exports, rows abi.Rows, cols abi.ColumnSet, env *abi.Envelope) (*abi.Changes, error) {
	in, err := abi.AppendItemsRequest(nil, rows, cols, env)
	if err != nil {
		return nil, err
	}
	out, err := call(e.JSON, in)
	if err != nil || out == nil {
		return &abi.Changes{}, err
	}
	return abi.DecodeChangesJSON(out)
}

func inBatch(e serve.Exports, rows abi.Rows, cols abi.ColumnSet, env *abi.Envelope) (*abi.Changes, error) {
	var w abi.BatchWriter
	size, err := w.Plan(rows, cols, env)
	if err != nil {
		return nil, err
	}
	ptr := mem.Reserve(uint32(size))
	if err := w.Write(mem.Buffer()[:size]); err != nil {
		return nil, err
	}
	imports.Host.Err = ""
	status := e.Batch(ptr, uint32(size))
	if err := result(status); err != nil || status == int32(abi.StatusNoChange) {
		return &abi.Changes{}, err
	}
	return abi.DecodeChanges(mem.Answer())
}

// call runs an export of the JSON lane. If output and error are nil, there is no change or
// no answer.
func call(export func() int32, in []byte) ([]byte, error) {
	imports.Host.In, imports.Host.Out, imports.Host.Err = in, nil, ""
	if err := result(export()); err != nil {
		return nil, err
	}
	return imports.Host.Out, nil
}

// result reads the status and the message of a call as a host does.
func result(status int32) error {
	if msg := imports.Host.Err; msg != "" {
		return errors.New(msg)
	}
	if status != int32(abi.StatusDone) && status != int32(abi.StatusNoChange) {
		return fmt.Errorf("status %d without a message", status)
	}
	return nil
}

func (c Call) reads() (abi.ColumnSet, abi.PartSet, error) {
	if c.Reads != nil {
		return abi.ReadsOf(c.Op, c.Reads)
	}
	info, _ := abi.LookupOperation(c.Op)
	var cols abi.ColumnSet
	for _, col := range info.Reads {
		cols = cols.With(col)
	}
	return cols, abi.PartSet{}, nil
}

// check applies the rules of a host that grants every change of the operation.
func (c Call) check(got *abi.Changes) error {
	writes := c.Writes
	if writes == nil {
		info, _ := abi.LookupOperation(c.Op)
		writes = info.Writes
	}
	set, err := abi.ChangesOf(writes)
	if err != nil {
		return err
	}
	return got.Check(len(c.Request.Items), abi.Grant{
		Writes: set, MaxItems: maxItems, MaxPriority: 10,
		Sources: []string{"memory", "conversation", "tool", "retrieval", "user"},
	})
}

// canonical returns c in a form that can be compared.
func canonical(c *abi.Changes) string {
	b, err := json.Marshal(c)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
