package jobs

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
)

// reading is a job that reads documents from memory.
func reading(texts map[string]string) *Run {
	r := &Run{Task: Task{Kind: Ingest, Collection: "docs"}, ID: "1", Tenant: "acme", Progress: func(int, int, string) {}, Log: func(string) {}}
	for name, text := range texts {
		r.Files = append(r.Files, Input{Name: name, Size: int64(len(text)), Open: func(context.Context) io.Reader { return strings.NewReader(text) }})
	}
	return r
}

// Documents that can never be read are no reason to begin again.
func TestDamagedDocuments(t *testing.T) {
	dir := t.TempDir()
	app, err := anchor.LoadBytes([]byte("store: {path: s.db}\n"), dir, anchor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(context.Background()) })
	w := &Worker{App: app, Temporary: dir}
	damaged := map[string]string{"a.pdf": "no PDF", "b.docx": "no archive"}
	if _, err := w.Do(t.Context(), reading(damaged)); err == nil || !Permanent(err) {
		t.Errorf("damaged documents alone: %v", err)
	}
	damaged["d.md"] = "The night train leaves at nine."
	if report, err := w.Do(t.Context(), reading(damaged)); err != nil || report.(ingest.Report).Failed != 2 { //nolint:forcetypeassert // it is one
		t.Errorf("beside one that can be read: %+v, %v", report, err)
	}
}

// Names that a database cannot keep are refused when the job is submitted.
func TestNames(t *testing.T) {
	for _, name := range []string{"a\x00b", "a\nb", "\xff"} {
		for _, task := range []Task{{Kind: Ingest, Collection: name, Folder: "."}, {Kind: Ingest, Collection: "c", Folder: name}, {Kind: Builds, Pipeline: name}, {Kind: Builds, User: name}} {
			s := Submission{Task: task}
			if err := s.Check(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "control characters") {
				t.Errorf("%+v: %v", task, err)
			}
		}
	}
}
