package conformance

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/internal/layout"
)

// encode encodes a request for a lane.
func (req *request) encode(lane string) ([]byte, error) {
	if lane == Batch {
		return req.encodeBatch()
	}
	var b []byte
	var err error
	switch {
	case req.doc != nil:
		b, err = json.Marshal(req.doc)
	case req.items:
		b, err = abi.AppendItemsRequest(make([]byte, 0, req.room()), req.rows, req.cols, &req.env)
	default:
		b, err = abi.AppendItemsRequest(nil, nil, 0, &req.env)
	}
	if err == nil && req.later {
		b, err = laterDocument(b)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: encode the request: %w", req.op, err)
	}
	return b, nil
}

// room is about the size of the document of a request with rows. Without it, a document of 10 MB
// is copied again and again as it grows.
func (req *request) room() int {
	const member = 512
	size := member
	for i := range req.rows {
		n := len(req.rows[i].Content)
		size += member + n + n/64 // some characters are escaped
	}
	return size
}

func (req *request) encodeBatch() ([]byte, error) {
	var w abi.BatchWriter
	var rows abi.Rows
	if req.items {
		rows = req.rows
	}
	size, err := w.Plan(rows, req.cols, &req.env)
	if err != nil {
		return nil, fmt.Errorf("%s: plan the batch: %w", req.op, err)
	}
	b := make([]byte, size)
	if err := w.Write(b); err != nil {
		return nil, fmt.Errorf("%s: write the batch: %w", req.op, err)
	}
	if req.later {
		b = laterBatch(b)
	}
	return b, nil
}

// laterMember is the name of the member that laterDocument adds to every object.
const laterMember = "a_later_member"

// laterDocument adds a member that no version defines to the document and to the objects in
// it. It leaves out objects whose keys the author chooses.
func laterDocument(b []byte) ([]byte, error) {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, err
	}
	for _, key := range []string{"query", "state", "budget"} {
		if v, ok := doc[key]; ok {
			doc[key] = withLater(v)
		}
	}
	for _, key := range []string{"items", "turns", "messages"} {
		var list []json.RawMessage
		if json.Unmarshal(doc[key], &list) != nil || list == nil {
			continue
		}
		for i := range list {
			list[i] = withLater(list[i])
		}
		doc[key], _ = json.Marshal(list) // texts that were decoded a moment ago
	}
	whole, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	return withLater(whole), nil
}

// withLater adds the member at the beginning of an object.
func withLater(v json.RawMessage) json.RawMessage {
	const member = `{"` + laterMember + `":{"list":[1,"two",null,{"deep":true}]}`
	if len(v) < 2 || v[0] != '{' {
		return v
	}
	if string(v) == "{}" {
		return json.RawMessage(member + "}")
	}
	return append([]byte(member+","), v[1:]...)
}

// laterSection is the id of the section that laterBatch adds. It is above
// those of a batch, so that the directory stays ascending.
const laterSection = 400

// laterBatch adds a section that no version defines, and raises the minor version.
func laterBatch(b []byte) []byte {
	le := binary.LittleEndian
	sections := int(le.Uint32(b[20:]))
	dir := int(le.Uint32(b[8:])) + sections*layout.EntrySize
	text := []byte("a later section.") // 16 bytes, which keep the alignment
	out := append([]byte(nil), b[:dir]...)
	for i := range sections {
		at := out[dir-(sections-i)*layout.EntrySize+8:]
		le.PutUint32(at, le.Uint32(at)+layout.EntrySize)
	}
	entry := make([]byte, layout.EntrySize)
	le.PutUint16(entry, laterSection)
	le.PutUint16(entry[2:], uint16(layout.TypeText))
	le.PutUint32(entry[8:], uint32(len(b)+layout.EntrySize))
	le.PutUint32(entry[12:], uint32(len(text)))
	out = append(append(append(out, entry...), b[dir:]...), text...)
	le.PutUint16(out[6:], layout.Minor+1)
	le.PutUint32(out[12:], uint32(len(out)))
	le.PutUint32(out[20:], uint32(sections+1))
	return out
}
