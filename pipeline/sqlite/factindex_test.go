package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/internal/sqlindex"
	"github.com/anchor-host/anchor-host/store"
)

var factsOfT = store.Key{Tenant: "t", Kind: store.KindFact}

func factRecord(id, content string) store.Record {
	return store.Record{ID: id, Data: json.RawMessage(fmt.Sprintf(`{"content":%q,"last_accessed":"2026-01-02T03:04:05Z"}`, content))}
}

// findsFact reports whether a fact is found by words alone.
func findsFact(t *testing.T, s *Store, query, id string) bool {
	t.Helper()
	found, err := s.FindFacts(t.Context(), "t", store.FactQuery{Text: query, Most: 1})
	must(t, err)
	return slices.ContainsFunc(found, func(f store.FoundFact) bool { return f.Record.ID == id })
}

// A store of an older version, and a store with a damaged index, get an index when facts are
// looked for or written.
func TestFactIndexIsMadeAgain(t *testing.T) {
	for name, damage := range map[string]string{
		"older version":         "DROP TABLE facts; DELETE FROM collections; DELETE FROM documents; DELETE FROM segments; DELETE FROM dead; PRAGMA user_version = 3",
		"segment":               "UPDATE segments SET data = zeroblob(length(data)); UPDATE collections SET generation = generation + 1",
		"settings":              "UPDATE collections SET settings = '{', generation = generation + 1",
		"damaged record":        "UPDATE records SET data = x'7b7d' WHERE id = 'other'; DELETE FROM collections",
		"a record of no object": "DELETE FROM collections",
	} {
		for _, first := range []string{"read", "write", "delete", "vectors"} {
			t.Run(name+"/"+first, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "store.db")
				s := mustOpen(t, path, Options{Sync: Normal})
				must(t, s.Apply(t.Context(), store.Change{Key: factsOfT, Put: []store.Record{
					factRecord("a", "The zeppelin lands."), factRecord("other", "Nothing."), {ID: "odd", Data: json.RawMessage(`[1]`)}, factRecord("", "No name, a walrus."), factRecord("c", "Third."),
				}}))
				must(t, s.Close())
				script(t, path, damage)
				s = mustOpen(t, path, Options{Sync: Normal})
				content := sha256.Sum256([]byte("The zeppelin lands."))
				switch first {
				case "write":
					must(t, s.Put(t.Context(), factsOfT, factRecord("new", "A lighthouse.")))
				case "delete":
					if _, err := s.Delete(t.Context(), factsOfT, "c"); err != nil {
						t.Fatal(err)
					}
				case "vectors":
					if err := s.SetFactVectors(t.Context(), "t", "m", map[[32]byte][]float32{content: {1, 2}}); err != nil {
						t.Fatal(err)
					}
				}
				if !findsFact(t, s, "zeppelins", "a") || !findsFact(t, s, "walrus", "#4") || first == "write" && !findsFact(t, s, "lighthouse", "new") {
					t.Error("a fact is not found")
				}
				if first == "delete" && findsFact(t, s, "third", "c") {
					t.Error("a forgotten fact is found")
				}
				must(t, s.Put(t.Context(), factsOfT, factRecord("a", "The balloon lands.")))
				if !findsFact(t, s, "balloon", "a") {
					t.Error("a changed fact is not found")
				}
			})
		}
	}
}

// What was forgotten is not in the file any more, and collections of users do not meet the index.
func TestForgottenFactsLeaveTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := mustOpen(t, path, Options{Sync: Normal})
	for i := range 40 {
		must(t, s.Put(t.Context(), factsOfT, factRecord(fmt.Sprint("f", i), fmt.Sprint("keep word", i))))
	}
	must(t, s.Put(t.Context(), factsOfT, factRecord("secret", "zebrafish")))
	must(t, s.SetFactVectors(t.Context(), "t", "m", map[[32]byte][]float32{sha256.Sum256([]byte("zebrafish")): {0, 1}}))
	if list, err := s.Index().Collections(t.Context(), "t"); err != nil || len(list) != 0 {
		t.Errorf("collections %v, %v", list, err)
	}
	if _, err := s.Delete(t.Context(), factsOfT, "secret"); err != nil {
		t.Fatal(err)
	}
	must(t, s.Checkpoint(t.Context()))
	if fileHas(t, path, "zebrafish") {
		t.Error("the file has what was forgotten")
	}
	if !findsFact(t, s, "word7", "f7") {
		t.Error("another fact is not found")
	}
	if _, err := s.Clear(t.Context(), factsOfT); err != nil {
		t.Fatal(err)
	}
	must(t, s.Checkpoint(t.Context()))
	if fileHas(t, path, "word7") || findsFact(t, s, "word7", "f7") {
		t.Error("the file has what was cleared")
	}
}

const (
	factVictimEnv  = "ANCHOR_TEST_FACT_VICTIM"
	factVictimName = "ANCHOR_TEST_FACT_VICTIM_NAME"
)

// factVictim writes facts and deletes each third again, until it is killed. It prints the number
// of each fact that was written.
func factVictim(path, name string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	}
	ctx := context.Background()
	s, err := Open(ctx, path, Options{Sync: Normal, BusyTimeout: time.Minute})
	fail(err)
	for i := 1; ; i++ {
		id := fmt.Sprint(name, "-", i)
		fail(s.Put(ctx, factsOfT, factRecord(id, fmt.Sprint("number", i, name))))
		if i%3 == 0 {
			_, err := s.Delete(ctx, factsOfT, id)
			fail(err)
		}
		fmt.Println(i)
	}
}

// Two processes write facts and are killed. Afterwards the index has the facts of the records, and
// no others.
func TestFactsKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := mustOpen(t, path, Options{Sync: Normal, BusyTimeout: time.Minute})
	rounds := 2
	if longTests {
		rounds = 50
	}
	for round := range rounds {
		var wg sync.WaitGroup
		for _, half := range []string{"a", "b"} {
			name := fmt.Sprintf("%s%dx", half, round)
			wg.Go(func() {
				killVictim(t, name, time.Duration(80+round*7%50)*time.Millisecond, factVictimEnv+"="+path, factVictimName+"="+name)
			})
		}
		wg.Wait()
		records, err := s.Read(t.Context(), factsOfT, 0, 0)
		must(t, err)
		there := map[string]bool{}
		for _, r := range records {
			there[r.ID] = true
			var e struct{ Content string }
			must(t, json.Unmarshal(r.Data, &e))
			if !findsFact(t, s, e.Content, r.ID) {
				t.Errorf("%s is not found", r.ID)
			}
		}
		must(t, s.snapshot(t.Context(), "t", func(x sqlindex.Conn) error {
			c := x.(asked)
			facts, _, err := c.number("SELECT count(*) FROM facts")
			documents, _, err2 := c.number("SELECT count(*) FROM documents")
			if int(facts) != len(there) || facts != documents || err2 != nil {
				t.Errorf("%d records, %d facts and %d documents in the index", len(there), facts, documents)
			}
			return err
		}))
	}
	must(t, s.Check(t.Context()))
}

// A user whose name looks like a list of names is not each of them.
func TestFactsOfAListOfNames(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.db"), Options{Sync: Normal})
	must(t, s.Put(t.Context(), factsOfT, store.Record{ID: "x", Data: json.RawMessage(`{"content":"The zeppelin lands.","user_id":"ann, bob","session_id":"s, t"}`)}))
	for _, tt := range []struct {
		q    store.FactQuery
		want int
	}{
		{store.FactQuery{Users: []string{"ann, bob"}, Sessions: []string{"s, t"}}, 1},
		{store.FactQuery{Users: []string{"ann"}}, 0}, {store.FactQuery{Users: []string{"bob"}}, 0}, {store.FactQuery{Sessions: []string{"s"}}, 0},
	} {
		tt.q.Text, tt.q.Most = "zeppelin", 1
		if found, err := s.FindFacts(t.Context(), "t", tt.q); err != nil || len(found) != tt.want {
			t.Errorf("%+v: %d facts, error %v, want %d", tt.q, len(found), err, tt.want)
		}
	}
}
