package abi

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/abi/internal/inplace"
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
	"github.com/anchor-host/anchor-host/abi/internal/strictjson"
)

// Metadata returns the metadata of row i as a new map that does not alias the
// batch. Use MetaValue where one key is enough: it allocates nothing.
func (b *Batch) Metadata(i int) Metadata {
	from, to := b.meta.Span(i)
	m := make(Metadata, to-from)
	for e := from; e < to; e++ {
		v, err := valueOf(&b.meta, e).decode()
		if err != nil {
			v = strings.Clone(valueOf(&b.meta, e).text)
		}
		m[strings.Clone(b.meta.Key(e))] = v
	}
	return m
}

// decode returns v as nil, bool, int64, float64, string, []any or map[string]any, the
// types of all decoders. None of them aliases the container.
func (v Value) decode() (any, error) {
	switch v.kind {
	case KindBool:
		return v.bits != 0, nil
	case KindInt:
		return int64(v.bits), nil
	case KindFloat:
		f, _ := v.Float()
		return f, nil
	case KindString:
		return strings.Clone(v.text), nil
	case KindJSON:
		return jsontext.Decode([]byte(v.text))
	}
	return nil, nil
}

// decodeWithin decodes a value that a guest wrote. It requires UTF-8 and strict JSON, and
// accounts for the memory of the result.
func (v Value) decodeWithin(budget *strictjson.Meter) (any, error) {
	switch v.kind {
	case KindInt, KindFloat:
		if err := budget.Charge(strictjson.NumberSize); err != nil {
			return nil, err
		}
	case KindString:
		if err := budget.Charge(strictjson.BoxSize + strictjson.TextBytes(len(v.text))); err != nil {
			return nil, err
		}
		clone, ok := inplace.CloneText(v.text)
		if !ok {
			return nil, jsontext.ValueError("string " + notUTF8)
		}
		return clone, nil
	case KindJSON:
		return strictjson.Value([]byte(v.text), budget)
	}
	return v.decode()
}

// Query decodes the query with its metadata, history and embedding. Nothing in
// it aliases the batch. Where only the text matters, QueryText is cheaper.
func (b *Batch) Query() (*Query, error) {
	q := &Query{Text: strings.Clone(b.queryText)}
	if len(b.embedding) > 0 {
		q.Embedding = append(q.Embedding, b.embedding...)
	}
	if b.queryMeta != nil {
		if err := json.Unmarshal(b.queryMeta, &q.Metadata); err != nil {
			return nil, fmt.Errorf("query metadata: decode: %w", err)
		}
	}
	if b.history != nil {
		if err := json.Unmarshal(b.history, &q.ChatHistory); err != nil {
			return nil, fmt.Errorf("chat history: decode: %w", err)
		}
	}
	return q, nil
}
