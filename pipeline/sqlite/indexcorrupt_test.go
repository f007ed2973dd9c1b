package sqlite

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// TestIndexCorrupt damages what the index has stored. Every call says so, names the
// collection and the remedy, which works, and other collections can still be searched.
func TestIndexCorrupt(t *testing.T) {
	for name, damage := range map[string]string{
		"segment":     "UPDATE segments SET data = zeroblob(length(data)) WHERE collection = 1",
		"older form":  "UPDATE segments SET data = CAST('ahseg1' || substr(data, 7) AS BLOB) WHERE collection = 1",
		"cut segment": "UPDATE segments SET data = substr(data, 1, length(data) - 1) WHERE collection = 1",
		"vectors":     "UPDATE segments SET vectors = zeroblob(length(vectors)) WHERE collection = 1",
		"moved":       "UPDATE segments SET collection = 3 - collection",
		"text":        "UPDATE texts SET data = zeroblob(length(data)) WHERE at >> 20 = 1",
		"no text":     "DELETE FROM texts WHERE at >> 20 = 1",
		"other text":  "UPDATE texts SET data = (SELECT data FROM texts WHERE at >> 20 = 2) WHERE at >> 20 = 1",
		"settings":    "UPDATE collections SET settings = '{' WHERE id = 1",
		"stop words":  `UPDATE collections SET settings = '{"stop_words":"x"}' WHERE id = 1`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			s := mustOpen(t, path, Options{Sync: Normal})
			x := s.Index()
			bad, good := retrieve.Collection{Tenant: "t", Name: "bad"}, retrieve.Collection{Tenant: "t", Name: "good"}
			doc := retrieve.Document{ID: "d", Chunks: []retrieve.Chunk{{Text: "some words", Vector: []float32{1, 2}}}}
			for _, c := range []retrieve.Collection{bad, good} {
				must(t, x.Create(t.Context(), c, retrieve.Settings{Model: retrieve.Model{ID: "m", Dimension: 2}}))
				doc.Chunks[0].Text = "some words of " + c.Name
				must(t, x.Upsert(t.Context(), c, doc))
			}
			c, err := openConn(fileURI(path) + "?mode=rw")
			must(t, err)
			must(t, c.once(damage+"; UPDATE collections SET generation = generation + 1"))
			must(t, c.close())
			for _, q := range []retrieve.Query{{Text: "words"}, {Text: "words", Vector: []float32{1, 1}}} {
				_, err := x.Search(t.Context(), bad, q)
				if !errors.Is(err, retrieve.ErrCorrupt) || strings.Contains(err.Error(), "\n") ||
					!strings.Contains(err.Error(), "t/bad") || !strings.Contains(err.Error(), "anchor-host ingest PATH --collection bad") {
					t.Errorf("search: %v", err)
				}
			}
			if _, err := x.Document(t.Context(), bad, "d"); !errors.Is(err, retrieve.ErrCorrupt) {
				t.Errorf("document: %v", err)
			}
			if name == "older form" {
				must(t, s.Close())
				s = mustOpen(t, path, Options{Sync: Normal}) // this process has written none of it
				x = s.Index()
				err := x.Upsert(t.Context(), bad, retrieve.Document{ID: "e", Chunks: []retrieve.Chunk{{Text: "more"}}})
				if !errors.Is(err, retrieve.ErrCorrupt) || !strings.Contains(err.Error(), "anchor-host collections remove bad") || !strings.Contains(err.Error(), "another version") {
					t.Errorf("write: %v", err)
				}
			}
			must(t, x.Remove(t.Context(), bad))
			must(t, x.Create(t.Context(), bad, retrieve.Settings{}))
			must(t, x.Upsert(t.Context(), bad, retrieve.Document{ID: "d", Chunks: []retrieve.Chunk{{Text: "some words"}}}))
			for _, c := range []retrieve.Collection{bad, good} {
				if name == "moved" && c == good {
					continue // it was damaged, too
				}
				hits, err := x.Search(t.Context(), c, retrieve.Query{Text: "words"})
				if err != nil || len(hits) != 1 {
					t.Errorf("%s: %d hits, %v", c, len(hits), err)
				}
			}
		})
	}
}

// TestIndexReadOnly searches a store that cannot be written.
func TestIndexReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	c := retrieve.Collection{Tenant: "t", Name: "c"}
	s, err := Open(t.Context(), path, Options{Sync: Normal})
	must(t, err)
	must(t, s.Index().Create(t.Context(), c, retrieve.Settings{}))
	must(t, s.Index().Upsert(t.Context(), c, retrieve.Document{ID: "d", Chunks: []retrieve.Chunk{{Text: "w"}}}))
	must(t, s.Close())
	s = mustOpen(t, path, Options{ReadOnly: true})
	hits, err := s.Index().Search(t.Context(), c, retrieve.Query{Text: "w"})
	if err != nil || len(hits) != 1 {
		t.Errorf("%d hits, %v", len(hits), err)
	}
	oneLine(t, s.Index().Upsert(t.Context(), c, retrieve.Document{ID: "e"}), errReadOnly, path, "t/c")
}

// TestIndexCompactForgets looks for what was deleted in the file.
func TestIndexCompactForgets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := mustOpen(t, path, Options{Sync: Normal})
	c := retrieve.Collection{Tenant: "t", Name: "c"}
	must(t, s.Index().Create(t.Context(), c, retrieve.Settings{}))
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		must(t, s.Index().Upsert(t.Context(), c, retrieve.Document{ID: id, Chunks: []retrieve.Chunk{{Text: "zebrafish"}}}, retrieve.Document{ID: id + "2", Chunks: []retrieve.Chunk{{Text: "word"}}}))
	}
	n, err := s.Index().Delete(t.Context(), c, "a", "b", "c", "d", "e")
	if n != 5 || err != nil {
		t.Fatal(n, err)
	}
	must(t, s.Index().Compact(t.Context(), c))
	must(t, s.Checkpoint(t.Context()))
	if fileHas(t, path, "zebrafish") {
		t.Error("the file has what was deleted")
	}
	if !fileHas(t, path, "word") {
		t.Error("the file has no words at all")
	}
}

func fileHas(t *testing.T, path, text string) bool {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return bytes.Contains(data, []byte(text))
}
