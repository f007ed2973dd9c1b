package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/internal/sqlindex"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// counted counts the queries of a connection, and the bytes of the largest value in their rows.
type counted struct {
	sqlindex.Conn
	asked, largest *int
}

func (c counted) Query(sql string, args []driver.Value, f func(row []driver.Value) error) error {
	*c.asked++
	return c.Conn.Query(sql, args, func(row []driver.Value) error {
		for _, v := range row {
			if b, ok := v.([]byte); ok {
				*c.largest = max(*c.largest, len(b))
			}
		}
		return f(row)
	})
}

// A search asks for the texts of many hits at once, and each hit has its own text. It does not read all of a long
// document for it.
func TestTextsAreReadTogether(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	col := retrieve.Collection{Tenant: "t", Name: "c"}
	if err := s.Index().Create(t.Context(), col, retrieve.Settings{}); err != nil {
		t.Fatal(err)
	}
	docs := make([]retrieve.Document, 20)
	for i := range docs {
		docs[i].ID = fmt.Sprint("doc", i)
		for n := range 10 {
			docs[i].Chunks = append(docs[i].Chunks, retrieve.Chunk{Text: fmt.Sprintf("word doc%d#%d", i, n+1), Context: "about it"})
		}
	}
	for range 40 {
		docs[19].Chunks = append(docs[19].Chunks, retrieve.Chunk{Text: strings.Repeat("other ", 200)})
	}
	if err := s.Index().Upsert(t.Context(), col, docs...); err != nil {
		t.Fatal(err)
	}
	asked, largest := 0, 0
	x := sqlindex.New(sqlindex.Options{Dialect: dialect, Cache: 1 << 20, Fail: s.fail, Snapshot: func(ctx context.Context, tenant string, f func(sqlindex.Conn) error) error {
		return s.snapshot(ctx, tenant, func(c sqlindex.Conn) error { return f(counted{c, &asked, &largest}) })
	}})
	search := func(k int) int {
		asked, largest = 0, 0
		hits, err := x.Search(t.Context(), col, retrieve.Query{Text: "word", K: k})
		if err != nil || len(hits) != k {
			t.Fatalf("%d hits, %v", len(hits), err)
		}
		for _, h := range hits {
			if h.Text != "word "+h.ID || h.Context != "about it" {
				t.Errorf("%s has the text %q in %q", h.ID, h.Text, h.Context)
			}
		}
		return asked
	}
	search(1) // reads the segments
	if few, many := search(1), search(128); many > few+1 {
		t.Errorf("%d queries for 128 hits, %d for one", many, few)
	}
	if largest > 8<<10 {
		t.Errorf("a row of %d bytes was read for texts of few", largest)
	}
}

// Reads that follow each other use one connection, which has what they read in memory.
func TestReadsShareAConnection(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.db"), Options{Readers: 3})
	for range 5 {
		if _, err := s.Last(t.Context(), store.Key{Tenant: "t", Kind: "k", Stream: "s"}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.readers.idle); n != 1 {
		t.Errorf("%d connections are open, want 1", n)
	}
}
