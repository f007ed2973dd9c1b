package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"

	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/ingest/chunk"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
)

var docs = retrieve.Collection{Tenant: "t", Name: "docs"}

func openIndex(t *testing.T, path string) retrieve.Index {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Sync: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // the test is over
	return s.Index()
}

// fixture is a folder and an index.
type fixture struct {
	*testing.T
	dir   string
	index retrieve.Index
	o     ingest.Options
	fails []string
	// refused is why the last run removed nothing.
	refused string
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{T: t, dir: t.TempDir(), index: openIndex(t, filepath.Join(t.TempDir(), "s.db"))}
	f.o = ingest.Options{Collection: docs, Failed: func(e *ingest.FileError) { f.fails = append(f.fails, e.Error()) }}
	return f
}

// write writes a file that is old enough for its time to be trusted.
func (f *fixture) write(name, text string) {
	f.Helper()
	path := filepath.Join(f.dir, name)
	old := time.Now().Add(-time.Hour)
	for _, err := range []error{os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, old, old)} {
		if err != nil {
			f.Fatal(err)
		}
	}
}

func (f *fixture) run(paths ...string) ingest.Report {
	f.Helper()
	f.fails = nil
	var sources []ingest.Source
	for _, p := range paths {
		sources = append(sources, ingest.Source{Path: filepath.Join(f.dir, p)})
	}
	r, err := ingest.Run(f.Context(), f.index, sources, f.o)
	if err != nil && !errors.Is(err, ingest.ErrMissing) {
		f.Fatal(err)
	}
	if f.refused = ""; err != nil {
		f.refused = err.Error()
	}
	return r
}

// names are the documents by their paths within the folder.
func (f *fixture) names() string {
	f.Helper()
	var list []string
	for d, err := range f.index.Documents(f.Context(), docs, retrieve.IDs{}) {
		if err != nil {
			f.Fatal(err)
		}
		list = append(list, strings.TrimPrefix(d.ID, filepath.Base(f.dir)+"/"))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func (f *fixture) finds(text string) bool {
	f.Helper()
	hits, err := f.index.Search(f.Context(), docs, retrieve.Query{Text: text})
	if err != nil {
		f.Fatal(err)
	}
	return len(hits) > 0
}

func (f *fixture) want(r ingest.Report, unchanged, added, changed, failed, removed int) {
	f.Helper()
	if got, want := []int{r.Unchanged, r.Added, r.Changed, r.Failed, r.Removed}, []int{unchanged, added, changed, failed, removed}; !slices.Equal(got, want) {
		f.Errorf("unchanged, added, changed, failed, removed: %v, want %v (%v)", got, want, f.fails)
	}
	if r.Files != r.Unchanged+r.Added+r.Changed+r.Failed {
		f.Errorf("%d files do not add up: %+v", r.Files, r)
	}
}

func TestIncremental(t *testing.T) {
	f := newFixture(t)
	f.write("a.md", "# Trains\n\nThe night train.")
	f.write("sub/b.txt", "bread")
	f.write(".hidden", "x")
	f.write("p.png", "x")
	f.want(f.run("."), 0, 2, 0, 0, 0)
	r := f.run(".")
	f.want(r, 2, 0, 0, 0, 0)
	if r.Bytes != 0 || r.Skipped != 1 {
		t.Errorf("the second run read %d bytes and skipped %d files", r.Bytes, r.Skipped)
	}
	f.write("a.md", "# Trains\n\nThe morning ship.")
	if err := os.Chtimes(filepath.Join(f.dir, "a.md"), time.Now(), time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(f.dir, "sub/b.txt")); err != nil {
		t.Fatal(err)
	}
	f.write("c.txt", "new")
	f.want(f.run("."), 0, 1, 1, 0, 1)
	if f.names() != "a.md c.txt" || f.finds("night") || !f.finds("ship") || f.finds("bread") {
		t.Errorf("documents: %s", f.names())
	}
	now := time.Now().Add(-time.Minute)
	if err := os.Chtimes(filepath.Join(f.dir, "c.txt"), now, now); err != nil {
		t.Fatal(err)
	}
	f.want(f.run("."), 2, 0, 0, 0, 0) // the time differs, the hash does not
	f.o.Chunk.By = chunk.Sentences
	f.want(f.run("."), 0, 0, 2, 0, 0)
	f.o.Keep = true
	if err := os.Remove(filepath.Join(f.dir, "c.txt")); err != nil {
		t.Fatal(err)
	}
	f.want(f.run("."), 1, 0, 0, 0, 0)
	f.o.Keep = false
	f.want(f.run("c.txt"), 0, 0, 0, 0, 1) // only what is below the path that was named
	if f.names() != "a.md" {
		t.Errorf("documents: %s", f.names())
	}
	f.run("nothing")
	if len(f.fails) != 1 || !strings.Contains(f.fails[0], "check the path") {
		t.Errorf("failures of a missing path: %q", f.fails)
	}
}

// TestFreshFile holds that a file is not trusted by its time if it may have changed in the moment
// after it was read.
func TestFreshFile(t *testing.T) {
	f := newFixture(t)
	path, at := filepath.Join(f.dir, "a.txt"), time.Now()
	for i, text := range []string{"one", "two"} {
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
		f.want(f.run("."), 0, 1-i, i, 0, 0)
	}
}

func TestRecords(t *testing.T) {
	f := newFixture(t)
	f.write("c.jsonl", `{"_id":"1","text":"apple"}`+"\n"+`{"_id":"2","text":"banana"}`+"\n"+`{"_id":"2","text":"twice"}`+"\n")
	r := f.run(".")
	f.want(r, 0, 1, 0, 0, 0)
	if f.names() != "c.jsonl c.jsonl#1 c.jsonl#2 c.jsonl#2-2" {
		t.Fatalf("documents: %s", f.names())
	}
	f.want(f.run("."), 1, 0, 0, 0, 0)
	f.write("c.jsonl", `{"_id":"1","text":"apple"}`+"\n"+`{"_id":"3","text":"cherry"}`+"\n")
	r = f.run(".")
	f.want(r, 0, 0, 1, 0, 2)
	if f.names() != "c.jsonl c.jsonl#1 c.jsonl#3" || r.Documents != 2 { // the new record and the file
		t.Errorf("documents: %s, %d written", f.names(), r.Documents)
	}
	f.write("c.jsonl", "{]\n"+`{"_id":"4","text":"date"}`)
	f.want(f.run("."), 0, 0, 0, 1, 0)
	if !f.finds("date") || !f.finds("cherry") || len(f.fails) != 1 || !strings.Contains(f.fails[0], "line 1") {
		t.Errorf("documents: %s, failures %q", f.names(), f.fails)
	}
	f.o.RemoveMissing = true
	if err := os.Remove(filepath.Join(f.dir, "c.jsonl")); err != nil {
		t.Fatal(err)
	}
	f.run(".")
	if f.names() != "" {
		t.Errorf("documents: %s", f.names())
	}
}

func TestBadFiles(t *testing.T) {
	f := newFixture(t)
	f.o.MaxFile = 1000
	for name, text := range map[string]string{
		"good.txt": "good", "bin.txt": "a\x00b", "cut.pdf": "%PDF-1.4\n1 0 obj", "secret.pdf": "%PDF-1.4\ntrailer << /Encrypt 1 0 R >>\nstartxref",
		"no.docx": "PK", "large.md": strings.Repeat("x ", 600), "bad\nname.txt": "x",
	} {
		f.write(name, text)
	}
	for name, to := range map[string]string{"circle": ".", "out.txt": "/etc/passwd", "gone": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(f.dir, name)); err != nil {
			t.Skip(err)
		}
	}
	r := f.run(".")
	f.want(r, 0, 1, 0, 6, 0)
	if r.Skipped != 3 || f.names() != "good.txt" || f.finds("root") {
		t.Errorf("%d skipped, documents: %s", r.Skipped, f.names())
	}
	all := strings.Join(f.fails, "\n")
	for _, want := range []string{"bin.txt: not a text file", "cut.pdf: damaged or cut off", "secret.pdf: encrypted", "no.docx: damaged", "large.md: too large", "control characters"} {
		if !strings.Contains(all, want) {
			t.Errorf("no failure %q in:\n%s", want, all)
		}
	}
	f.write("good.txt", "now\x00binary")
	f.run(".")
	if !f.finds("good") {
		t.Error("a file that can no longer be read lost its document")
	}
}

// TestCharsets holds that files of many charsets in one folder are read, that a server's word counts,
// and that a guess is told.
func TestCharsets(t *testing.T) {
	f := newFixture(t)
	long := "Совещание начинается в понедельник в девять часов утра, просьба не опаздывать."
	cyrillic, err := charmap.Windows1251.NewEncoder().String(long)
	if err != nil {
		t.Fatal(err)
	}
	koi, err := charmap.KOI8R.NewEncoder().String(strings.Repeat("Встреча перенесена на пятницу, приходите вовремя.\n", 5))
	if err != nil {
		t.Fatal(err)
	}
	japanese, err := japanese.ShiftJIS.NewEncoder().String("会議は水曜日の午前九時に始まります。")
	if err != nil {
		t.Fatal(err)
	}
	f.write("old.html", "<meta charset=windows-1251><p>"+cyrillic)
	f.write("koi.md", "# "+koi)
	f.write("sjis.csv", "a,b\n1,"+japanese+"\n")
	f.write("utf.txt", "Größe")
	f.write("short.txt", "\xe4\xe0") // too little to be sure
	r := f.run(".")
	f.want(r, 0, 5, 0, 0, 0)
	for _, word := range []string{"понедельник", "пятницу", "会議", "Größe"} {
		if !f.finds(word) {
			t.Errorf("%s is not found", word)
		}
	}
	if r.Warned != 1 || len(r.Warnings) != 1 || !strings.HasSuffix(r.Warnings[0].Path, "short.txt") || !strings.Contains(r.Warnings[0].Text, "(a guess, 10 % sure); save it as UTF-8") {
		t.Errorf("warnings %+v", r.Warnings)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=windows-1251")
		_, _ = w.Write([]byte("<p>\xcf\xf0\xe8\xe2\xe5\xf2"))
	}))
	defer s.Close()
	page, err := ingest.Run(t.Context(), f.index, []ingest.Source{{Path: s.URL + "/a.html"}}, f.o)
	if err != nil || page.Warned > 0 || !f.finds("Привет") {
		t.Errorf("the page of a server: %+v, error %v", page, err)
	}
}

func TestPatterns(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"a.go", "a_test.go", "b.md", "gen/c.go"} {
		f.write(name, "text")
	}
	f.o.Include, f.o.Exclude = []string{"*.go"}, []string{"*_test.go", "gen"}
	f.run(".")
	if f.names() != "a.go" {
		t.Errorf("documents: %s", f.names())
	}
}

func TestPages(t *testing.T) {
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		fmt.Fprint(w, "<title>Page</title><p>Hello.")
	}))
	defer s.Close()
	f := newFixture(t)
	run := func() ingest.Report {
		r, err := ingest.Run(t.Context(), f.index, []ingest.Source{{Path: s.URL + "/x"}, {Path: "n.md", Reader: strings.NewReader("# Noted")}}, f.o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	f.want(run(), 0, 2, 0, 0, 0)
	f.want(run(), 2, 0, 0, 0, 0)
	status = http.StatusBadGateway
	f.want(run(), 1, 0, 0, 1, 0)
	if _, err := ingest.Run(t.Context(), f.index, []ingest.Source{{Path: "http://ann:secret@localhost/"}, {Path: "http://["}}, f.o); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(f.fails, "\n"); strings.Contains(all, "secret") || !strings.Contains(all, "password") || !strings.Contains(all, "not a valid address") {
		t.Errorf("failures %q", f.fails)
	}
	status = http.StatusNotFound
	f.want(run(), 1, 0, 0, 0, 1)
}

// A page whose server names a time is not sent again while it is the same, but for other options.
func TestPagesAreAskedForConditionally(t *testing.T) {
	changed, sent, asked := time.Now().Add(-time.Hour), 0, 0
	text := "first"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Content-Type", "text/plain")
		if since := r.Header.Get("If-Modified-Since"); since == "" || since != changed.UTC().Format(http.TimeFormat) {
			sent++
		}
		http.ServeContent(w, r, "", changed, strings.NewReader(text))
	}))
	defer s.Close()
	f := newFixture(t)
	run := func() ingest.Report {
		t.Helper()
		r, err := ingest.Run(t.Context(), f.index, []ingest.Source{{Path: s.URL + "/x"}}, f.o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	f.want(run(), 0, 1, 0, 0, 0)
	f.want(run(), 1, 0, 0, 0, 0)
	if asked != 2 || sent != 1 {
		t.Errorf("sent %d times of %d", sent, asked)
	}
	text, changed = "second", changed.Add(time.Minute)
	f.want(run(), 0, 0, 1, 0, 0)
	f.o.Chunk.By = chunk.Tokens
	f.want(run(), 0, 0, 1, 0, 0)
	text, changed = "third", time.Now() // it may change again in this second
	f.want(run(), 0, 0, 1, 0, 0)
	text = "fourth"
	f.want(run(), 0, 0, 1, 0, 0)
	if !f.finds("fourth") {
		t.Error("a change within a second is lost")
	}
}

// fake makes vectors, or what a broken server makes.
type fake struct {
	id   string
	make func(texts []string) ([][]float32, error)
}

func (e *fake) Model(context.Context) (retrieve.Model, error) {
	return retrieve.Model{ID: e.id, Dimension: 2}, nil
}

func (e *fake) Embed(_ context.Context, _ retrieve.Side, texts []string) ([][]float32, error) {
	if e.make != nil {
		if v, err := e.make(texts); v != nil || err != nil {
			return v, err
		}
	}
	list := make([][]float32, len(texts))
	for i, s := range texts {
		list[i] = []float32{1, float32(len(s))}
	}
	return list, nil
}

func TestEmbedder(t *testing.T) {
	f := newFixture(t)
	f.write("a.txt", "apple")
	f.write("b.txt", "bad")
	f.write("c.txt", "cherry")
	f.o.Embedder = &fake{id: "m", make: func(texts []string) ([][]float32, error) {
		for _, s := range texts {
			if s == "bad" {
				return [][]float32{{float32(math.NaN()), 1}}, nil
			}
		}
		return nil, nil
	}}
	f.want(f.run("."), 0, 2, 0, 1, 0)
	if f.names() != "a.txt c.txt" || len(f.fails) != 1 || !strings.Contains(f.fails[0], "b.txt") {
		t.Errorf("documents: %s, failures %q", f.names(), f.fails)
	}
	f.o.Embedder = &fake{id: "m"}
	f.want(f.run("."), 2, 1, 0, 0, 0)
	source := []ingest.Source{{Path: f.dir}}
	f.o.Embedder = &fake{id: "other"}
	if _, err := ingest.Run(t.Context(), f.index, source, f.o); !errors.Is(err, retrieve.ErrModel) || !strings.Contains(err.Error(), "anchor-host collections reembed docs)") {
		t.Errorf("another model: %v", err)
	}
	f.o.Embedder = nil
	if _, err := ingest.Run(t.Context(), f.index, source, f.o); !errors.Is(err, retrieve.ErrModel) || !strings.Contains(err.Error(), "anchor-host collections reembed docs --none)") {
		t.Errorf("no model: %v", err)
	}
	f.o.Embedder = &fake{id: "other"}
	if r, err := ingest.Reembed(t.Context(), f.index, f.o); err != nil || r.Changed != 3 || r.Chunks != 3 {
		t.Errorf("re-embed: %+v, %v", r, err)
	}
	f.want(f.run("."), 3, 0, 0, 0, 0)
	f.write("d.txt", "date")
	f.o.Embedder = &fake{id: "other", make: func([]string) ([][]float32, error) { return nil, retrieve.ErrUnavailable }}
	if _, err := ingest.Run(t.Context(), f.index, source, f.o); !errors.Is(err, retrieve.ErrUnavailable) || !strings.Contains(err.Error(), "go on") {
		t.Errorf("no server: %v", err)
	}
	if f.names() != "a.txt b.txt c.txt" {
		t.Errorf("documents: %s", f.names())
	}
}

// A re-embedding that stops goes on where it was, and one that fails for a document leaves it to be
// found by words.
func TestReembed(t *testing.T) {
	f := newFixture(t)
	for i := range 3 {
		f.write(fmt.Sprintf("%d.txt", i), fmt.Sprintf("text number %d", i))
	}
	f.want(f.run("."), 0, 3, 0, 0, 0)
	vectors := func() int {
		info, err := f.index.Collection(t.Context(), docs)
		if err != nil || info.Documents != 3 {
			t.Fatalf("%+v, %v", info, err)
		}
		return info.Vectors
	}
	f.o.Embedder = &fake{id: "m", make: func([]string) ([][]float32, error) { return nil, retrieve.ErrUnavailable }}
	if _, err := ingest.Reembed(t.Context(), f.index, f.o); !errors.Is(err, retrieve.ErrUnavailable) || vectors() != 0 {
		t.Errorf("no server: %v, %d vectors", err, vectors())
	}
	f.o.Embedder = &fake{id: "m", make: func(texts []string) ([][]float32, error) {
		if strings.Contains(strings.Join(texts, "\n"), "number 1") {
			return nil, errors.New("refused")
		}
		return nil, nil
	}}
	f.fails = nil
	if r, err := ingest.Reembed(t.Context(), f.index, f.o); err != nil || r.Failed != 1 || r.Changed != 2 || r.Files != 3 || vectors() != 2 || len(f.fails) != 1 || !strings.Contains(f.fails[0], "1.txt: ") {
		t.Errorf("one refused: %+v, %v, %d vectors, %q", r, err, vectors(), f.fails)
	}
	f.o.Embedder = &fake{id: "m"}
	if r, err := ingest.Reembed(t.Context(), f.index, f.o); err != nil || r.Changed != 1 || vectors() != 3 {
		t.Errorf("the rest: %+v, %v", r, err)
	}
	hits, err := f.index.Search(t.Context(), docs, retrieve.Query{Text: "number", K: 9})
	if err != nil || len(hits) != 3 {
		t.Errorf("%d hits, %v", len(hits), err)
	}
	f.o.Embedder = nil
	if _, err := ingest.Reembed(t.Context(), f.index, f.o); err != nil || vectors() != 0 {
		t.Errorf("without a model: %v, %d vectors", err, vectors())
	}
}

func TestCancelled(t *testing.T) {
	f := newFixture(t)
	for i := range 50 {
		f.write(fmt.Sprintf("%d.txt", i), "text")
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.o.Progress = func(p ingest.Progress) {
		if p.Files == 10 {
			cancel()
		}
	}
	if _, err := ingest.Run(ctx, f.index, []ingest.Source{{Path: f.dir}}, f.o); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	f.o.Progress = nil
	if r := f.run("."); r.Unchanged+r.Added != 50 {
		t.Errorf("%+v", r)
	}
}

// wantFails holds that the failures of the last run say each of want, on a line each.
func (f *fixture) wantFails(want ...string) {
	f.Helper()
	all := strings.Join(f.fails, "\n")
	for _, w := range want {
		if !strings.Contains(all, w) {
			f.Errorf("no failure %q in:\n%s", w, all)
		}
	}
	for _, line := range f.fails {
		if strings.Contains(line, "\n") {
			f.Errorf("failure of several lines: %q", line)
		}
	}
}

// A run that ends early keeps the vectors that it has, also those of records of one file.
func TestInterruptedEmbedding(t *testing.T) {
	f := newFixture(t)
	var lines strings.Builder
	for i := range 500 {
		fmt.Fprintf(&lines, "{\"_id\": \"r%d\", \"text\": \"Record number %d.\"}\n", i, i)
	}
	f.write("corpus.jsonl", lines.String())
	paid := 0
	f.o.Embedder = &fake{id: "m", make: func(texts []string) ([][]float32, error) {
		if paid+len(texts) > 250 {
			return nil, retrieve.ErrUnavailable
		}
		paid += len(texts)
		return nil, nil
	}}
	if _, err := ingest.Run(f.Context(), f.index, []ingest.Source{{Path: filepath.Join(f.dir, "corpus.jsonl")}}, f.o); !errors.Is(err, retrieve.ErrUnavailable) {
		t.Fatalf("error %v", err)
	}
	info, err := f.index.Collection(t.Context(), f.o.Collection)
	if err != nil || paid == 0 || info.Vectors != paid {
		t.Fatalf("%d vectors, %d were made, error %v", info.Vectors, paid, err)
	}
	again := 0
	f.o.Embedder = &fake{id: "m", make: func(texts []string) ([][]float32, error) {
		again += len(texts)
		return nil, nil
	}}
	if _, err := ingest.Run(f.Context(), f.index, []ingest.Source{{Path: filepath.Join(f.dir, "corpus.jsonl")}}, f.o); err != nil || paid+again != 500 {
		t.Errorf("%d texts after %d, error %v", again, paid, err)
	}
}
