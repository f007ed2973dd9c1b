package storecopy_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/storecopy"
	"github.com/anchor-host/anchor-host/internal/testkit/pgtest"
	"github.com/anchor-host/anchor-host/pipeline/postgres"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

// The variables of the process that a test kills: a file and a database.
const fromEnv, toEnv = "ANCHOR_TEST_COPY_FROM", "ANCHOR_TEST_COPY_TO"

func TestMain(m *testing.M) {
	if from := os.Getenv(fromEnv); from != "" {
		copyUntilKilled(from, os.Getenv(toEnv))
	}
	os.Exit(pgtest.Run(m))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openFile(t *testing.T, path string) storecopy.End {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Sync: sqlite.Normal})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return storecopy.End{Store: s, Index: s.Index()}
}

func openURL(t *testing.T, url string) storecopy.End {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return storecopy.End{Store: s, Index: s.Index()}
}

// fill writes records with gaps, lists without records, facts and collections.
func fill(t *testing.T, e storecopy.End, records int) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	for _, tenant := range []string{"a", "b"} {
		for _, key := range []store.Key{{Tenant: tenant, Kind: "turn", Stream: "one"}, {Tenant: tenant, Kind: "turn", Stream: "two"}, {Tenant: tenant, Kind: store.KindFact}} {
			var recs []store.Record
			for i := range records {
				id := ""
				if i%3 == 0 {
					id = fmt.Sprint("id", i)
				}
				recs = append(recs, store.Record{ID: id, Data: fmt.Appendf(nil, `{"content": "%x %x"}`, r.IntN(50), r.IntN(50))})
			}
			_, err := e.Store.Append(t.Context(), key, recs...)
			must(t, err)
			_, err = e.Store.Delete(t.Context(), key, "id0", "#5", store.AutoID(int64(records)), fmt.Sprint("id", records-1))
			must(t, err)
		}
		empty := store.Key{Tenant: tenant, Kind: "turn", Stream: "empty"}
		_, err := e.Store.Append(t.Context(), empty, store.Record{Data: []byte("1")})
		must(t, err)
		_, err = e.Store.Clear(t.Context(), empty)
		must(t, err)
		col := retrieve.Collection{Tenant: tenant, Name: "docs"}
		must(t, e.Index.Create(t.Context(), col, retrieve.Settings{Model: retrieve.Model{ID: "m", Dimension: 2}, Vectors: retrieve.VectorsInt8}))
		var docs []retrieve.Document
		for i := range 30 {
			docs = append(docs, retrieve.Document{ID: fmt.Sprint("d", i), Root: "r", Chunks: []retrieve.Chunk{{Text: fmt.Sprintf("word%d common", i%7), Vector: []float32{float32(i), 1}}}})
		}
		must(t, e.Index.Upsert(t.Context(), col, docs...))
	}
}

// content is all that a store has, in one text.
func content(t *testing.T, e storecopy.End) string {
	t.Helper()
	var b strings.Builder
	tenants, err := e.Store.Tenants(t.Context())
	must(t, err)
	for _, tenant := range tenants {
		must(t, store.Export(t.Context(), e.Store, &b, tenant))
		hits, err := e.Index.Search(t.Context(), retrieve.Collection{Tenant: tenant, Name: "docs"}, retrieve.Query{Text: "word3 common", K: 20})
		must(t, err)
		for _, h := range hits {
			fmt.Fprintln(&b, h.ID, h.Score)
		}
	}
	return b.String()
}

func nothing(int64, int64) {}

// A copy to a database and back has the same records, numbers and collections.
func TestCopyThereAndBack(t *testing.T) {
	url := pgtest.URL(t)
	first, database, second := openFile(t, filepath.Join(t.TempDir(), "a.db")), openURL(t, url), openFile(t, filepath.Join(t.TempDir(), "b.db"))
	fill(t, first, 230)
	seen := int64(0)
	r, err := storecopy.Copy(t.Context(), first, database, func(done, total int64) {
		if done < seen || total < done {
			t.Errorf("%d of %d after %d", done, total, seen)
		}
		seen = done
	})
	must(t, err)
	if r.Tenants != 2 || r.Records != seen || r.Collections != 2 || r.Documents != 60 || r.Copied != r.Records+60 {
		t.Errorf("%+v, %d seen", r, seen)
	}
	_, err = storecopy.Copy(t.Context(), database, second, nothing)
	must(t, err)
	if want := content(t, first); content(t, database) != want || content(t, second) != want {
		t.Error("the copies differ")
	}
	for _, tenant := range []string{"a", "b"} {
		want, err := first.Store.LastSeqs(t.Context(), tenant)
		must(t, err)
		if have, err := second.Store.LastSeqs(t.Context(), tenant); err != nil || !reflect.DeepEqual(have, want) {
			t.Errorf("numbers %v, %v, want %v", have, err, want)
		}
	}
	if r, err := storecopy.Copy(t.Context(), first, database, nothing); err != nil || r.Copied != 0 {
		t.Errorf("again: %+v, %v", r, err)
	}
}

// What TO has and FROM has not, or has otherwise, stays and is an error.
func TestCopyReplacesNothing(t *testing.T) {
	key := store.Key{Tenant: "a", Kind: "turn", Stream: "one"}
	for name, change := range map[string]store.Change{
		"another record": {Key: key, Put: []store.Record{{ID: "id3", Data: []byte("9")}}},
		"one more":       {Key: key, Put: []store.Record{{ID: "more", Data: []byte("9")}}},
		"another list":   {Key: store.Key{Tenant: "a", Kind: "turn", Stream: "other"}, Put: []store.Record{{Data: []byte("9")}}},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := openFile(t, filepath.Join(t.TempDir(), "a.db")), openFile(t, filepath.Join(t.TempDir(), "b.db"))
			fill(t, from, 20)
			_, err := storecopy.Copy(t.Context(), from, to, nothing)
			must(t, err)
			must(t, to.Store.Apply(t.Context(), change))
			before := content(t, to)
			if _, err := storecopy.Copy(t.Context(), from, to, nothing); !errors.Is(err, store.ErrExists) || !strings.Contains(err.Error(), "empty store") {
				t.Errorf("copy: %v", err)
			}
			if content(t, to) != before {
				t.Error("the copy has changed TO")
			}
		})
	}
}

// docsOf makes TO a copy of a store that has only collections, without any record.
func docsOf(t *testing.T, to storecopy.End) (from storecopy.End, col retrieve.Collection) {
	t.Helper()
	from, col = openFile(t, filepath.Join(t.TempDir(), "a.db")), retrieve.Collection{Tenant: "only", Name: "docs"}
	must(t, from.Index.Create(t.Context(), col, retrieve.Settings{}))
	for _, id := range []string{"one", "two"} {
		must(t, from.Index.Upsert(t.Context(), col, retrieve.Document{ID: id, Root: "r", Chunks: []retrieve.Chunk{{Text: "a word"}}}))
	}
	r, err := storecopy.Copy(t.Context(), from, to, nothing)
	if must(t, err); r.Tenants != 1 || r.Collections != 1 || r.Documents != 2 || r.Copied != 2 {
		t.Errorf("%+v", r)
	}
	return from, col
}

// The collections of a tenant that has no records are copied too, there and back.
func TestCopyOfCollectionsOnly(t *testing.T) {
	database := openURL(t, pgtest.URL(t))
	docsOf(t, database)
	r, err := storecopy.Copy(t.Context(), database, openFile(t, filepath.Join(t.TempDir(), "b.db")), nothing)
	if must(t, err); r.Documents != 2 || r.Copied != 2 {
		t.Errorf("back: %+v", r)
	}
}

// What was deleted from FROM between two runs does not stay in TO without a word.
func TestCopyFindsWhatWasDeletedMeanwhile(t *testing.T) {
	for name, change := range map[string]func(from storecopy.End, col retrieve.Collection) error{
		"a document": func(from storecopy.End, col retrieve.Collection) error {
			_, err := from.Index.Delete(t.Context(), col, "one")
			return err
		},
		"a collection": func(from storecopy.End, col retrieve.Collection) error { return from.Index.Remove(t.Context(), col) },
	} {
		t.Run(name, func(t *testing.T) {
			to := openFile(t, filepath.Join(t.TempDir(), "b.db"))
			from, col := docsOf(t, to)
			_, err := from.Store.Append(t.Context(), store.Key{Tenant: "only", Kind: "turn"}, store.Record{Data: []byte("1")}) // the tenant stays
			must(t, err)
			must(t, change(from, col))
			if _, err := storecopy.Copy(t.Context(), from, to, nothing); !errors.Is(err, store.ErrExists) || !strings.Contains(err.Error(), "empty store") {
				t.Errorf("copy: %v", err)
			}
		})
	}
	to := openFile(t, filepath.Join(t.TempDir(), "c.db"))
	docsOf(t, to)
	if _, err := storecopy.Copy(t.Context(), openFile(t, filepath.Join(t.TempDir(), "empty.db")), to, nothing); !errors.Is(err, store.ErrExists) {
		t.Errorf("a tenant that only TO has: %v", err)
	}
}

// copyUntilKilled copies, and says so when the first records are there.
func copyUntilKilled(from, to string) {
	ctx := context.Background()
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	a, err := sqlite.Open(ctx, from, sqlite.Options{ReadOnly: true})
	fail(err)
	b, err := postgres.Open(ctx, to, postgres.Options{})
	fail(err)
	_, err = storecopy.Copy(ctx, storecopy.End{Store: a, Index: a.Index()}, storecopy.End{Store: b, Index: b.Index()}, func(done, _ int64) {
		if done >= 300 {
			fmt.Println("half")
			select {} // until it is killed
		}
	})
	fail(err)
}

// A copy that was killed goes on where it was.
func TestCopyKilled(t *testing.T) {
	url, path := pgtest.URL(t), filepath.Join(t.TempDir(), "a.db")
	from := openFile(t, path)
	fill(t, from, 230)
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), fromEnv+"="+path, toEnv+"="+url)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	if _, err := fmt.Fscanln(out, new(string)); err != nil {
		t.Error(err)
	}
	must(t, c.Process.Kill())
	_ = c.Wait() // it was killed
	to := openURL(t, url)
	r, err := storecopy.Copy(t.Context(), from, to, nothing)
	must(t, err)
	if r.Copied == 0 || r.Copied >= r.Records+r.Documents-250 {
		t.Errorf("%d of %d records and %d documents were copied after the kill", r.Copied, r.Records, r.Documents)
	}
	if content(t, to) != content(t, from) {
		t.Error("the copy differs")
	}
}
