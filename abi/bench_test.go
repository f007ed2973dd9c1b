package abi

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// benchItems are 1,000 items of 500 B text with 4 metadata strings.
func benchItems(n int) []Item {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 12)[:500]
	items := make([]Item, n)
	for i := range items {
		items[i] = Item{
			ID: fmt.Sprintf("doc-%06d", i), Content: text, Source: "retrieval", Score: float64(i%100) / 100,
			Priority: 5, TokenCount: 120, CreatedAt: time.Unix(1_700_000_000+int64(i), 0),
			Metadata: Metadata{"path": fmt.Sprintf("docs/part-%d.md", i), "title": "A title of a page", "lang": "en", "license": "CC-BY-4.0"},
		}
	}
	return items
}

var benchSets = []struct {
	name string
	cols ColumnSet
}{
	{"score", ColumnSet(0).With(ColumnScore)},
	{"text", ColumnSet(0).With(ColumnText)},
	{"metadata", ColumnSet(0).With(ColumnMetadata)},
	{"all", AllColumns},
}

// What does it cost the host to write a batch?
func BenchmarkWrite(b *testing.B) {
	var rows Rows = ItemRows(benchItems(1000))
	for _, s := range benchSets {
		b.Run(s.name, func(b *testing.B) {
			var w BatchWriter
			env := &Envelope{Query: &Query{Text: "fox"}, TokensLeft: 4000}
			size, err := w.Plan(rows, s.cols, env)
			if err != nil {
				b.Fatal(err)
			}
			dst := make([]byte, size)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := w.Plan(rows, s.cols, env); err != nil {
					b.Fatal(err)
				}
				if err := w.Write(dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What does it cost a reader to check a batch?
func BenchmarkOpen(b *testing.B) {
	var rows Rows = ItemRows(benchItems(1000))
	for _, s := range benchSets {
		b.Run(s.name, func(b *testing.B) {
			buf := encodeBatch(b, rows, s.cols, nil)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := OpenBatch(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What does the JSON lane cost in its place?
func BenchmarkJSONRequest(b *testing.B) {
	var rows Rows = ItemRows(benchItems(1000))
	for _, s := range benchSets {
		b.Run(s.name, func(b *testing.B) {
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if dst, err = AppendItemsRequest(dst[:0], rows, s.cols, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(dst)))
		})
	}
}

// What does a guest pay to decode a document with vectors?
func BenchmarkDecodeVectors(b *testing.B) {
	items := benchItems(100)
	for i := range items {
		items[i].Embedding = make([]float32, 384)
		for j := range items[i].Embedding {
			items[i].Embedding[j] = float32(i-j) / 389
		}
	}
	doc, err := AppendItemsRequest(nil, ItemRows(items), ColumnSet(0).With(ColumnID).With(ColumnEmbedding), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, err := DecodeItemsRequest(doc); err != nil {
			b.Fatal(err)
		}
	}
}

// What does an answer cost the host, from bytes to checked changes?
func BenchmarkChanges(b *testing.B) {
	c := &Changes{}
	for i := range uint32(1000) {
		if i%2 == 0 {
			c.Keep = append(c.Keep, i)
		}
	}
	binary, err := AppendChanges(nil, c)
	if err != nil {
		b.Fatal(err)
	}
	doc, err := AppendChangesJSON(nil, c)
	if err != nil {
		b.Fatal(err)
	}
	grant := Grant{Writes: ChangeSet(0).With(ChangeKeep)}
	for _, lane := range []struct {
		name   string
		decode func([]byte) (*Changes, error)
		in     []byte
	}{{"batch", DecodeChanges, binary}, {"json", DecodeChangesJSON, doc}} {
		b.Run(lane.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				got, err := lane.decode(lane.in)
				if err == nil {
					err = got.Check(1000, grant)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
