package jobs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A tenant reads below its own folder only, whatever paths and links say.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"a/in/f.md", "a/in/.hidden.md", "a/in/.git/x.md", "a/in/p.png", "a/top.md", "b/secret.md", "outside.md"} {
		path := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(file), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"etc": "/etc", "other": "../b", "up": "..", "same": "in", "file": "../outside.md", "in/etc": "/etc"} {
		if err := os.Symlink(target, filepath.Join(dir, "a", name)); err != nil {
			t.Skip(err) // Windows without the right
		}
	}
	w := &Worker{Folder: dir}
	for _, c := range []struct{ tenant, name, want string }{
		{"a", "in", "in/f.md"}, {"a", "in/f.md", "in/f.md"}, {"a", ".", "in/f.md top.md"}, {"a", "same", "same/f.md"},
		{"a", "..", ""}, {"a", "../b", ""}, {"a", "in/../../b", ""}, {"a", "/etc", ""}, {"a", "etc", ""}, {"a", "etc/passwd", ""}, {"a", "other/secret.md", ""},
		{"a", "up", ""}, {"a", "file", ""}, {"a", "none", ""}, {"a", "a\x00", ""}, {"..", "a", ""}, {".", "a", ""}, {"", "a", ""}, {"a/in", ".", ""}, {"none", ".", ""}, {"/etc", ".", ""},
	} {
		var got []string
		f, err := w.open(c.tenant)
		if err == nil {
			list, failed := f.find(t.Context(), c.name)
			err = failed
			for _, s := range list {
				data, err := io.ReadAll(s.Reader)
				if err != nil || !strings.HasPrefix(string(data), "a/") {
					t.Errorf("%s: %q, %v", s.Path, data, err)
				}
				got = append(got, s.Path)
			}
			f.close()
		}
		if slices.Sort(got); strings.Join(got, " ") != c.want || c.want == "" && len(got) > 0 || c.want != "" && err != nil {
			t.Errorf("%q %q: %q, %v", c.tenant, c.name, got, err)
		}
		if err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%q %q: %v", c.tenant, c.name, err)
		}
	}
	if _, err := (&Worker{}).open("a"); !errors.Is(err, ErrInvalid) {
		t.Errorf("without a folder: %v", err)
	}
}
