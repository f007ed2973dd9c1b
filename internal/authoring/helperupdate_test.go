package authoring

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// older makes the copy of a project that of an older version: each file is as it was copied then.
func older(t *testing.T, dir, version string, files map[string]string) {
	t.Helper()
	sums := "# The helper library of anchor-host " + version + ". Update it\n"
	for name, text := range files {
		if err := writeNew(filepath.Join(dir, helperDir, filepath.FromSlash(name)), []byte(text)); err != nil {
			t.Fatal(err)
		}
		sums += sum([]byte(text)) + "  " + name + "\n"
	}
	if err := writeNew(filepath.Join(dir, helperDir, sumsFile), []byte(sums)); err != nil {
		t.Fatal(err)
	}
}

func changesOf(u *HelperUpdate) (out []string) {
	for _, f := range u.Files {
		text := f.Change + " " + f.Path
		if f.Edited {
			text += " edited"
		}
		out = append(out, text)
	}
	return out
}

func TestNewProjectsAreUpToDate(t *testing.T) {
	for _, language := range Languages() {
		tool, _ := Lookup(language)
		dir := newProject(t, language, "filter")
		u, err := UpdateHelper(HelperOptions{Dir: dir, Version: "v1.0.0"})
		if tool.helper == "" {
			if !errors.Is(err, ErrLanguage) {
				t.Errorf("%s: %v", language, err)
			}
			continue
		}
		if err != nil || len(u.Files) > 0 {
			t.Errorf("%s: %+v, %v", language, u, err)
		}
	}
}

func TestUpdateOfAnOlderCopy(t *testing.T) {
	dir := newProject(t, "js", "filter")
	own := filepath.Join(dir, helperDir, "mine.js")
	older(t, dir, "v0.1.0", map[string]string{"host.d.ts": "old", "gone.js": "old", "index.d.ts": "old"})
	if err := os.WriteFile(own, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := HelperOptions{Dir: dir, Version: "v0.2.0", DryRun: true}
	u, err := UpdateHelper(o)
	want := []string{"removed anchor/gone.js", "changed anchor/host.d.ts", "changed anchor/index.d.ts"}
	if err != nil || u.From != "v0.1.0" || !slices.Equal(changesOf(u), want) {
		t.Fatalf("%+v, %v", u, err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, helperDir, "host.d.ts")); string(b) != "old" {
		t.Error("a dry run wrote a file")
	}
	o.DryRun = false
	if u, err = UpdateHelper(o); err != nil || !u.Written {
		t.Fatalf("%+v, %v", u, err)
	}
	if _, err := os.Stat(filepath.Join(dir, helperDir, "gone.js")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that the library has no more is there: %v", err)
	}
	if b, err := os.ReadFile(own); err != nil || string(b) != "mine" {
		t.Errorf("a file that is not of the library: %q, %v", b, err)
	}
	if u, err = UpdateHelper(o); err != nil || len(u.Files) > 0 || u.From != "v0.2.0" {
		t.Errorf("after an update: %+v, %v", u, err)
	}
}

func TestUpdateKeepsEditedFiles(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, anchor string)
		want  string
	}{
		"edited": {func(t *testing.T, anchor string) {
			edit(t, filepath.Join(anchor, "host.d.ts"), "my own change")
		}, "anchor/host.d.ts was edited"},
		"edited and gone from the library": {func(t *testing.T, anchor string) {
			edit(t, filepath.Join(anchor, "gone.js"), "my own change")
		}, "anchor/gone.js was edited"},
		"of nobody knows which version": {func(t *testing.T, anchor string) {
			if err := os.Remove(filepath.Join(anchor, sumsFile)); err != nil {
				t.Fatal(err)
			}
		}, "does not say which version"},
		"newer": {func(t *testing.T, anchor string) {
			older(t, filepath.Dir(anchor), "v0.10.0", map[string]string{"host.d.ts": "new"})
		}, "newer than this program's v0.9.0"},
	} {
		dir := newProject(t, "js", "filter")
		older(t, dir, "v0.1.0", map[string]string{"host.d.ts": "old", "gone.js": "old"})
		c.spoil(t, filepath.Join(dir, helperDir))
		before := tree(t, dir)
		u, err := UpdateHelper(HelperOptions{Dir: dir, Version: "v0.9.0"})
		if !errors.Is(err, ErrEdited) || !strings.Contains(err.Error(), c.want) || u == nil || u.Written {
			t.Errorf("%s: %+v, error %v, want %q", name, u, err, c.want)
		}
		if after := tree(t, dir); after != before {
			t.Errorf("%s: a refused update changed\n%s\nto\n%s", name, before, after)
		}
		if u, err = UpdateHelper(HelperOptions{Dir: dir, Version: "v0.9.0", Force: true}); err != nil || !u.Written {
			t.Errorf("%s: forced: %+v, %v", name, u, err)
		}
	}
}

// A project that somebody else made must not have files read, written or removed outside of its copy.
func TestUpdateStaysInTheCopy(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "precious.js")
	edit(t, outside, "precious")
	relative := func(dir string) string {
		r, err := filepath.Rel(filepath.Join(dir, helperDir), outside)
		if err != nil {
			t.Fatal(err)
		}
		return filepath.ToSlash(r)
	}
	for name, spoil := range map[string]func(dir, anchor string) error{
		"a sum of a file outside": func(dir, anchor string) error {
			return os.WriteFile(filepath.Join(anchor, sumsFile), []byte(sum([]byte("precious"))+"  "+relative(dir)+"\n"), 0o644)
		},
		"an absolute path": func(_, anchor string) error {
			return os.WriteFile(filepath.Join(anchor, sumsFile), []byte(sum([]byte("precious"))+"  "+filepath.ToSlash(outside)+"\n"), 0o644)
		},
		"a file that is a link": func(_, anchor string) error {
			return errors.Join(os.Remove(filepath.Join(anchor, "host.d.ts")), os.Symlink(outside, filepath.Join(anchor, "host.d.ts")))
		},
		"a folder that is a link": func(_, anchor string) error {
			return errors.Join(os.RemoveAll(anchor), os.Symlink(filepath.Dir(outside), anchor))
		},
		"a huge file": func(_, anchor string) error {
			return os.Truncate(filepath.Join(anchor, sumsFile), 1<<40)
		},
		"sums that are none": func(_, anchor string) error {
			return os.WriteFile(filepath.Join(anchor, sumsFile), []byte("\x1b[2J\n"), 0o644)
		},
		"sums of the sums": func(_, anchor string) error {
			return os.WriteFile(filepath.Join(anchor, sumsFile), []byte(sum(nil)+"  "+sumsFile+"\n"), 0o644)
		},
	} {
		dir := newProject(t, "js", "filter")
		if err := spoil(dir, filepath.Join(dir, helperDir)); err != nil {
			t.Fatal(err)
		}
		_, err := UpdateHelper(HelperOptions{Dir: dir, Version: "v0.9.0", Force: true})
		if err == nil || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: error %q", name, err)
		}
		if b, rerr := os.ReadFile(outside); rerr != nil || string(b) != "precious" {
			t.Fatalf("%s: the file outside is %q, %v", name, b, rerr)
		}
	}
}

func edit(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tree lists the files of a folder with their sums.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		b.WriteString(sum(data) + " " + name + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
