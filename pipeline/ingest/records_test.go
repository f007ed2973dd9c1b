package ingest_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// TestBadRecord holds that a record that cannot be taken is told, and that the others are taken
// and go with their file.
func TestBadRecord(t *testing.T) {
	f := newFixture(t)
	f.write("c.jsonl", `{"id":"a\u0001b","text":"apple"}`+"\n"+`{"id":"2","text":"`+strings.Repeat("a ", 10)+`"}`+"\n{]\n"+`{"id":"4","text":"date"}`)
	f.want(f.run("."), 0, 0, 0, 1, 0)
	if f.names() != "c.jsonl c.jsonl#1 c.jsonl#2 c.jsonl#4" || !strings.Contains(strings.Join(f.fails, ""), "line 3") {
		t.Errorf("documents: %s, failures %q", f.names(), f.fails)
	}
	if r := f.run("."); r.Documents != 0 { // the good ones are there
		t.Errorf("the second run wrote %d documents", r.Documents)
	}
	f.write("c.jsonl", `{"id":"4","text":"date"}`)
	f.want(f.run("."), 0, 0, 1, 0, 2)
	f.o.RemoveMissing = true
	if err := os.Remove(filepath.Join(f.dir, "c.jsonl")); err != nil {
		t.Fatal(err)
	}
	f.run(".")
	if f.names() != "" {
		t.Errorf("documents: %s", f.names())
	}
}

// TestEqualNames holds that many records of one name cost linear time, and keep their documents.
func TestEqualNames(t *testing.T) {
	var f *fixture
	ingest := func(n int) time.Duration {
		f = newFixture(t)
		f.write("c.jsonl", `{"id":"x-3","text":"third"}`+"\n"+strings.Repeat(`{"id":"x","text":"same"}`+"\n", n))
		began := time.Now()
		if r := f.run("."); r.Documents != n+3 { // all records, and twice the file
			t.Errorf("%d documents of %d records", r.Documents, n)
		}
		return time.Since(began)
	}
	// In linear time it is 10, in quadratic time 100. Whatever else the machine does may hit the
	// second alone, so it has some tries.
	few, many := ingest(2_000), ingest(20_000)
	for try := 0; many > 40*few && try < 5; try++ {
		few, many = max(few, ingest(2_000)), min(many, ingest(20_000))
	}
	if many > 40*few {
		t.Errorf("2,000 records in %v, 20,000 in %v", few, many)
	}
	f.want(f.run("."), 1, 0, 0, 0, 0)
}

// TestLongList holds that a list of any length is cut into documents whose chunks name their lines.
func TestLongList(t *testing.T) {
	f := newFixture(t)
	var b strings.Builder
	b.WriteString("name,city\n")
	const n = 50_000
	for i := range n {
		fmt.Fprintf(&b, "person%d,%s\n", i, strings.Repeat("far ", 30))
	}
	f.write("l.csv", b.String())
	f.o.MaxFile = 1 << 20 // it does not hold for what is read as a stream
	f.want(f.run("."), 0, 1, 0, 0, 0)
	f.want(f.run("."), 1, 0, 0, 0, 0)
	for _, i := range []int{0, n / 2, n - 1} {
		hits, err := f.index.Search(t.Context(), docs, retrieve.Query{Text: fmt.Sprintf("person%d", i)})
		if err != nil || len(hits) == 0 || !strings.HasPrefix(hits[0].Text, "name | city\n") {
			t.Fatalf("%d hits, error %v", len(hits), err)
		}
		lines := strings.Split(b.String(), "\n")[hits[0].Lines.From-1 : hits[0].Lines.To]
		if !strings.Contains(strings.Join(lines, "\n"), fmt.Sprintf("person%d,", i)) {
			t.Errorf("lines %+v have no person%d", hits[0].Lines, i)
		}
	}
	f.write("l.csv", "name,city\nAnn,Oslo\n")
	f.run(".")
	if f.names() != "l.csv" || f.finds("person7") || !f.finds("oslo") {
		t.Errorf("documents: %s", f.names())
	}
}

// growing writes to a file while it is read.
type growing struct {
	path string
	more int
}

func (g *growing) grow() error {
	if g.more--; g.more < 0 {
		return nil
	}
	f, err := os.OpenFile(g.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(`{"id":"late","text":"late"}` + "\n")
	return errors.Join(err, f.Close())
}

// TestChangingList holds that a list that changes while it is read is told, and complete after the
// next run.
func TestChangingList(t *testing.T) {
	f := newFixture(t)
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, "{\"id\":\"%d\",\"text\":\"%s\"}\n", i, strings.Repeat("word ", 60))
	}
	f.write("c.jsonl", b.String())
	g := &growing{path: filepath.Join(f.dir, "c.jsonl"), more: 1}
	f.o.Progress = func(ingest.Progress) {
		if err := g.grow(); err != nil {
			t.Error(err)
		}
	}
	f.want(f.run("."), 0, 0, 0, 1, 0)
	if len(f.fails) != 1 || !strings.Contains(f.fails[0], "c.jsonl: it changes while it is read") {
		t.Errorf("failures %q", f.fails)
	}
	f.want(f.run("."), 0, 0, 1, 0, 0)
	f.want(f.run("."), 1, 0, 0, 0, 0)
	if !f.finds("late") {
		t.Error("the last record is missing")
	}
}

// endless is JSON Lines of a given length, made while they are read.
type endless struct {
	left int
	n    int
	rest bytes.Buffer
}

func (e *endless) Read(p []byte) (int, error) {
	for e.rest.Len() < len(p) && e.left > 0 {
		n, _ := fmt.Fprintf(&e.rest, "{\"id\":\"%d\",\"text\":\"%s %d\"}\n", e.n, strings.Repeat("some words of a record ", 40), e.n)
		e.left -= n
		e.n++
	}
	if e.rest.Len() == 0 {
		return 0, io.EOF
	}
	return e.rest.Read(p)
}

// TestMemory holds that a list of any length is read with the same memory. ANCHOR_INGEST_MIB is
// the length of the list in MiB; 1024 take minutes.
func TestMemory(t *testing.T) {
	mib, err := strconv.Atoi(cmp.Or(os.Getenv("ANCHOR_INGEST_MIB"), "32"))
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t)
	most := uint64(0)
	f.o.Progress = func(ingest.Progress) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
	}
	source := ingest.Source{Path: "c.jsonl", Reader: &endless{left: mib << 20}}
	if _, err := ingest.Run(t.Context(), f.index, []ingest.Source{source}, f.o); err != nil {
		t.Fatal(err)
	}
	if most == 0 || most > 300<<20 {
		t.Errorf("%d MiB of memory for %d MiB of records", most>>20, mib)
	}
	t.Logf("%d MiB of memory for %d MiB of records", most>>20, mib)
}

// failing is an index of which one deletion fails.
type failing struct {
	retrieve.Index
	left int // deletions before it
}

func (x *failing) Delete(ctx context.Context, c retrieve.Collection, ids ...string) (int, error) {
	if x.left--; x.left == -1 {
		return 0, store.ErrBusy
	}
	return x.Index.Delete(ctx, c, ids...)
}

// Who cannot delete all of a list learns that a part is gone, and deletes the rest when he asks again.
func TestRemoveHalf(t *testing.T) {
	f := newFixture(t)
	f.write("c.jsonl", `{"_id":"1","text":"apple"}`+"\n"+`{"_id":"2","text":"banana"}`+"\n")
	f.run(".")
	id := ""
	for d, err := range f.index.Documents(t.Context(), docs, retrieve.IDs{}) {
		if id = d.ID; err != nil {
			t.Fatal(err)
		}
		break // the list comes before its records
	}
	x := &failing{f.index, 0}
	if n, err := ingest.Remove(t.Context(), x, docs, id); n != 0 || !errors.Is(err, store.ErrBusy) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("nothing is deleted: %d, %v", n, err)
	}
	x.left = 1
	if n, err := ingest.Remove(t.Context(), x, docs, id); n != 2 || !errors.Is(err, store.ErrUnknown) {
		t.Errorf("the records are deleted: %d, %v", n, err)
	}
	if n, err := ingest.Remove(t.Context(), x, docs, id); n != 1 || err != nil || f.names() != "" {
		t.Errorf("again: %d, %v, %s", n, err, f.names())
	}
}
