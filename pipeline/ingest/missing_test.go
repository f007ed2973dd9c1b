package ingest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/ingest"
)

func (f *fixture) remove(names ...string) {
	f.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(f.dir, name)); err != nil {
			f.Fatal(err)
		}
	}
}

func numbered(dir string, from, to int) (names []string) {
	for i := from; i < to; i++ {
		names = append(names, fmt.Sprintf("%s/f%02d.md", dir, i))
	}
	return names
}

// TestEmptyFolder holds that a folder without files, as one that is not mounted, removes nothing.
func TestEmptyFolder(t *testing.T) {
	for name, empty := range map[string]func(f *fixture){
		"empty":   func(f *fixture) { f.remove("d/a.md", "d/sub") },
		"missing": func(f *fixture) { f.remove("d") },
		"nothing to read": func(f *fixture) {
			f.remove("d/a.md", "d/sub")
			f.write("d/lost+found.png", "x")
		},
		"a pattern that nothing matches": func(f *fixture) { f.o.Include = []string{"*.mdd"} },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write("d/a.md", "apple")
			f.write("d/sub/b.md", "banana")
			f.write("e/c.md", "cherry")
			f.run("d", "e")
			empty(f)
			f.write("e/new.md", "date")
			if f.o.Include == nil {
				r := f.run("d", "e")
				f.want(r, 1, 1, 0, 0, 0)
				if r.Missing != 2 {
					t.Errorf("missing %d", r.Missing)
				}
			} else {
				f.run("d")
			}
			for _, want := range []string{"nothing was removed", "2 of ", "d/a.md, d/sub/b.md", "/d: ", "--remove-missing", "--keep", "mount"} {
				if !strings.Contains(f.refused, want) {
					t.Errorf("refused: %q, want %q", f.refused, want)
				}
			}
			if !f.finds("apple") || !f.finds("banana") {
				t.Error("a document was removed")
			}
			f.o.RemoveMissing = true
			if r := f.run("d"); r.Removed != 2 || f.refused != "" || f.finds("apple") {
				t.Errorf("removed %d, refused %q", r.Removed, f.refused)
			}
		})
	}
}

// TestManyMissing holds that more than half is not removed, but half, a few and what moved are.
func TestManyMissing(t *testing.T) {
	f := newFixture(t)
	for i, name := range numbered("d", 0, 20) {
		f.write(name, fmt.Sprint("text of its own ", i))
	}
	f.run("d")
	f.remove(numbered("d", 0, 10)...)
	f.want(f.run("d"), 10, 0, 0, 0, 10) // just half
	f.remove(numbered("d", 10, 16)...)
	f.want(f.run("d"), 4, 0, 0, 0, 0)
	if !strings.Contains(f.refused, "6 of 10: d/f10.md, d/f11.md") {
		t.Errorf("refused %q", f.refused)
	}
	f.want(f.run("d/f19.md"), 1, 0, 0, 0, 0)
	if f.refused != "" {
		t.Errorf("another path is refused: %s", f.refused)
	}
	f.o.RemoveMissing = true
	f.want(f.run("d"), 4, 0, 0, 0, 6)
	f.o.RemoveMissing = false
	f.remove(numbered("d", 16, 19)...)
	f.want(f.run("d"), 1, 0, 0, 0, 3) // a few
	for _, name := range numbered("d/old", 0, 9) {
		f.write(name, "moving "+name)
	}
	f.run("d")
	f.rename("d/old", "d/new/place")
	f.want(f.run("d"), 1, 9, 0, 0, 9)
}

// TestUnreadableFolder holds that what is below a folder that cannot be listed stays.
func TestUnreadableFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads all")
	}
	f := newFixture(t)
	f.write("d/a.md", "apple")
	f.write("d/sub/b.md", "banana")
	f.run("d")
	if err := os.Chmod(filepath.Join(f.dir, "d/sub"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(f.dir, "d/sub"), 0o700)
	f.want(f.run("d"), 1, 0, 0, 1, 0)
	if !f.finds("banana") {
		t.Error("it was removed")
	}
}

// TestPagesMissing holds that a server that lost its pages does not empty the collection.
func TestPagesMissing(t *testing.T) {
	f := newFixture(t)
	lost := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := 0; lost > 0 {
			if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err == nil && n < lost {
				http.NotFound(w, r)
				return
			}
		}
		fmt.Fprint(w, "page ", r.URL.Path)
	}))
	defer s.Close()
	var sources []ingest.Source
	for i := range 8 {
		sources = append(sources, ingest.Source{Path: fmt.Sprintf("%s/%d", s.URL, i)})
	}
	for _, step := range []struct{ lost, removed, missing int }{{0, 0, 0}, {7, 0, 7}, {2, 2, 0}} {
		lost = step.lost
		r, err := ingest.Run(t.Context(), f.index, sources, f.o)
		if r.Removed != step.removed || r.Missing != step.missing || (err != nil) != (step.missing > 0) {
			t.Errorf("%+v: removed %d, missing %d, error %v", step, r.Removed, r.Missing, err)
		}
	}
}

// TestShrunk holds that a list that is cut off keeps its records, and one that is replaced does not.
func TestShrunk(t *testing.T) {
	f := newFixture(t)
	records := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "{\"id\":\"%d\",\"text\":\"record %d\"}\n", i, i)
		}
		return b.String()
	}
	f.write("d/c.jsonl", records(0, 20))
	f.run("d")
	for _, text := range []string{records(0, 5), ""} {
		f.write("d/c.jsonl", text)
		r := f.run("d")
		if r.Failed != 1 || r.Removed != 0 || len(f.fails) != 1 || !strings.Contains(f.fails[0], "of its 20 records, which stay") {
			t.Errorf("failed %d, removed %d: %v", r.Failed, r.Removed, f.fails)
		}
	}
	f.o.RemoveMissing = true
	if r := f.run("d"); r.Failed != 0 || r.Removed != 20 {
		t.Errorf("failed %d, removed %d: %v", r.Failed, r.Removed, f.fails)
	}
	f.o.RemoveMissing = false
	f.write("d/c.jsonl", records(0, 20))
	f.run("d")
	f.write("d/c.jsonl", records(100, 120))
	if r := f.run("d"); r.Failed != 0 || r.Removed != 20 {
		t.Errorf("another list: failed %d, removed %d: %v", r.Failed, r.Removed, f.fails)
	}
}
