package ingest_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// all returns all documents, each with the path to its file.
func (f *fixture) all() map[string]string {
	f.Helper()
	found := map[string]string{}
	for d, err := range f.index.Documents(f.Context(), docs, retrieve.IDs{}) {
		if err != nil {
			f.Fatal(err)
		}
		found[d.ID] = strings.TrimPrefix(d.Root, filepath.ToSlash(f.dir))
	}
	return found
}

func (f *fixture) wantAll(want map[string]string) {
	f.Helper()
	if got := f.all(); !maps.Equal(got, want) {
		f.Errorf("documents %v, want %v", got, want)
	}
}

func (f *fixture) rename(from, to string) {
	f.Helper()
	to = filepath.Join(f.dir, to)
	for _, err := range []error{os.MkdirAll(filepath.Dir(to), 0o700), os.Rename(filepath.Join(f.dir, from), to)} {
		if err != nil {
			f.Fatal(err)
		}
	}
}

// TestNamedLink holds that a link that is named itself is read as the file to which it leads.
func TestNamedLink(t *testing.T) {
	f := newFixture(t)
	f.write("elsewhere/v3.txt", "apple")
	f.write("docs/a.md", "banana")
	if err := os.Symlink(filepath.Join(f.dir, "elsewhere/v3.txt"), filepath.Join(f.dir, "docs/current.txt")); err != nil {
		t.Skip(err)
	}
	f.want(f.run("docs/current.txt"), 0, 1, 0, 0, 0)
	if all := f.all(); len(all) != 1 || all["docs/current.txt"] == "" {
		t.Errorf("documents %v, want docs/current.txt", all)
	}
}

// TestMoved holds that the documents of a folder stay when it moves.
func TestMoved(t *testing.T) {
	f := newFixture(t)
	f.write("docs/a.md", "apple")
	f.write("docs/sub/c.jsonl", `{"id":"1","text":"cherry"}`)
	f.run("docs")
	f.rename("docs", "other/docs")
	f.want(f.run("other/docs"), 2, 0, 0, 0, 0)
	f.wantAll(map[string]string{"docs/a.md": "/other/docs/", "docs/sub/c.jsonl": "/other/docs/", "docs/sub/c.jsonl#1": ""})
	f.write("docs/b.md", "banana") // a new folder where the old one was
	f.want(f.run("docs"), 0, 1, 0, 0, 0)
	if err := os.Remove(filepath.Join(f.dir, "other/docs/a.md")); err != nil {
		t.Fatal(err)
	}
	f.want(f.run("other/docs"), 1, 0, 0, 0, 1)
	f.wantAll(map[string]string{"docs/sub/c.jsonl": "/other/docs/", "docs/sub/c.jsonl#1": "", "docs-2/b.md": "/docs/"})
}

// TestEqualRoots holds that folders of one name do not get into each other's way.
func TestEqualRoots(t *testing.T) {
	f := newFixture(t)
	f.write("x/docs/a.md", "apple")
	f.write("y/docs/a.md", "apricot")
	f.want(f.run("x/docs", "y/docs"), 0, 2, 0, 0, 0)
	f.want(f.run("y/docs", "x/docs"), 2, 0, 0, 0, 0)
	f.wantAll(map[string]string{"docs/a.md": "/x/docs/", "docs-2/a.md": "/y/docs/"})
	if err := os.RemoveAll(filepath.Join(f.dir, "x/docs")); err != nil {
		t.Fatal(err)
	}
	f.o.RemoveMissing = true
	f.want(f.run("x/docs"), 0, 0, 0, 0, 1)
	f.wantAll(map[string]string{"docs-2/a.md": "/y/docs/"})
}

// TestPartsOfRoots holds that a file has one document, whether it, its folder, or a folder above
// is ingested.
func TestPartsOfRoots(t *testing.T) {
	f := newFixture(t)
	f.write("docs/a.md", "apple")
	f.write("docs/sub/b.md", "banana")
	f.run("docs/a.md", "docs/sub")
	f.wantAll(map[string]string{"docs/a.md": "/docs/a.md", "sub/b.md": "/docs/sub/"})
	f.run("docs")
	want := map[string]string{"docs/a.md": "/docs/", "docs/sub/b.md": "/docs/"}
	f.wantAll(want)
	f.want(f.run("docs/sub", "docs/a.md", "docs"), 2, 0, 0, 0, 0)
	f.wantAll(want)
	if err := os.Remove(filepath.Join(f.dir, "docs/a.md")); err != nil {
		t.Fatal(err)
	}
	f.want(f.run("docs/sub"), 1, 0, 0, 0, 0) // a.md is not below it
	f.want(f.run("docs"), 1, 0, 0, 0, 1)
	f.wantAll(map[string]string{"docs/sub/b.md": "/docs/"})
}

// TestSingleFiles holds that files of one name in several folders are apart, also from a folder.
func TestSingleFiles(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"x/docs/a.md", "y/docs/a.md", "z/docs/a.md", "z/docs/b.md"} {
		f.write(name, name)
	}
	f.run("x/docs/a.md", "y/docs/a.md", "z/docs")
	f.wantAll(map[string]string{"docs/a.md": "/x/docs/a.md", "docs-2/a.md": "/y/docs/a.md", "docs-3/a.md": "/z/docs/", "docs-3/b.md": "/z/docs/"})
	f.want(f.run("z/docs/b.md", "y/docs/a.md", "x/docs/a.md"), 3, 0, 0, 0, 0)
	f.rename("x/docs/a.md", "moved/docs/a.md")
	f.want(f.run("moved/docs/a.md"), 1, 0, 0, 0, 0)
	if got := f.all()["docs/a.md"]; got != "/moved/docs/a.md" {
		t.Errorf("the root is %s", got)
	}
}

// TestNamesLikeRecords holds that a file whose name looks like a record of another does not stand
// in for it.
func TestNamesLikeRecords(t *testing.T) {
	f := newFixture(t)
	f.write("d/c.jsonl", `{"id":"1","text":"cherry"}`+"\n"+`{"id":"b.md","text":"record"}`)
	f.write("d/c.jsonl#1", "plain")
	f.write("d/100%23.md", "percent")
	f.want(f.run("d"), 0, 3, 0, 0, 0)
	want := []string{"d/100%2523.md", "d/c.jsonl", "d/c.jsonl#1", "d/c.jsonl#b.md", "d/c.jsonl%231"}
	if got := slices.Sorted(maps.Keys(f.all())); !slices.Equal(got, want) {
		t.Errorf("documents %q", got)
	}
	f.want(f.run("d"), 3, 0, 0, 0, 0)
	hits, err := f.index.Search(t.Context(), docs, retrieve.Query{Text: "plain"})
	if err != nil || len(hits) != 1 || hits[0].Path != "d/c.jsonl#1" {
		t.Errorf("%+v, error %v", hits, err)
	}
	for _, name := range []string{"d/c.jsonl#1", "d/c.jsonl", "d/100%23.md"} {
		if err := os.Remove(filepath.Join(f.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	f.o.RemoveMissing = true
	f.want(f.run("d"), 0, 0, 0, 0, 5)
}
