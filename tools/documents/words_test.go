package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	for text, want := range map[string]map[string]int{
		"The exam-\nple, the ﬁrst": {"the": 2, "example": 1, "first": 1},
		"国際 ISO標準":                 {"国": 1, "際": 1, "iso": 1, "標": 1, "準": 1},
		"coe\x1ecient ❧❡ast two":   {"two": 1}, // letters that the reader does not know
		"\u202bשלום\u202c 12":      {"שלום": 1, "12": 1},
	} {
		got := count(text)
		words, found := compare(want, got)
		if extra, _ := compare(got, want); words != found || extra != words {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestEdges(t *testing.T) {
	page := strings.Repeat("text\n", 3)
	text := "A manual\nfirst\n" + page + "1\n\fA manual\nsecond\n" + page + "2\n\fA manual\nthird\n" + page + "3\n"
	if got := strings.Join(edges(text), "|"); !strings.Contains(got, "A manual") || !strings.Contains(got, "3") || strings.Contains(got, "second") {
		t.Errorf("%q", got)
	}
}

// TestFolder measures a document of its own, with a reference that is a program of the system.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.html"), []byte("<p>one two"), 0o600); err != nil {
		t.Fatal(err)
	}
	sets, err := setsOf(t.Context(), &flags{folders: []string{dir}}, io.Discard)
	if err != nil || len(sets) != 1 || sets[0].kind != "html" || len(sets[0].files) != 1 {
		t.Fatalf("%+v, error %v", sets, err)
	}
	references["html"] = engine{"cat", func(p string) []string { return []string{"cat", p} }}
	r, err := sets[0].measure(context.Background(), engine{"half", func(string) []string { return []string{"echo", "two p"} }}, false, io.Discard)
	if err != nil || r.words != 3 || r.found != 2 || r.read != 1 {
		t.Errorf("%+v, error %v", r, err)
	}
}
