package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/internal/sqlindex"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// counted counts the queries of a connection.
type counted struct {
	sqlindex.Conn
	asked *int
}

func (c counted) Query(sql string, args []driver.Value, f func(row []driver.Value) error) error {
	*c.asked++
	return c.Conn.Query(sql, args, f)
}

// A search asks for the texts of many hits at once, and each hit has its own text.
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
	if err := s.Index().Upsert(t.Context(), col, docs...); err != nil {
		t.Fatal(err)
	}
	asked := 0
	x := sqlindex.New(sqlindex.Options{Dialect: dialect, Cache: 1 << 20, Fail: s.fail, Snapshot: func(ctx context.Context, tenant string, f func(sqlindex.Conn) error) error {
		return s.snapshot(ctx, tenant, func(c sqlindex.Conn) error { return f(counted{c, &asked}) })
	}})
	search := func(k int) int {
		asked = 0
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
