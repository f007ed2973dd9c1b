package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/indextest"
	"github.com/anchor-host/anchor-host/internal/testkit/pgtest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

func TestIndexContract(t *testing.T) {
	indextest.Run(t, func(t *testing.T) retrieve.Index { return mustOpen(t, pgtest.URL(t), Options{}).Index() })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// both opens a store on each database.
func both(t *testing.T) (a *sqlite.Store, b *Store) {
	a, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), sqlite.Options{})
	must(t, err)
	t.Cleanup(func() { _ = a.Close() })
	return a, mustOpen(t, pgtest.URL(t), Options{})
}

func words(r *rand.Rand, n int) string {
	z, list := rand.NewZipf(r, 1.2, 4, 400), make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("w%x", z.Uint64())
	}
	return strings.Join(list, " ")
}

func vector(r *rand.Rand) []float32 {
	v := make([]float32, 8)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// Both databases find the same, in the same order and with the same scores.
func TestRankingsAreThoseOfSQLite(t *testing.T) {
	a, b := both(t)
	r, col := rand.New(rand.NewPCG(1, 2)), retrieve.Collection{Tenant: "t", Name: "c"}
	for _, x := range []retrieve.Index{a.Index(), b.Index()} {
		must(t, x.Create(t.Context(), col, retrieve.Settings{Model: retrieve.Model{ID: "m", Dimension: 8}}))
	}
	for batch := range 12 {
		var docs []retrieve.Document
		for range 25 { // some are replaced by later batches
			docs = append(docs, retrieve.Document{ID: fmt.Sprint("d", len(docs)+20*batch), Meta: map[string]string{"half": fmt.Sprint(batch % 2)}, Chunks: []retrieve.Chunk{{Text: words(r, 60), Vector: vector(r)}, {Text: words(r, 30), Vector: vector(r)}}})
		}
		for _, x := range []retrieve.Index{a.Index(), b.Index()} {
			must(t, x.Upsert(t.Context(), col, docs...))
			if _, err := x.Delete(t.Context(), col, fmt.Sprint("d", 7*batch)); err != nil {
				t.Fatal(err)
			}
		}
	}
	found := 0
	for i := range 60 {
		q := retrieve.Query{Text: words(r, 4), Vector: vector(r), By: []retrieve.By{retrieve.ByWords, retrieve.ByVectors, retrieve.ByHybrid}[i%3], K: 20}
		if i%4 == 0 {
			q.Filter = []retrieve.Condition{{Field: "half", Op: retrieve.OpEqual, Values: []string{"1"}}}
		}
		want, err := a.Index().Search(t.Context(), col, q)
		must(t, err)
		have, err := b.Index().Search(t.Context(), col, q)
		must(t, err)
		if found += len(have); !reflect.DeepEqual(have, want) {
			t.Fatalf("query %d:\nhave %+v\nwant %+v", i, have, want)
		}
	}
	if found < 500 {
		t.Errorf("only %d hits", found)
	}
}

// Both databases find the same facts.
func TestFactsAreThoseOfSQLite(t *testing.T) {
	a, b := both(t)
	r, key := rand.New(rand.NewPCG(3, 4)), store.Key{Tenant: "t", Kind: store.KindFact}
	for i := range 120 {
		data, err := json.Marshal(map[string]any{
			"content": words(r, 12), "user_id": []string{"", "ann", "bob\x00", strings.Repeat("long", 2000)}[i%4], "session_id": fmt.Sprint(i % 3),
			"memory_type": []string{"semantic", "episodic"}[i%2], "tags": []string{fmt.Sprint("tag", i%5), "zero\x00"}, "relevance_score": float64(i%7) / 7,
			"last_accessed": time.Unix(int64(1e9+i/2), 0).UTC(), "content_hash": fmt.Sprint("hash", i%50),
		})
		must(t, err)
		rec := store.Record{ID: fmt.Sprint("f", i%100), Data: data, Time: time.Unix(1, 0)}
		for _, s := range []store.Store{a, b} {
			must(t, s.Put(t.Context(), key, rec))
			if i%10 == 9 {
				if _, err := s.Delete(t.Context(), key, fmt.Sprint("f", i-3)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	same := func(what string, ask func(store.FactIndex) (any, error)) {
		t.Helper()
		want, err := ask(a)
		must(t, err)
		have, err := ask(b)
		must(t, err)
		if v := reflect.ValueOf(want); v.Len() == 0 || !reflect.DeepEqual(have, want) {
			t.Errorf("%s:\nhave %+v\nwant %+v", what, have, want)
		}
	}
	for i, q := range []store.FactQuery{
		{Text: words(r, 3)}, {Text: words(r, 3), Users: []string{"ann", ""}}, {Users: []string{"bob\x00"}, Sessions: []string{"1", "2"}},
		{Users: []string{strings.Repeat("long", 2000)}}, {Type: "episodic", Tags: []string{"tag3"}}, {Tags: []string{"zero\x00"}}, {Sessions: []string{"0"}, Text: words(r, 5)},
		{Tags: []string{"tag1", "zero\x00", "tag1"}},
	} {
		q.Most, q.Now = 6, time.Unix(2e9, 0)
		same(fmt.Sprint("query ", i), func(x store.FactIndex) (any, error) { return x.FindFacts(t.Context(), "t", q) })
	}
	same("hashes", func(x store.FactIndex) (any, error) {
		return x.FactsByHash(t.Context(), "t", []string{"hash7", "hash30"})
	})
	same("without vectors", func(x store.FactIndex) (any, error) {
		list, err := x.FactsWithoutVector(t.Context(), "t", "m", 500)
		slices.SortFunc(list, func(a, b store.Record) int { return int(a.Seq - b.Seq) })
		return list, err
	})
}

// Searches with other numbers of tags are the same statement, as the client and the server keep each.
func TestTagsAreOneStatement(t *testing.T) {
	s, tags := mustOpen(t, pgtest.URL(t), Options{Pool: 1}), []string{}
	must(t, s.Put(t.Context(), store.Key{Tenant: "t", Kind: store.KindFact}, store.Record{ID: "f", Data: []byte(`{"content":"x y z"}`)}))
	kept := func() (n int) {
		for range 20 {
			tags = append(tags, fmt.Sprint("tag<", len(tags)))
			_, err := s.FindFacts(t.Context(), "t", store.FactQuery{Tags: tags, Most: 6, Now: time.Unix(2e9, 0)})
			must(t, err)
		}
		must(t, s.pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_prepared_statements").Scan(&n))
		return n
	}
	if first, second := kept(), kept(); second != first {
		t.Errorf("the server keeps %d statements, then %d", first, second)
	}
}

// What callers look for may be no text that the server takes.
func TestOddTexts(t *testing.T) {
	x, col := mustOpen(t, pgtest.URL(t), Options{}).Index(), retrieve.Collection{Tenant: "t", Name: "c"}
	must(t, x.Create(t.Context(), col, retrieve.Settings{}))
	must(t, x.Upsert(t.Context(), col, retrieve.Document{ID: "a", Chunks: []retrieve.Chunk{{Text: "w"}}}, retrieve.Document{ID: "b", Chunks: []retrieve.Chunk{{Text: "w\x00\xff"}}}))
	if hits, err := x.Search(t.Context(), col, retrieve.Query{Text: "w\x00\xff"}); err != nil || len(hits) == 0 {
		t.Errorf("%d hits, %v", len(hits), err)
	}
	for _, id := range []string{"a\x00", "\xff", "\x00"} {
		if _, err := x.Document(t.Context(), col, id); !errors.Is(err, retrieve.ErrNotFound) {
			t.Errorf("document %q: %v", id, err)
		}
		if n, err := x.Delete(t.Context(), col, id); n != 0 || err != nil {
			t.Errorf("delete %q: %d, %v", id, n, err)
		}
	}
	for _, ids := range []retrieve.IDs{{From: "a", Before: "a\x00"}, {Before: "b"}, {From: "\x00", Before: "a\xff"}} {
		n := 0
		for d, err := range x.Documents(t.Context(), col, ids) {
			if n++; err != nil || d.ID != "a" {
				t.Errorf("%q: %v, %v", ids, d, err)
			}
		}
		if n != 1 {
			t.Errorf("%q: %d documents", ids, n)
		}
	}
}
