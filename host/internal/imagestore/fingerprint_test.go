package imagestore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

var past = time.Now().Add(-time.Hour)

// old is a file that has not changed lately.
func old(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text), ModTime: past} }

// print of files in one mount.
func printOf(t *testing.T, files fs.FS) string {
	t.Helper()
	sum, err := Fingerprint(t.Context(), []Mount{{Guest: "/docs", Files: files}})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// Every change to the mounts changes the fingerprint.
func TestFingerprints(t *testing.T) {
	files := fstest.MapFS{"a": old("one"), "sub/b": old("two")}
	one := printOf(t, files)
	if printOf(t, files) != one {
		t.Error("the fingerprint changes")
	}
	later := old("one")
	later.ModTime = past.Add(time.Nanosecond)
	mode := old("one")
	mode.Mode = 0o600
	for name, other := range map[string]fstest.MapFS{
		"size": {"a": old("one "), "sub/b": old("two")}, "time": {"a": later, "sub/b": old("two")}, "mode": {"a": mode, "sub/b": old("two")},
		"fewer": {"a": old("one")}, "more": {"a": old("one"), "sub/b": old("two"), "c": old("")}, "name": {"a": old("one"), "sub/c": old("two")},
	} {
		if printOf(t, other) == one {
			t.Errorf("%s: the fingerprint stays", name)
		}
	}
	for name, mounts := range map[string][]Mount{
		"place": {{Guest: "/other", Files: files}}, "rights": {{Guest: "/docs", Writable: true, Files: files}}, "none": nil,
	} {
		if other, err := Fingerprint(t.Context(), mounts); err != nil || other == one {
			t.Errorf("%s: the fingerprint stays, error %v", name, err)
		}
	}
	files["c"] = &fstest.MapFile{ModTime: time.Now().Add(time.Minute)} // so that a slow test sees it as new
	if _, err := Fingerprint(t.Context(), []Mount{{Guest: "/docs", Files: files}}); !errors.Is(err, ErrUnsettled) {
		t.Errorf("just changed: error %v", err)
	}
}

// locked is a file system with a folder that cannot be read.
type locked struct {
	fstest.MapFS
	folder string
}

func (l locked) Open(name string) (fs.File, error) {
	if name == l.folder {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return l.MapFS.Open(name)
}

// The error names the mount and the file, once.
func TestUnreadableFile(t *testing.T) {
	_, err := Fingerprint(t.Context(), []Mount{{Guest: "/docs", Files: locked{fstest.MapFS{"a": old(""), "sub/lost+found/b": old("")}, "sub/lost+found"}}})
	if err == nil || err.Error() != `mount /docs: file "sub/lost+found": permission denied` || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v", err)
	}
}

// endless is a folder without a last entry.
type endless struct{ fs.FS }

func (e endless) Open(name string) (fs.File, error) {
	f, err := e.FS.Open(name)
	return endlessFile{f}, err
}

type endlessFile struct{ fs.File }

func (endlessFile) ReadDir(n int) ([]fs.DirEntry, error) {
	info, err := os.Stat(os.Args[0])
	list := make([]fs.DirEntry, n)
	for i := range list {
		list[i] = fs.FileInfoToDirEntry(info)
	}
	return list, err
}

func TestTooManyFiles(t *testing.T) {
	_, err := Fingerprint(t.Context(), []Mount{{Guest: "/docs", Files: endless{os.DirFS(filepath.Dir(os.Args[0]))}}})
	if err == nil || !strings.Contains(err.Error(), "/docs: there are more than 50000 files") {
		t.Errorf("error %v", err)
	}
}

// Looking at files ends with the context.
func TestFingerprintEnds(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Fingerprint(ended, []Mount{{Guest: "/docs", Files: fstest.MapFS{"a": old("")}}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
