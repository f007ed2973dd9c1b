package segment

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// noTime is the second of a document without a time.
const noTime = -1 << 62

// appendDocument writes what searches need to know about a document, its ID first.
func appendDocument(dst []byte, d *retrieve.Document) []byte {
	dst = appendText(dst, d.ID)
	dst = appendText(dst, d.Path)
	dst = appendText(dst, d.Title)
	dst = appendText(dst, d.Hash)
	second := int64(noTime)
	if !d.Time.IsZero() {
		second = d.Time.Unix()
	}
	dst = binary.AppendVarint(dst, second)
	dst = binary.AppendUvarint(dst, uint64(len(d.Meta)))
	for _, key := range slices.Sorted(maps.Keys(d.Meta)) {
		dst = appendText(appendText(dst, key), d.Meta[key])
	}
	return dst
}

// readDocument reads a document without its chunks.
func readDocument(data []byte) (retrieve.Document, error) {
	r := reader{data: data}
	d := retrieve.Document{ID: r.text(), Path: r.text(), Title: r.text(), Hash: r.text()}
	if second := r.varint(); second != noTime {
		d.Time = time.Unix(second, 0).UTC()
	}
	n := r.number()
	if n > len(r.data)/2 {
		r.bad = true
	}
	for i := 0; i < n && !r.bad; i++ {
		if d.Meta == nil {
			d.Meta = make(map[string]string, n)
		}
		key := r.text()
		d.Meta[key] = r.text()
	}
	if r.bad || len(r.data) != 0 {
		return d, corrupt("metadata of a document")
	}
	return d, nil
}

// appendChunk writes the place of a chunk. The page on which it ends is written last, if it is another, so that
// what was written before chunks had it is read too.
func appendChunk(dst []byte, c *retrieve.Chunk) []byte {
	for _, n := range []int{c.Page, c.Lines.From, c.Lines.To, len(c.Headings)} {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	for _, h := range c.Headings {
		dst = appendText(dst, h)
	}
	if c.PageEnd > c.Page {
		dst = binary.AppendUvarint(dst, uint64(c.PageEnd))
	}
	return dst
}

// readChunk reads a chunk without its text and its vector.
func readChunk(data []byte) (retrieve.Chunk, error) {
	r := reader{data: data}
	c := retrieve.Chunk{Page: r.number(), Lines: retrieve.Lines{From: r.number(), To: r.number()}}
	n := r.number()
	if n > len(r.data) {
		r.bad = true
	}
	for i := 0; i < n && !r.bad; i++ {
		c.Headings = append(c.Headings, r.text())
	}
	if len(r.data) > 0 {
		c.PageEnd = r.number()
	}
	if r.bad || len(r.data) != 0 {
		return c, corrupt("metadata of a chunk")
	}
	return c, nil
}
