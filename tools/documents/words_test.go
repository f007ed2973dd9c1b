package main

import (
	"context"
	"fmt"
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

// TestForW3m gives w3m a page of UTF-16 in UTF-8, and others as they are.
func TestForW3m(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	for page, want := range map[string]string{
		"\xff\xfe<\x00p\x00>\x00\xe9\x00": "\ufeff<p>é",
		"\xfe\xff\x00<\x00p\x00>\x00\xe9": "\ufeff<p>é",
		"<p>\xe9":                         "<p>\xe9",
	} {
		if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := forW3m(path); err != nil || string(got) != want {
			t.Errorf("%q: %q, error %v, want %q", page, got, err, want)
		}
	}
}

// TestMenus counts no line that half of a set has.
func TestMenus(t *testing.T) {
	dir := t.TempDir()
	s := &set{kind: "html"}
	for i := range fewestPages {
		path := filepath.Join(dir, fmt.Sprint(i))
		text := "Home About\nown" + fmt.Sprint(i) + "\n"
		if i < fewestPages/4 {
			text += "quarter\n"
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.files = append(s.files, path)
	}
	former := references["html"]
	defer func() { references["html"] = former }()
	references["html"] = engine{name: "cat", command: func(p string) []string { return []string{"cat", p} }}
	r, err := s.measure(t.Context(), engine{name: "none", command: func(string) []string { return []string{"echo", "quarter"} }}, false, io.Discard)
	if err != nil || r.words != fewestPages+fewestPages/4 || r.found != fewestPages/4 {
		t.Errorf("%d of %d words, error %v", r.found, r.words, err)
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
	references["html"] = engine{name: "cat", command: func(p string) []string { return []string{"cat", p} }}
	r, err := sets[0].measure(context.Background(), engine{name: "half", command: func(string) []string { return []string{"echo", "two p"} }}, false, io.Discard)
	if err != nil || r.words != 3 || r.found != 2 || r.read != 1 {
		t.Errorf("%+v, error %v", r, err)
	}
}
