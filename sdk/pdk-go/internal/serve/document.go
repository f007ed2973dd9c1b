package serve

import (
	"encoding/json"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/mem"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/settings"
)

// Document serves an operation of the JSON lane only.
type Document struct {
	op      abi.Operation
	handler func(in []byte) (reply any, err error)
	// fallback runs when no handler is registered.
	fallback func(in []byte) (reply any, err error)
}

// NewDocument returns the lane of op, without a handler.
func NewDocument(op abi.Operation) *Document {
	d := &Document{op: op}
	resets = append(resets, func() func() {
		old := d.handler
		d.handler = nil
		return func() { d.handler = old }
	})
	return d
}

// Export registers the export of the operation. json must call JSON.
func (d *Document) Export(json func() int32) { registry[d.op] = Exports{JSON: json} }

// Handle registers a handler of the input document. A nil reply means no output.
func (d *Document) Handle(f func(in []byte) (reply any, err error)) {
	twice(d.op, d.handler != nil)
	d.handler = f
}

// Default sets the function that runs while no handler is registered.
func (d *Document) Default(f func(in []byte) (reply any, err error)) { d.fallback = f }

// HandleDocument registers a handler of the decoded document. settingsOf returns the
// settings in it.
func HandleDocument[Req, S, Reply any](d *Document, settingsOf func(*Req) json.RawMessage, f func(req *Req, s *S) (Reply, error)) {
	var cache settings.Cache[S]
	mem.Warm(settings.Warm[Req])
	mem.Warm(cache.Warm)
	mem.Warm(settings.Warm[Reply])
	d.Handle(func(in []byte) (any, error) {
		req := new(Req)
		if err := abi.DecodeRequest(in, req); err != nil {
			return nil, pdk.Errorf("%s: decode request: %w", d.op, err)
		}
		s, err := cache.Get(settingsOf(req))
		if err != nil {
			return nil, err
		}
		return f(req, s)
	})
}

// HandleRequest registers a handler of a document with rows.
func HandleRequest[S, Reply any](d *Document, f func(r *pdk.Request, s *S) (Reply, error)) {
	var cache settings.Cache[S]
	mem.Warm(warmRequest)
	mem.Warm(cache.Warm)
	mem.Warm(settings.Warm[Reply])
	d.Handle(func(in []byte) (any, error) {
		req, err := abi.DecodeItemsRequest(in)
		if err != nil {
			return nil, err
		}
		b, err := abi.BatchOf(req)
		if err != nil {
			return nil, err
		}
		s, err := cache.Get(b.Settings())
		if err != nil {
			return nil, err
		}
		r := pdk.NewRequest(b)
		reply, err := f(r, s)
		reportUnsent(b)
		if err == nil {
			err = r.Err()
		}
		return reply, err
	})
}

// JSON serves a call.
func (d *Document) JSON() int32 { return JSON(d.op, d.answer) }

func (d *Document) answer(in []byte) ([]byte, error) {
	handler := d.handler
	if handler == nil {
		handler = d.fallback
	}
	if handler == nil {
		return nil, unhandled(d.op)
	}
	reply, err := handler(in)
	if err != nil || reply == nil {
		return nil, err
	}
	out, err := json.Marshal(reply)
	if err != nil {
		return nil, pdk.Errorf("%s: encode reply: %w", d.op, err)
	}
	return out, nil
}
