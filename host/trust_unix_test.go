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
)

func init() { syscall.Umask(0o022) } // where others of a group could write, no cache is used

// nobodyUser is a user that the tests do not run as.
const nobodyUser = 65534

// chmod gives a folder a mode, however the mask is.
func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// give makes a file or folder another user's.
func give(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	if err := os.Lchown(path, nobodyUser, nobodyUser); err != nil {
		t.Fatal(err)
	}
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
		"the group can write": {func(t *testing.T, base string) string { d := mkdir(t, base+"/c"); chmod(t, d, 0o770); return d }, "can be written by others: its mode is 0770"},
		"everybody can write": {func(t *testing.T, base string) string { d := mkdir(t, base+"/c"); chmod(t, d, 0o777); return d }, "its mode is 0777"},
		"everybody can write, sticky": {func(t *testing.T, base string) string {
			d := mkdir(t, base+"/c")
			chmod(t, d, 0o777|os.ModeSticky)
			return d
		}, "its mode is 0777"},
		"a folder above can be written": {func(t *testing.T, base string) string {
			d := mkdir(t, base+"/a/c")
			chmod(t, base+"/a", 0o777)
			return d
		}, "/a can be written by others"},
		"it would be made in such a folder": {func(t *testing.T, base string) string {
			mkdir(t, base+"/a")
			chmod(t, base+"/a", 0o777)
			return base + "/a/b/c"
		}, "/a can be written by others"},
		"of another user": {func(t *testing.T, base string) string { d := mkdir(t, base+"/c"); give(t, d); return d }, "/c belongs to user 65534"},
		"below that of another user": {func(t *testing.T, base string) string {
			d := mkdir(t, base+"/home/.cache/c")
			give(t, base+"/home")
			return d
		}, "/home belongs to user 65534"},
		"of another user in a sticky folder": {func(t *testing.T, base string) string {
			d := mkdir(t, base+"/a/c")
			chmod(t, base+"/a", 0o777|os.ModeSticky)
			give(t, d)
			return d
		}, "/c belongs to user 65534"},
		"a link to such a folder": {func(t *testing.T, base string) string {
			mkdir(t, base+"/a/c")
			chmod(t, base+"/a", 0o777)
			return link(t, base+"/a/c", base+"/link")
		}, "/a can be written by others"},
		"a relative link to such a folder": {func(t *testing.T, base string) string {
			mkdir(t, base+"/a/c")
			chmod(t, base+"/a", 0o777)
			return link(t, "../"+filepath.Base(base)+"/a/c", base+"/link")
		}, "/a can be written by others"},
		"a link of another user": {func(t *testing.T, base string) string {
			mkdir(t, base+"/good")
			mkdir(t, base+"/tmp")
			chmod(t, base+"/tmp", 0o777|os.ModeSticky)
			l := link(t, base+"/good", base+"/tmp/link")
			give(t, l)
			return l
		}, "/link belongs to user 65534"},
		"links without end": {func(t *testing.T, base string) string { return link(t, base+"/link", base+"/link") }, "more than 40 symbolic links"},
		"a file": {func(t *testing.T, base string) string {
			if err := os.WriteFile(base+"/c", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return base + "/c"
		}, "is no folder"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tc.make(t, t.TempDir())
			if err := host.CheckCacheDir(dir); err == nil || !strings.Contains(err.Error(), tc.why) {
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
			readKept(t, dir, "keep-first")
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
	sticky := mkdir(t, base+"/sticky")
	chmod(t, sticky, 0o777|os.ModeSticky)
	mkdir(t, base+"/real")
	open := mkdir(t, base+"/read")
	chmod(t, open, 0o755)
	t.Chdir(base)
	for _, dir := range []string{
		base + "/new/below", sticky + "/mine", link(t, "real", base+"/link"), link(t, base+"/link/../real", base+"/again") + "/x", open, "relative/c",
	} {
		if err := host.CheckCacheDir(dir); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		if err := cached(t, dir); err != nil {
			t.Error(err)
		}
		if files := cacheFiles(t, dir); len(files) == 0 && host.Compiles() {
			t.Errorf("%s: nothing is kept", dir)
		}
	}
	for _, dir := range []string{host.CacheOff} {
		if err := host.CheckCacheDir(dir); err != nil {
			t.Errorf("%q: %v", dir, err)
		}
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

// The key lies where a copy of the cache does not take it along, or else in the cache, and
// is nobody else's to read.
func TestKeyOfTheCache(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	t.Setenv("HOME", config)
	dir := t.TempDir()
	if err := cached(t, dir); err != nil {
		t.Fatal(err)
	}
	keys, err := filepath.Glob(filepath.Join(config, "*", "cache.key"))
	if more, _ := filepath.Glob(filepath.Join(config, "Library", "*", "*", "cache.key")); err != nil || len(append(keys, more...)) != 1 {
		t.Fatalf("keys %v, error %v", keys, err)
	} else {
		keys = append(keys, more...)
	}
	if info, err := os.Stat(keys[0]); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 32 {
		t.Errorf("%v, error %v", info, err)
	}
	first := read(t, keys[0])
	if err := cached(t, t.TempDir()); err != nil || read(t, keys[0]) != first {
		t.Errorf("error %v, or another key", err)
	}
	chmod(t, keys[0], 0o644) // anybody may know it now
	if err := cached(t, dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, error %v", info, err)
	}
	chmod(t, filepath.Join(dir, "key"), 0o640)
	if err := host.CheckCacheDir(dir); err == nil || !strings.Contains(err.Error(), "can be read by others") {
		t.Errorf("error %v", err)
	}
}
