package spec_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host/spec"
)

// remembered writes a module and reads it until its file need not be read.
func remembered(t *testing.T, cache, path string, wasm []byte) *spec.Spec {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("files are read each time")
	}
	settleFiles(t, 0)
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	reader := spec.Reader{CacheDir: cache}
	first, err := reader.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := reader.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if spec.Unread(first) || !spec.Unread(again) || !spec.SameSpec(first, again) {
		t.Fatalf("%+v, then %+v", first, again)
	}
	return again
}

// waitForTick waits until the clock of the file system in dir shows another time, so that the
// next change of a file there shows in its times.
func waitForTick(t *testing.T, dir string) {
	t.Helper()
	var first time.Time
	for {
		f, err := os.CreateTemp(dir, "tick-*")
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err := errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
			t.Fatal(err)
		}
		if first.IsZero() {
			first = info.ModTime()
		}
		if info.ModTime().After(first) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// A module in the place of another is noticed, whatever was done to make its file
// look the same.
func TestReplacedModule(t *testing.T) {
	for name, replace := range map[string]func(path string, wasm []byte) error{
		"written over": func(path string, wasm []byte) error { return os.WriteFile(path, wasm, 0o600) },
		"renamed": func(path string, wasm []byte) error {
			return errors.Join(os.WriteFile(path+".new", wasm, 0o600), os.Rename(path+".new", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			cache, path := t.TempDir(), filepath.Join(t.TempDir(), "constant.wasm")
			old := remembered(t, cache, path, constant(0))
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			waitForTick(t, filepath.Dir(path))
			if err := errors.Join(replace(path, constant(1)), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
				t.Fatal(err)
			}
			if spec, err := (spec.Reader{CacheDir: cache}).ReadFile(path); err != nil || spec.Digest == old.Digest {
				t.Errorf("error %v, or the digest of the module that was there", err)
			}
			// Who has read it before gets the module that was read, or none.
			if _, err := old.Module().Bytes(); !errors.Is(err, spec.ErrConfig) {
				t.Errorf("bytes: error %v", err)
			}
		})
	}
}

// A file that was changed a moment ago may change again without showing it.
func TestFreshFileIsRead(t *testing.T) {
	settleFiles(t, never)
	cache, path := t.TempDir(), filepath.Join(t.TempDir(), "constant.wasm")
	if err := os.WriteFile(path, constant(0), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]bool{}
	for i := range byte(3) {
		err := errors.Join(os.WriteFile(path, constant(i%2), 0o600), os.Chtimes(path, info.ModTime(), info.ModTime()))
		if err != nil {
			t.Fatal(err)
		}
		s, err := (spec.Reader{CacheDir: cache}).ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := sha256.Sum256(constant(i % 2))
		if s.Digest != "sha256:"+hex.EncodeToString(want[:]) {
			t.Errorf("read %d: the digest of the module that was there", i)
		}
		digests[s.Digest] = true
		if known := i == 2; spec.Unread(s) != known {
			t.Errorf("read %d: kept in memory: %t", i, !spec.Unread(s))
		}
	}
	if len(digests) != 2 {
		t.Errorf("%d digests of two modules", len(digests))
	}
}

// What is kept of a module and is damaged is found out again.
func TestDamagedOutline(t *testing.T) {
	cache, path := t.TempDir(), filepath.Join(t.TempDir(), "constant.wasm")
	want := remembered(t, cache, path, constant(0))
	files := factsFiles(t, cache)
	if len(files) == 0 {
		t.Fatal("nothing is kept of the module")
	}
	for _, file := range files {
		good, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range [][]byte{nil, good[:len(good)/2], bytes.Replace(good, []byte("1"), []byte("2"), 1)} {
			if err := os.WriteFile(file, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := (spec.Reader{CacheDir: cache}).ReadFile(path); err != nil || !spec.SameSpec(got, want) {
				t.Errorf("%+v, error %v", got, err)
			}
		}
	}
}
