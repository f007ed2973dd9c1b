package starter

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// link makes a symbolic link in a folder.
func link(t *testing.T, target, dir, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// A file, folder or line that cannot be read is named in a warning. All others are found.
func TestLeavesOutWhatIsDamaged(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("such files cannot be made there")
	}
	deep := strings.Repeat("d/", 33)
	dir := folder(t, map[string]string{
		"good.md":       "fox",
		"lines.jsonl":   "{\"_id\": \"r1\", \"text\": \"fox\"}\nno json\n{\"text\": 5}\n{\"text\": \"fox \xff\"}\n{\"_id\": \"r5\", \"text\": \"fox\"}\n",
		"forbidden.md":  "hen",
		"closed/in.md":  "hen",
		deep + "far.md": "fox",
		"n\xffme.md":    "fox",
		"latin1.md":     "fox \xe9",
		"real.md":       "A real fox",
	})
	if err := os.WriteFile(filepath.Join(dir, "big.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "big.md"), 32<<20+1); err != nil {
		t.Fatal(err)
	}
	link(t, "nowhere", dir, "dangling.md")
	link(t, filepath.Join(folder(t, map[string]string{"x": "fox"}), "x"), dir, "out.md")
	link(t, "self.md", dir, "self.md")
	link(t, ".", dir, "folder.md")
	link(t, "real.md", dir, "within.md")
	want := []string{
		"lines.jsonl:2: is left out, because it is no JSON object with a", "lines.jsonl:3: is left out, because it is no JSON object",
		"lines.jsonl:4: is left out, because it is not UTF-8", "latin1.md: is left out, because it is not UTF-8",
		deep + ": is left out, because it is more than 32 folders deep", "n\ufffdme.md: is left out, because it cannot be read",
		"big.md: is left out, because it is too large (split it)", "dangling.md: is left out, because it cannot be read",
		"out.md: is left out, because it cannot be read", "self.md: is left out, because it cannot be read", "folder.md: is left out, because it is no file",
	}
	if os.Geteuid() != 0 { // to whom nothing is forbidden
		for _, name := range []string{"forbidden.md", "closed"} {
			path := filepath.Join(dir, name)
			if err := os.Chmod(path, 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(path, 0o700) })
			want = append(want, name+strings.Repeat("/", 1-strings.Count(name, "."))+": is left out, because it cannot be read")
		}
	}
	var log strings.Builder
	items, err := search(t, newHost(t, &log), dir, nil, "fox", 50)
	if err != nil {
		t.Fatal(err)
	}
	got := ids(items)
	slices.Sort(got)
	if want := []string{"good.md#1", "r1", "r5", "real.md#1", "within.md#1"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	for _, w := range want {
		if !strings.Contains(log.String(), "/docs/"+w) {
			t.Errorf("no warning %q in:\n%s", w, log.String())
		}
	}
	if n := strings.Count(log.String(), "is left out"); n != len(want) {
		t.Errorf("%d warnings, want %d:\n%s", n, len(want), log.String())
	}
}

// Many warnings are not printed one by one.
func TestBoundsWarnings(t *testing.T) {
	var log strings.Builder
	docs := folder(t, map[string]string{"a.jsonl": strings.Repeat("no json\n", 500) + `{"text": "fox"}`})
	items, err := search(t, newHost(t, &log), docs, nil, "fox", 5)
	if err != nil || len(items) != 1 || items[0].ID != "docs:a.jsonl:501" {
		t.Errorf("%q, %v", ids(items), err)
	}
	if n := strings.Count(log.String(), "is left out"); n != 20 || !strings.Contains(log.String(), "480 more files, folders and lines of /docs are left out") {
		t.Errorf("%d warnings:\n%s", n, log.String())
	}
}

// The host refuses keys that disturb a terminal, so the plugin makes none.
func TestOddNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("such files cannot be made there")
	}
	docs := folder(t, map[string]string{
		"line\nbreak\x1b[2J.md": "fox",
		"tür\u0085.md":          "fox",
		"records.jsonl":         `{"_id": "a\nb\u001b\u007f\u202e", "text": "fox"}` + "\n" + `{"_id": "", "text": "fox"}`,
	})
	items, err := search(t, newHost(t, nil), docs, nil, "fox", 5)
	if err != nil {
		t.Fatal(err)
	}
	got := ids(items)
	slices.Sort(got)
	if want := []string{"a%0Ab%1B%7F%E2%80%AE", "line%0Abreak%1B[2J.md#1", "records.jsonl:2", "tür%C2%85.md#1"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// No section has more than twice section_bytes, and no word is lost or cut in two.
func TestCutsLongParagraphs(t *testing.T) {
	h := newHost(t, nil)
	words := strings.Repeat("hen ", 400)
	for name, text := range map[string]string{
		"one line":      words,
		"lines":         strings.Repeat("a hen in a log line\n", 400),
		"open code":     "```\n# no heading\n\n" + strings.Repeat("a hen\n", 400),
		"long in code":  "```\n" + words + "\n```\n",
		"after a start": "hen\n\n" + strings.Repeat("hen ", 399),
	} {
		items, err := search(t, h, folder(t, map[string]string{"a.md": text}), map[string]any{"section_bytes": 300}, "hen", 500)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, it := range items {
			total += strings.Count(it.Content, "hen")
			if len(it.Content) > 600 {
				t.Errorf("%s: a section has %d bytes", name, len(it.Content))
			}
		}
		if total != 400 {
			t.Errorf("%s: %d words in %d sections, want 400", name, total, len(items))
		}
	}
	// Without spaces it is cut between characters.
	text := "x" + strings.Repeat("ä", 1000)
	items, err := search(t, h, folder(t, map[string]string{"a.md": text, "b.md": strings.Repeat("ä", 32)}), map[string]any{"section_bytes": 101}, strings.Repeat("ä", 32), 500)
	if err != nil || len(items) < 9 {
		t.Errorf("%d items; %v", len(items), err)
	}
	for _, it := range items {
		if len(it.Content) > 202 || !utf8.ValidString(it.Content) {
			t.Errorf("section %q", it.Content)
		}
	}
	// A code block that is cut goes on as one: its comments are no headings.
	code := "```\n" + strings.Repeat("a hen\n", 100) + "# comment\nfox\n```\n# Heading\nfox\n"
	items, err = search(t, h, folder(t, map[string]string{"a.md": code}), map[string]any{"section_bytes": 100}, "fox", 5)
	titles := map[any]bool{}
	for _, it := range items {
		titles[it.Metadata["title"]] = true
	}
	if err != nil || len(items) != 2 || !titles[""] || !titles["Heading"] {
		t.Errorf("titles %v; %v", titles, err)
	}
}

// A heading is repeated in each of its sections, so its length is bounded. What is cut off is text.
func TestBoundsHeadings(t *testing.T) {
	var b strings.Builder
	b.WriteString("# " + strings.Repeat("fox ", 1000) + "\n")
	for i := range 20 {
		fmt.Fprintf(&b, "## Part %d\n\nhen %d\n\n", i, i)
	}
	items, err := search(t, newHost(t, nil), folder(t, map[string]string{"a.md": b.String()}), nil, "hen", 500)
	if err != nil || len(items) != 20 {
		t.Fatalf("%d sections, want 20; %v", len(items), err)
	}
	for _, it := range items {
		if len(it.Content) > 250 || !strings.HasPrefix(it.Content, "fox fox") || !strings.Contains(it.Content, "fox > Part") {
			t.Fatalf("%d bytes: %.300q", len(it.Content), it.Content)
		}
	}
}

func TestByteOrderMark(t *testing.T) {
	docs := folder(t, map[string]string{"a.md": "\ufeff# Foxes\n\nRed.", "b.jsonl": "\ufeff{\"_id\": \"r1\", \"text\": \"fox\"}"})
	items, err := search(t, newHost(t, nil), docs, nil, "foxes", 5)
	got := ids(items)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []string{"a.md#1", "r1"}) {
		t.Fatalf("found %q; %v", got, err)
	}
	for _, it := range items {
		if it.ID == "docs:a.md#1" && it.Metadata["title"] != "Foxes" {
			t.Errorf("title %q", it.Metadata["title"])
		}
	}
}
