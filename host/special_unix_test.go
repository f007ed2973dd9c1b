//go:build unix

package host_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// specialFiles are what can lie in the place of a file and is none.
var specialFiles = map[string]func(t *testing.T, path string) error{
	"pipe":                  func(_ *testing.T, path string) error { return syscall.Mkfifo(path, 0o600) },
	"folder":                func(_ *testing.T, path string) error { return os.MkdirAll(filepath.Join(path, "below"), 0o700) },
	"socket":                func(_ *testing.T, path string) error { return syscall.Mknod(path, syscall.S_IFSOCK|0o600, 0) },
	"device":                func(_ *testing.T, path string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o600, 1<<8|5) }, // zeros without end
	"link to a device":      func(_ *testing.T, path string) error { return os.Symlink("/dev/zero", path) },
	"link that leads away":  func(_ *testing.T, path string) error { return os.Symlink(path+"-nowhere", path) },
	"link to itself":        func(_ *testing.T, path string) error { return os.Symlink(path, path) },
	"file of great size":    func(_ *testing.T, path string) error { return os.WriteFile(path, make([]byte, 8<<20), 0o600) },
	"file others may write": func(_ *testing.T, path string) error { return errOrMode(path, 0o666) },
}

// errOrMode puts a file there whose content is right and whose mode is not.
func errOrMode(path string, mode os.FileMode) error {
	if err := os.WriteFile(path, specialContent, 0o600); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// specialContent is what the file held that a special file takes the place of.
var specialContent []byte

// Nothing waits for what lies in the place of a file of the cache, and everything is as
// it is without.
func TestSpecialFilesInTheCache(t *testing.T) {
	host.SettleFiles(t, 0)
	dir := t.TempDir()
	for kind, put := range specialFiles {
		for _, pattern := range []string{"wazero-*/*/sum", "wazero-*/*/[0-9a-f]*", "wazero-*/[0-9a-f]*", "facts/*", "images/*"} {
			t.Run(kind+" "+pattern, func(t *testing.T) {
				useCache(t, dir)
				files, err := filepath.Glob(filepath.Join(dir, pattern))
				if err != nil || len(files) == 0 {
					t.Skip("there are no such files here")
				}
				for _, f := range files {
					specialContent, _ = os.ReadFile(f)
					if err := os.RemoveAll(f); err != nil {
						t.Fatal(err)
					}
					if err := put(t, f); err != nil {
						t.Skip(err)
					}
				}
				useCache(t, dir)
				for _, f := range files {
					info, err := os.Lstat(f)
					if err == nil && !info.IsDir() && (!info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0) {
						t.Errorf("%s is still %s", f, info.Mode())
					}
				}
			})
		}
	}
}

// useCache reads and loads plugins as another process does, with all that is kept, and
// checks what they answer.
func useCache(t *testing.T, dir string) {
	t.Helper()
	l, err := loadHere(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(l) == 0 {
		t.Error("no answer")
	}
}

func loadHere(t *testing.T, dir string) ([]byte, error) {
	t.Helper()
	h := newHost(t, host.Config{CacheDir: dir, ImageCache: 1 << 20})
	host.KeepAllImages(h)
	spec, err := spec.Reader{CacheDir: dir}.ReadFile(filepath.Join(fixtures, "stateful", "plugin.wasm"))
	if err != nil {
		return nil, err
	}
	defer h.Close(t.Context())
	return loadAndCall(t.Context(), h, spec)
}
