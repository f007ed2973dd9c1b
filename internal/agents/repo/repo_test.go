package repo

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
)

// old is a time of change that is settled.
var old = time.Now().Add(-time.Hour)

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t *testing.T, root string) *Source {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	source, err := Open(s, project.Project{ID: "p-1", Name: "x", Root: root}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func refreshed(t *testing.T, s *Source, b Bounds) Report {
	t.Helper()
	r, err := s.Refresh(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	r.Seconds, r.Bytes = 0, 0
	return r
}

// paths are the paths of the files that the source has chunks of.
func paths(t *testing.T, s *Source) string {
	t.Helper()
	var out []string
	for d, err := range s.index.Documents(t.Context(), s.collection, retrieve.IDs{}) {
		if err != nil {
			t.Fatal(err)
		}
		if d.Chunks > 0 {
			out = append(out, d.ID)
		}
	}
	return strings.Join(out, " ")
}

func TestRefresh(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"main.go":            "package main\n\nfunc main() { serveRequests() }\n",
		"lib/count.go":       "package lib\n\n// CountTokens counts.\nfunc CountTokens(s string) int { return len(s) }\n",
		".gitignore":         "build/\n*.log\n!keep.log\n",
		"build/out.go":       "package out\n",
		"x.log":              "noise\n",
		"keep.log":           "kept\n",
		"blob.txt":           strings.Repeat("\x00\x01\x02\xff\xfe\x80", 100),
		".env":               "SECRET=1\n",
		"node_modules/a.js":  "1\n",
		"lib/.gitignore":     "gen.go\n",
		"lib/gen.go":         "package lib\n",
		"package-lock.json":  "{}\n",
		".git/info/exclude":  "mine.txt\n",
		"mine.txt":           "mine\n",
		"docs/guide/read.md": "# Guide\n\nStart the server with run.\n",
	})
	s := open(t, root)
	if got, want := refreshed(t, s, Bounds{}), (Report{Files: 5, Added: 4, Skipped: 1, Done: true}); got != want {
		t.Errorf("first: %+v, want %+v", got, want)
	}
	if got, want := paths(t, s), "docs/guide/read.md keep.log lib/count.go main.go"; got != want {
		t.Errorf("files %s, want %s", got, want)
	}
	if got, want := refreshed(t, s, Bounds{}), (Report{Files: 5, Unchanged: 5, Done: true}); got != want {
		t.Errorf("unchanged: %+v, want %+v", got, want)
	}
	write(t, root, map[string]string{"main.go": "package main\n\nfunc main() { listenForever(1) }\n", "new.py": "def tokenize(): pass\n"})
	if err := os.RemoveAll(filepath.Join(root, "docs")); err != nil {
		t.Fatal(err)
	}
	if got, want := refreshed(t, s, Bounds{}), (Report{Files: 5, Added: 1, Changed: 1, Unchanged: 3, Removed: 1, Done: true}); got != want {
		t.Errorf("changed: %+v, want %+v", got, want)
	}
	found, err := s.Search(t.Context(), "where are tokens counted?", 500)
	if err != nil || len(found) == 0 || found[0].Path != "lib/count.go" || found[0].From != 1 || found[0].To != 4 {
		t.Errorf("search: %+v, %v", found, err)
	}
}

// A call that stops at a bound leaves the rest to the next, and forgets nothing of what it did not look at.
func TestGoesOn(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("d%d/f%02d.go", i%3, i)] = fmt.Sprintf("package d\n\nfunc F%d() {}\n", i)
	}
	write(t, root, files)
	s := open(t, root)
	total := 0
	for calls := 1; ; calls++ {
		r := refreshed(t, s, Bounds{Time: time.Nanosecond})
		if total += r.Added; r.Done {
			break
		}
		if r.Why != "time" || r.Removed > 0 || calls > 40 {
			t.Fatalf("call %d: %+v", calls, r)
		}
	}
	if total != 30 {
		t.Errorf("%d files were added, want 30", total)
	}
	if r := refreshed(t, s, Bounds{Bytes: 1}); r.Unchanged != 30 || !r.Done {
		t.Errorf("unchanged files cost bytes: %+v", r)
	}
	write(t, root, map[string]string{"e/more.go": "package e\n"})
	if r := refreshed(t, s, Bounds{Files: 30}); r.Why != "files" || r.Done || r.Added > 0 || r.Unchanged != 30 {
		t.Errorf("beyond the bound of files: %+v", r)
	}
}

// What git ignores is what the walk leaves out.
func TestIgnoresAsGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	write(t, root, map[string]string{
		".gitignore": strings.Join([]string{
			"# comment", "*.o", "!important.o", "/top", "deep/**/end", "**/any.txt", "dir/", "a/*/c", "with\\ space ", "trailing   ", "[a-c]x", "[!a-c]y", "q?z", "\\#hash", "\\!bang",
			"abc/**", "**/gen/*.go", "[[:digit:]]num", "br[]x]et", "un[closed", "**", "!*/", "!**/*.keep", "a**b",
		}, "\n") + "\n",
		"sub/.gitignore": "/local\n!*.o\nnested/*.md\n",
	})
	var names []string
	for _, name := range []string{"x.o", "important.o", "top", "deep/end", "deep/a/b/end", "any.txt", "p/q/any.txt", "a/b/c", "a/b/d/c", "with space", "trailing", "ax", "dx", "by", "dy", "qaz", "#hash", "!bang",
		"abc", "m/gen/x.go", "gen/x.go", "gen/s/x.go", "5num", "br]et", "brxet", "un[closed", "unc", "z.keep", "l/z.keep", "a1b", "ab", "sub/local", "sub/x/local", "sub/y.o", "sub/nested/r.md", "sub/nested/d/r.md", "sub/top"} {
		if name != "abc" {
			names = append(names, name)
		}
	}
	for _, without := range [][]string{nil, {"**", "!*/", "!**/*.keep"}} {
		lines, err := os.ReadFile(filepath.Join(root, ".gitignore"))
		if err != nil {
			t.Fatal(err)
		}
		kept := slices.DeleteFunc(strings.Split(string(lines), "\n"), func(l string) bool { return slices.Contains(without, l) })
		r := rules(nil).with("", strings.Join(kept, "\n")).with("sub", "/local\n!*.o\nnested/*.md\n")
		write(t, root, map[string]string{".gitignore": strings.Join(kept, "\n")})
		if out, err := exec.Command(git, "init", "-q", root).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, name := range names {
			cmd := exec.Command(git, "-c", "core.excludesFile=/dev/null", "check-ignore", "-q", "--no-index", name)
			cmd.Dir = root
			want := cmd.Run() == nil
			got, above := false, ""
			for i, c := range name { // folders above count too
				if c == '/' && !got {
					above = name[:i]
					got = r.ignores(above, true)
				}
			}
			if got = got || r.ignores(name, false); got != want {
				t.Errorf("%s without %v: ignored %v, git says %v", name, without, got, want)
			}
		}
	}
}

// Rules are anyone's: none costs more than its length times that of the name.
func FuzzIgnore(f *testing.F) {
	f.Add("**/a*b*c*d/[a-z!]\\", "x/y/aabbccdd/z")
	f.Add(strings.Repeat("*a", 200), strings.Repeat("a", 500))
	f.Add("[[:x", "[")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		r := rules(nil).with("", pattern)
		r.ignores(name, false)
		if len(r) > maxRules {
			t.Errorf("%d rules", len(r))
		}
	})
}

func TestHostileTree(t *testing.T) {
	root := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside.txt")
	if err := os.WriteFile(outside, []byte("not of the project\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link.txt": outside, "loop": ".", ".gitignore": outside} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Skip(err)
		}
	}
	deep := strings.Repeat("d/", maxDepth+3)
	write(t, root, map[string]string{deep + "f.go": "package d\n", "a.go": "package a\n", "big.go": strings.Repeat("// x\n", 200_000)})
	s := open(t, root)
	r := refreshed(t, s, Bounds{})
	if got := paths(t, s); got != "a.go" || !r.Done || r.Skipped != 2 {
		t.Errorf("%s, %+v", got, r)
	}
}
