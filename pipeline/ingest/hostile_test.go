package ingest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/hostile"
	"github.com/anchor-host/anchor-host/pipeline/ingest/chunk"
	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
)

// TestHostile holds that the meter knows what a file costs, whatever is in it: all memory that is
// allocated, also what is given back at once, is a small multiple of what it counts, and no work goes
// uncounted. The budgets are smaller than real ones, so that the test is quick.
func TestHostile(t *testing.T) {
	chunkers := chunk.All()
	for i, h := range hostile.Documents {
		for k, n := range []int{300, 10_000} {
			data := []byte(h.Make(n))
			b := meter.Budget{Memory: 8<<20 + 64*len(data), Work: 8<<20 + 128*len(data)}
			o := chunk.Options{By: chunkers[(i+k)%len(chunkers)], Overlap: 4, Embedder: &fake{}}
			m := meter.New(t.Context(), b)
			c := costOf(t, m, h.Name, data, o)
			what := fmt.Sprintf("%s of %d, %d bytes, chunker %s: %d bytes allocated, peak %d, work %d, %v, error %v", h.Name, n, len(data), o.By, c.allocated, m.Peak(), m.Spent(), c.took, c.err)
			if c.allocated > 4*(1<<20+m.Peak()+m.Spent()) {
				t.Errorf("too much memory: %s", what)
			}
			if c.took > 5*time.Second+time.Duration(m.Spent())*200 { // ten times as much as on a slow machine
				t.Errorf("too much time: %s", what)
			}
			if slack := 8 << 20; !parse.FormatOf(h.Name, data).Streams() && m.Spent() > b.Work+slack {
				t.Errorf("too much work: %s", what)
			}
			if c.err != nil && strings.Contains(c.err.Error(), "parser failed") {
				t.Error(what)
			}
		}
	}
}

type cost struct {
	allocated int
	took      time.Duration // of processors, so that others may use them too
	err       error
}

func costOf(t *testing.T, m *meter.Meter, name string, data []byte, o chunk.Options) (c cost) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := processorTime(t)
	c.err = parse.Parse(m, parse.File{Name: name}, data, parse.Limits{}, func(d parse.Document) error {
		_, err := chunk.Document(t.Context(), m, &d, o)
		return err
	})
	c.took = processorTime(t) - began
	runtime.ReadMemStats(&after)
	c.allocated = int(after.TotalAlloc - before.TotalAlloc)
	return c
}

// TestSmallHostile holds that small files stay small with the real budgets.
func TestSmallHostile(t *testing.T) {
	for _, name := range []string{
		"long mapping.pdf", "wide ranges.pdf", "forms in each other.pdf", "a bomb.pdf", "attributes.docx", "text.docx", "the same key.md", "aliases.md", "empty objects.jsonl",
	} {
		data := []byte(hostile.Named(name).Make(100_000))
		m := parse.Limits{}.Meter(t.Context(), len(data))
		if parse.FormatOf(name, data).Streams() {
			m = parse.StreamMeter(t.Context())
		}
		c := costOf(t, m, name, data, chunk.Options{})
		if len(data) == 0 || len(data) > 1<<20 || m.Peak() > 96<<20 || c.allocated > 400<<20 || c.took > 20*time.Second {
			t.Errorf("%s of %d bytes: peak %d, %d bytes allocated, %v, error %v", name, len(data), m.Peak(), c.allocated, c.took, c.err)
		}
	}
}

// TestHostileFolder holds that each hostile file of a folder is named, and the others are read.
func TestHostileFolder(t *testing.T) {
	f := newFixture(t)
	f.write("good.md", "good")
	f.write("a.pdf", hostile.Named("long mapping.pdf").Make(200_000))
	f.write("b.pdf", hostile.Named("a bomb.pdf").Make(60_000))
	f.want(f.run("."), 0, 1, 0, 2, 0)
	f.wantFails("a.pdf: it costs too much for its size (convert it to text, or leave it out): needs more than 32 MiB", "b.pdf: it costs too much")
}
