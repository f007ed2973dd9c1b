//go:build unix

package codestore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func init() { syscall.Umask(0o022) } // folders that a group can write to would be refused

// nobodyUser is a user id under which the tests do not run.
const nobodyUser = 65534

// chmod sets the mode of a folder, whatever the umask is.
func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// give changes the owner of a file or folder.
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

// A folder is refused if somebody else can put a file into it, or another folder in its place.
// Nothing is made there.
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
			if _, err := Open(dir, nil); err == nil || !strings.Contains(err.Error(), tc.why) {
				t.Errorf("error %v (want %q)", err, tc.why)
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

// A folder that only the user can change is used, whatever path leads there.
func TestFolderOfTheUserAlone(t *testing.T) {
	atHome(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sticky := mkdir(t, base+"/sticky")
	chmod(t, sticky, 0o777|os.ModeSticky)
	mkdir(t, base+"/real")
	open := mkdir(t, base+"/read")
	chmod(t, open, 0o755)
	t.Chdir(base)
	for dir, want := range map[string]string{
		base + "/new/below": "/new/below", sticky + "/mine": "/sticky/mine", link(t, "real", base+"/link"): "/real",
		link(t, base+"/link/../real", base+"/again") + "/x": "/real/x", open: "/read", "relative/c": "/relative/c",
	} {
		s, err := Open(dir, nil)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		if info, err := os.Stat(s.Dir); s.Dir != base+want || err != nil || !info.IsDir() {
			t.Errorf("%s: opened %s (want %s), error %v", dir, s.Dir, base+want, err)
		}
	}
}

// The key lies outside of the store if possible, else in the store, and nobody else can read
// it.
func TestKeyIsSecret(t *testing.T) {
	config := atHome(t)
	dir := t.TempDir()
	first, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	keys, _ := filepath.Glob(filepath.Join(config, "*", "cache.key"))
	more, _ := filepath.Glob(filepath.Join(config, "Library", "*", "*", "cache.key"))
	if keys = append(keys, more...); len(keys) != 1 {
		t.Fatalf("keys %v", keys)
	}
	if info, err := os.Stat(keys[0]); err != nil || info.Mode().Perm() != 0o600 || info.Size() != keySize {
		t.Errorf("%v, error %v", info, err)
	}
	if s, err := Open(t.TempDir(), nil); err != nil || !bytes.Equal(s.key, first.key) {
		t.Errorf("error %v, or another key", err)
	}
	chmod(t, keys[0], 0o644) // others can read the key now
	if s, err := Open(dir, nil); err != nil || bytes.Equal(s.key, first.key) {
		t.Errorf("error %v, or the key that others can read", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, error %v", info, err)
	}
	chmod(t, filepath.Join(dir, "key"), 0o640)
	if _, err := Open(dir, nil); err == nil || !strings.Contains(err.Error(), "can be read by others") {
		t.Errorf("error %v", err)
	}
}

// Anything but a regular file of the user alone is not opened, and no call waits for it.
func TestSpecialFiles(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"link to a file": func(path string) error {
			return errors.Join(os.WriteFile(path+"-file", nil, 0o600), os.Symlink(path+"-file", path))
		},
		"link to itself":   func(path string) error { return os.Symlink(path, path) },
		"link to a device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"others may write": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o620)) },
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := put(path); err != nil {
			t.Fatal(err)
		}
		if f, err := OpenOwn(path); err == nil {
			t.Errorf("%s: opened %s", name, f.Name())
		}
	}
}

// A folder of the store is refused if others can write to it, or if it is a file.
func TestFoldersOfOthers(t *testing.T) {
	atHome(t)
	s, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first call makes it, the second finds it
		if dir, err := s.Folder("mine"); err != nil || dir != filepath.Join(s.Dir, "mine") {
			t.Errorf("folder %s, error %v", dir, err)
		}
	}
	chmod(t, filepath.Join(s.Dir, "mine"), 0o770)
	if _, err := s.Folder("mine"); err == nil || !strings.Contains(err.Error(), "its mode is 0770") {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Folder("file"); err == nil || !strings.Contains(err.Error(), "is no folder (remove it)") {
		t.Errorf("error %v", err)
	}
}
