package spec_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/host/spec"
)

// pluginDir is a directory made of fixtures and files.
func pluginDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, from := range files {
		content := []byte(from)
		if fixture, ok := strings.CutPrefix(from, "fixture:"); ok {
			b, err := os.ReadFile(filepath.Join(fixtures, fixture))
			if err != nil {
				t.Fatal(err)
			}
			content = b
		}
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// report is one line per entry: its name, and ok or the error.
func report(t *testing.T, dir string) string {
	t.Helper()
	entries, err := spec.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Name + ": ")
		if e.Err != nil {
			b.WriteString(strings.ReplaceAll(e.Err.Error(), dir, "DIR") + "\n")
		} else {
			b.WriteString("ok\n")
		}
		if (e.Spec == nil) == (e.Err == nil) {
			t.Errorf("%s: spec %v, error %v", e.Name, e.Spec, e.Err)
		}
	}
	return b.String()
}

func TestReadDir(t *testing.T) {
	dir := pluginDir(t, map[string]string{
		"no-change/plugin.wasm": "fixture:no-change/plugin.wasm", "no-change/plugin.yaml": "fixture:no-change/plugin.yaml",
		"foreign.wasm":         "fixture:foreign/plugin.wasm",
		"broken.wasm":          "not wasm",
		"unbuilt/plugin.yaml":  "fixture:no-change/plugin.yaml",
		"empty/README.md":      "nothing here",
		".hidden/plugin.wasm":  "not wasm",
		"notes.txt":            "no plugin",
		"trap/plugin.wasm":     "fixture:trap/plugin.wasm",
		"trap/plugin.yaml":     "fixture:trap/plugin.yaml",
		"trap.wasm":            "fixture:trap/plugin.wasm",
		"yaml/plugin.wasm":     "fixture:no-change/plugin.wasm",
		"yaml/plugin.yaml":     "abi: [1",
		"two-docs/plugin.wasm": "fixture:no-change/plugin.wasm",
		"two-docs/plugin.yaml": "abi: 1\n---\nabi: 1\n",
	})
	want := `broken: plugin "broken": not a WebAssembly module: text (give the compiled .wasm)
foreign: ok
no-change: ok
trap: plugin "trap": name is taken: both DIR/trap/plugin.wasm and DIR/trap.wasm have it (remove one)
trap: plugin "trap": name is taken: both DIR/trap/plugin.wasm and DIR/trap.wasm have it (remove one)
two-docs: plugin "two-docs": plugin.yaml: line 2: a second document follows (keep one document per file)
unbuilt: plugin "unbuilt": there is plugin.yaml but no plugin.wasm: file does not exist (build the plugin into this folder)
yaml: plugin "yaml": plugin.yaml: line 1: not valid YAML: did not find expected ',' or ']'
`
	if got := report(t, dir); got != want {
		t.Errorf("report:\n%swant:\n%s", got, want)
	}
}

func TestReadDirIsNotThere(t *testing.T) {
	_, err := spec.ReadDir(filepath.Join(t.TempDir(), "none"))
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "(create it, or set plugins.dir)") {
		t.Errorf("error %v", err)
	}
	empty := t.TempDir()
	if entries, err := spec.ReadDir(empty); err != nil || len(entries) != 0 {
		t.Errorf("empty directory: %v, error %v", entries, err)
	}
}

func TestReadDirHostileEntries(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and pipes of Unix")
	}
	dir := pluginDir(t, map[string]string{"good.wasm": "fixture:foreign/plugin.wasm"})
	outside := filepath.Join(t.TempDir(), "outside.wasm")
	huge := filepath.Join(dir, "huge.wasm")
	for _, err := range []error{
		os.WriteFile(outside, []byte("\x00asm\x01\x00\x00\x00"), 0o644),
		os.Symlink(outside, filepath.Join(dir, "escape.wasm")),
		os.Symlink("/etc", filepath.Join(dir, "etc")),
		os.Symlink("loop.wasm", filepath.Join(dir, "loop.wasm")),
		os.Symlink("good.wasm", filepath.Join(dir, "link.wasm")),
		makePipe(filepath.Join(dir, "pipe.wasm")),
		os.WriteFile(huge, nil, 0o644),
		os.Truncate(huge, 65<<20),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := `escape: plugin "escape": escape.wasm: read: path escapes from parent (it must be a readable file inside the plugin directory)
etc: etc: read: path escapes from parent (it must be a readable file inside the plugin directory)
good: ok
huge: plugin "huge": huge.wasm: too large (at most 67108864 bytes)
link: ok
loop: plugin "loop": loop.wasm: read: too many levels of symbolic links (it must be a readable file inside the plugin directory)
pipe: plugin "pipe": pipe.wasm: read: not a regular file (it must be a readable file inside the plugin directory)
`
	if got := report(t, dir); got != want {
		t.Errorf("report:\n%swant:\n%s", got, want)
	}
}

// Only what is named is read; what has the same name is found all the same.
func TestReadNamed(t *testing.T) {
	dir := pluginDir(t, map[string]string{
		"no-change/plugin.wasm": "fixture:no-change/plugin.wasm", "no-change/plugin.yaml": "fixture:no-change/plugin.yaml",
		"trap/plugin.wasm": "fixture:trap/plugin.wasm", "trap.wasm": "fixture:trap/plugin.wasm",
		"broken.wasm": "not wasm", "more/plugin.wasm": "not wasm", "empty/README.md": "nothing here", "notes.txt": "no plugin",
	})
	entries, others, err := spec.ReadNamed(dir, "trap", "no-change", "gone")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(others, " "), "broken more"; got != want {
		t.Errorf("others %s, want %s", got, want)
	}
	var got []string
	for _, e := range entries {
		line := e.Name
		switch {
		case e.Spec != nil:
			line += " ok"
		case errors.Is(e.Err, spec.ErrDuplicate):
			line += " twice"
		}
		got = append(got, line)
	}
	if got, want := strings.Join(got, ", "), "no-change ok, trap twice, trap twice"; got != want {
		t.Errorf("entries %s, want %s", got, want)
	}
}

func TestReadFile(t *testing.T) {
	s, err := spec.ReadFile(filepath.Join(fixtures, "no-change", "plugin.wasm"))
	if err != nil || s.Name != "no-change" || s.ManifestFrom != "plugin.yaml" {
		t.Errorf("spec %+v, error %v", s, err)
	}
	dir := pluginDir(t, map[string]string{"some.wasm": "fixture:foreign/plugin.wasm"})
	if s, err := spec.ReadFile(filepath.Join(dir, "some.wasm")); err != nil || s.Name != "some" || !s.Foreign {
		t.Errorf("spec %+v, error %v", s, err)
	}
	if s, err := spec.ReadFile(filepath.Join(fixtures, "foreign", "plugin.wasm")); err != nil || s.Name != "foreign" {
		t.Errorf("spec %+v, error %v (want the name of the folder)", s, err)
	}
	for _, folder := range []string{dir, dir + string(filepath.Separator)} {
		_, err := spec.ReadFile(folder)
		if want := "module " + folder + ": a folder: not a usable module (give the .wasm file in it)"; !errors.Is(err, spec.ErrNotWasm) || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
	}
	if _, err := spec.ReadFile(filepath.Join(dir, "none.wasm")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
