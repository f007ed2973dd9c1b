package serve

import (
	"bytes"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/mem"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/settings"
)

// Items serves an operation on rows in both lanes. Calls reuse its memory, because an
// instance serves one call at a time.
type Items struct {
	op      abi.Operation
	handler func(r *pdk.Request, c *pdk.Changes) error
	request pdk.Request
	changes pdk.Changes
	input   abi.Batch
	writer  abi.ChangesWriter
}

// NewItems returns the lanes of op, without a handler.
func NewItems(op abi.Operation) *Items {
	l := &Items{op: op}
	resets = append(resets, func() func() {
		old := l.handler
		l.handler = nil
		return func() { l.handler = old }
	})
	return l
}

// Export registers the exports of the operation. json must call JSON, and batch must call Batch.
func (l *Items) Export(json func() int32, batch func(ptr, n uint32) int32) {
	registry[l.op] = Exports{JSON: json, Batch: batch}
}

// HandleItems registers the handler of both lanes.
func HandleItems[S any](l *Items, f func(r *pdk.Request, s *S, c *pdk.Changes) error) {
	twice(l.op, l.handler != nil)
	var cache settings.Cache[S]
	mem.Warm(warmRequest)
	mem.Warm(cache.Warm)
	mem.Warm(func() { l.changes.Grow(mem.WarmRows) })
	l.handler = func(r *pdk.Request, c *pdk.Changes) error {
		s, err := cache.Get(r.Items.Settings())
		if err != nil {
			return err
		}
		return f(r, s, c)
	}
}

// warmItems is the number of rows of a document for which the warm-up allocates memory.
const warmItems = 128

// warmRequest reads a document with rows, and makes encoding/json analyze its types, which read the
// documents that are unusual.
func warmRequest() {
	settings.Warm[abi.ItemsRequest]()
	var doc bytes.Buffer
	for i := range warmItems {
		if i == 0 {
			doc.WriteString(`{"query":{"query_str":"q"},"columns":["id","score","text"],"items":[`)
		} else {
			doc.WriteByte(',')
		}
		doc.WriteString(`{"id":"a","content":"text","score":0.5}`)
	}
	doc.WriteString(`]}`)
	if r, err := abi.DecodeItemsRequest(doc.Bytes()); err == nil {
		_, _ = abi.BatchOf(r)
	}
}

// JSON serves a call of the JSON lane.
func (l *Items) JSON() int32 { return JSON(l.op, l.document) }

func (l *Items) document(in []byte) ([]byte, error) {
	req, err := abi.DecodeItemsRequest(in)
	if err != nil {
		return nil, err
	}
	b, err := abi.BatchOf(req)
	if err != nil {
		return nil, err
	}
	set, err := l.run(b)
	if err != nil {
		return nil, err
	}
	return abi.AppendChangesJSON(mem.Output(), set)
}

// Batch serves a call of the batch lane. The batch has n bytes at ptr.
func (l *Items) Batch(ptr, n uint32) (status int32) {
	mem.Collect()
	defer report(l.op, &status)
	return answer(l.op, l.batch(ptr, n))
}

func (l *Items) batch(ptr, n uint32) error {
	mem.SetOutput(mem.Output())
	in, err := mem.Input(ptr, n)
	if err != nil {
		return err
	}
	if err := abi.OpenBatchInto(&l.input, in); err != nil {
		return err
	}
	set, err := l.run(&l.input)
	if err != nil {
		return err
	}
	out, err := l.writer.Append(mem.Output(), set)
	if err != nil {
		return err
	}
	mem.SetOutput(out)
	return nil
}

// run calls the handler. If there is nothing to change, it returns pdk.ErrNoChange.
func (l *Items) run(b *abi.Batch) (*abi.Changes, error) {
	if l.handler == nil {
		return nil, unhandled(l.op)
	}
	l.request.Reset(b)
	l.changes.Reset(b.Len())
	err := l.handler(&l.request, &l.changes)
	reportUnsent(b)
	if err != nil {
		return nil, err
	}
	if err := l.request.Err(); err != nil {
		return nil, err
	}
	set, err := l.changes.Result()
	if err == nil && set == nil {
		err = pdk.ErrNoChange
	}
	return set, err
}
