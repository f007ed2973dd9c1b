package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// mountDir is a directory with a file, a sub-directory, and links that lead out
// of it and stay inside.
func mountDir(t *testing.T) (dir, outside string) {
	t.Helper()
	base := t.TempDir()
	dir, outside = filepath.Join(base, "docs"), filepath.Join(base, "secret.txt")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "sub"), 0o755),
		os.WriteFile(filepath.Join(dir, "a.txt"), []byte("inside"), 0o644),
		os.WriteFile(filepath.Join(dir, "sub", "b.txt"), []byte("below"), 0o644),
		os.WriteFile(outside, []byte("outside"), 0o644),
		os.Symlink(outside, filepath.Join(dir, "out")),
		os.Symlink(base, filepath.Join(dir, "up")),
		os.Symlink("a.txt", filepath.Join(dir, "in")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, outside
}

func loadMounted(t *testing.T, dir string, mode host.FileMode) *host.Plugin {
	t.Helper()
	h := newHost(t, host.Config{})
	return loadAllops(t, h, host.PluginConfig{Grants: host.Grants{Files: []host.FileGrant{{Host: dir, Guest: "/docs", Mode: mode}}}})
}

func TestFilesReadOnly(t *testing.T) {
	dir, outside := mountDir(t)
	p := loadMounted(t, dir, host.ModeRO)
	for path, want := range map[string]string{
		"/docs/a.txt": "inside", "/docs/sub/b.txt": "below", "/docs/in": "inside", "/docs/sub/../a.txt": "inside",
	} {
		if got, err := runFind(t, p, map[string]any{"mode": "file", "path": path}, ""); err != nil || got[0] != want {
			t.Errorf("%s: %q, error %v (want %q)", path, got, err, want)
		}
	}
	for _, path := range []string{
		"/docs/out", "/docs/up/secret.txt", "/docs/../secret.txt", "/docs/sub/../../secret.txt", outside, "/etc/passwd", "/docs/none",
	} {
		got, err := runFind(t, p, map[string]any{"mode": "file", "path": path}, "")
		if err == nil {
			t.Errorf("%s: read %q", path, got)
			continue
		}
		checkReason(t, err, abi.ReasonGuestError)
	}
	if got, err := runFind(t, p, map[string]any{"mode": "list", "path": "/docs"}, ""); err != nil || strings.Join(got, " ") != "a.txt in out sub up" {
		t.Errorf("list %q, error %v", got, err)
	}
	if _, err := runFind(t, p, map[string]any{"mode": "write", "path": "/docs/new.txt"}, "x"); err == nil {
		t.Error("wrote to a read-only mount")
	}
	if _, err := os.Stat(filepath.Join(dir, "new.txt")); err == nil {
		t.Error("the file is there")
	}
}

func TestFilesReadWrite(t *testing.T) {
	dir, outside := mountDir(t)
	p := loadMounted(t, dir, host.ModeRW)
	for path, at := range map[string]string{"/docs/new.txt": "new.txt", "/docs/in": "a.txt"} {
		if _, err := runFind(t, p, map[string]any{"mode": "write", "path": path}, "written"); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, at)); err != nil || string(b) != "written" {
			t.Errorf("%s: %q, error %v", path, b, err)
		}
	}
	for _, path := range []string{"/docs/out", "/docs/up/secret.txt", "/docs/../new.txt"} {
		if _, err := runFind(t, p, map[string]any{"mode": "write", "path": path}, "written"); err == nil {
			t.Errorf("%s: written", path)
		}
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "outside" {
		t.Errorf("the file outside reads %q, error %v", b, err)
	}
}

// A guest is told that the quota of a folder is used up, its log says which one, and what
// it makes shorter gives room.
func TestFilesQuota(t *testing.T) {
	dir := t.TempDir()
	p := loadAllops(t, newHost(t, host.Config{}), host.PluginConfig{Grants: host.Grants{
		Files: []host.FileGrant{{Host: dir, Guest: "/docs", Mode: host.ModeRW, Quota: 100, MaxFiles: 2}}}})
	write := func(name string, n int) error {
		_, err := runFind(t, p, map[string]any{"mode": "write", "path": "/docs/" + name}, strings.Repeat("x", n))
		return err
	}
	for _, step := range []struct {
		name string
		size int
		log  string
	}{
		{"a", 60, ""}, {"b", 41, "files: /docs is full: it may hold 100B (grants.files[0].quota)"}, {"a", 50, ""}, {"b", 50, ""},
		{"c", 0, "files: /docs is full: it may hold 2 files and folders (grants.files[0].max_files)"},
	} {
		err := write(step.name, step.size)
		if step.log == "" {
			if err != nil {
				t.Errorf("%s: %v", step.name, err)
			}
			continue
		}
		if perr := checkReason(t, err, abi.ReasonGuestError); !strings.Contains(perr.Error(), "Quota exceeded") || !strings.Contains(perr.Log, step.log) {
			t.Errorf("%s: error %v, log %q", step.name, err, perr.Log)
		}
	}
}

// A folder that is taken away stops the plugin, and so does another in its place.
func TestFilesFolderGone(t *testing.T) {
	dir, _ := mountDir(t)
	p := loadMounted(t, dir, host.ModeRO)
	read := func() error {
		_, err := runFind(t, p, map[string]any{"mode": "file", "path": "/docs/a.txt"}, "")
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Skip("this system keeps the folder:", err)
	}
	for _, want := range []string{"docs was removed: ", "docs is not the folder that was there when the plugin was loaded"} {
		err := read()
		if perr := checkReason(t, err, abi.ReasonDenied); !strings.Contains(perr.Error(), want) || !errors.Is(err, host.ErrFolder) || !strings.Contains(perr.Error(), "(load the plugin again, or bring the folder back)") {
			t.Errorf("error %v, want %s", err, want)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFilesPipesAndDevices(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no named pipes in directories")
	}
	dir, _ := mountDir(t)
	if err := host.MakePipe(filepath.Join(dir, "pipe")); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []host.FileMode{host.ModeRO, host.ModeRW} {
		p := loadMounted(t, dir, mode)
		_, err := runFind(t, p, map[string]any{"mode": "file", "path": "/docs/pipe"}, "")
		checkReason(t, err, abi.ReasonGuestError)
		if got, err := runFind(t, p, map[string]any{"mode": "list", "path": "/docs"}, ""); err != nil || strings.Contains(strings.Join(got, " "), "pipe") {
			t.Errorf("list %q, error %v", got, err)
		}
	}
	p := loadMounted(t, dir, host.ModeRW)
	_, err := runFind(t, p, map[string]any{"mode": "write", "path": "/docs/pipe"}, "x")
	checkReason(t, err, abi.ReasonGuestError)
}

func TestFilesManyEntries(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		name := filepath.Join(dir, strings.Repeat("n", 1+i%40)+string(rune('a'+i/40)))
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 && runtime.GOOS != "windows" {
			if err := host.MakePipe(name + "-pipe"); err != nil {
				t.Fatal(err)
			}
		}
	}
	h := newHost(t, host.Config{})
	p := loadAllops(t, h, host.PluginConfig{Grants: host.Grants{Files: []host.FileGrant{{Host: dir, Guest: "/docs"}}}})
	s, err := newStep(p, abi.OpRetrieve, host.OperationOptions{Settings: map[string]any{"mode": "list", "path": "/docs"}, TopK: 1000})
	if err != nil {
		t.Fatal(err)
	}
	items, err := s.Run(t.Context(), nothing, nil)
	if err != nil || len(items) != 300 {
		t.Errorf("%d entries, error %v (want the 300 files, no pipe)", len(items), err)
	}
}

func TestFilesNotGranted(t *testing.T) {
	h := newHost(t, host.Config{})
	p := loadAllops(t, h, host.PluginConfig{})
	if !strings.Contains(strings.Join(p.Notes(), "\n"), "asks for files and is not granted it: reads and writes files in tests (grant it with grants.files)") {
		t.Errorf("notes %q", p.Notes())
	}
	if _, err := runFind(t, p, map[string]any{"mode": "file", "path": "/docs/a.txt"}, ""); err == nil {
		t.Error("read without a grant")
	}
}
