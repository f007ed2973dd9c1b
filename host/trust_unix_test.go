//go:build unix

package host_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

func init() { syscall.Umask(0o022) } // where others of a group could write, no cache is used

// chmod gives a folder a mode, however the mask is.
func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// whyNotKept says why a host does not use a cache folder.
func whyNotKept(t *testing.T, dir string) error {
	t.Helper()
	used, err := newHost(t, host.Config{CacheDir: dir}).CacheDir()
	if (used == "") != (err != nil || dir == host.CacheOff) {
		t.Errorf("%s: the folder %q is used, error %v", dir, used, err)
	}
	return err
}

func mkdir(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whoever else can put a file into the folder, or another folder into its place, can have
// the host run what they like.
func TestFolderThatOthersCanChange(t *testing.T) {
	for name, tc := range map[string]struct {
		make func(t *testing.T, base string) (dir string)
		why  string
	}{
		"everybody can write": {func(t *testing.T, base string) string { d := mkdir(t, base+"/c"); chmod(t, d, 0o777); return d }, "its mode is 0777"},
		"a link to such a folder": {func(t *testing.T, base string) string {
			mkdir(t, base+"/a/c")
			chmod(t, base+"/a", 0o777)
			return link(t, base+"/a/c", base+"/link")
		}, "/a can be written by others"},
		"a file": {func(t *testing.T, base string) string {
			if err := os.WriteFile(base+"/c", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return base + "/c"
		}, "is no folder"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tc.make(t, t.TempDir())
			if err := whyNotKept(t, dir); err == nil || !strings.Contains(err.Error(), tc.why) {
				t.Errorf("error %v (want %q)", err, tc.why)
			}
			var log bytes.Buffer
			h := newHost(t, host.Config{CacheDir: dir, ImageCache: 1 << 20, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			host.KeepAllImages(h)
			load(t, h, "stateful", host.PluginConfig{})
			load(t, h, "keep-first", host.PluginConfig{})
			if n := strings.Count(log.String(), "nothing is kept between processes"); n != 1 || !strings.Contains(log.String(), tc.why) {
				t.Errorf("it is said %d times:\n%s", n, &log)
			}
			if _, err := (spec.Reader{CacheDir: dir}).ReadFile(filepath.Join(fixtures, "keep-first", "plugin.wasm")); err != nil {
				t.Error(err)
			}
			if made, _ := filepath.Glob(filepath.Join(dir, "*")); len(made) != 0 {
				t.Errorf("made there: %v", made)
			}
		})
	}
}

func link(t *testing.T, target, path string) string {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// What only the user can change is used, however one gets there.
func TestFolderOfTheUserAlone(t *testing.T) {
	base := t.TempDir()
	mkdir(t, base+"/real")
	t.Chdir(base)
	for _, dir := range []string{base + "/new/below", link(t, "real", base+"/link"), "relative/c"} {
		if err := whyNotKept(t, dir); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		if err := cached(t, dir); err != nil {
			t.Error(err)
		}
		if files := cacheFiles(t, dir); len(files) == 0 && host.Compiles() {
			t.Errorf("%s: nothing is kept", dir)
		}
	}
	if err := whyNotKept(t, host.CacheOff); err != nil {
		t.Error(err)
	}
}

// What lay in the folder when others could write to it is not believed either.
func TestFoldersInTheCacheOfOthers(t *testing.T) {
	for _, name := range []string{"facts", "images", "wazero-*"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			useCache(t, dir)
			found, _ := filepath.Glob(filepath.Join(dir, name))
			if len(found) != 1 {
				t.Skip("there is none here")
			}
			chmod(t, found[0], 0o777)
			before, _ := filepath.Glob(filepath.Join(found[0], "*"))
			age(t, before...)
			useCache(t, dir)
			var log bytes.Buffer
			h := newHost(t, host.Config{CacheDir: dir, ImageCache: 1 << 20, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			load(t, h, "keep-first", host.PluginConfig{})
			if !strings.Contains(log.String(), "its mode is 0777") {
				t.Errorf("log:\n%s", &log)
			}
		})
	}
}
