package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
)

// smallDisk makes a folder on a file system of so many bytes.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mount a small file system: %v (needs root)", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillDisk leaves no byte.
func fillDisk(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{64 << 10, 4096, 512, 1} {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		err = nil
	}
	return name
}

// On a full disk nothing can be added, and everything can be deleted.
func TestForgetOnAFullDisk(t *testing.T) {
	dir := smallDisk(t, "2m")
	t.Chdir(t.TempDir())
	t.Setenv("ANCHOR_HOST_STORE_PATH", filepath.Join(dir, "store.db"))
	for i := range 8 {
		must(t, "", "memory", "add", "--id", fmt.Sprint("f", i), strings.Repeat(fmt.Sprint("fact ", i, " "), 1000))
	}
	must(t, "", "memory", "add", "--conversation", "c", "a turn")
	must(t, "", "frames", "push", "--run", "r", "--kind", "checkpoint", "saved")
	filler := fillDisk(t, dir)
	if code, _, stderr := run(t, "", "memory", "add", "more"); code != codeFailure || strings.Count(stderr, "\n") != 1 {
		t.Errorf("add: code %d: %s", code, stderr)
	}
	if got := must(t, "", "memory", "list", "-o", "json"); !strings.Contains(got, `"f7"`) {
		t.Errorf("list: %.200s", got)
	}
	lines, _, _ := doctor(t)
	if f := lines["store"]; f.Status != "problem" || !strings.Contains(f.Detail, "the disk is full") {
		t.Errorf("doctor: %+v", f)
	}
	lines, _, _ = doctor(t, "--store", filepath.Join(dir, "new", "store.db"))
	if f := lines["store disk"]; f.Status != "warning" || !strings.Contains(f.Detail, "0 MiB are free at "+dir) {
		t.Errorf("doctor: %+v", f)
	}
	if got := must(t, "", "memory", "forget", "f3"); got != "forgotten: 1\n" {
		t.Errorf("forget: %q", got)
	}
	// The room is taken back when there is some, and given up again.
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	must(t, "", "memory", "add", "--id", "new", "there is room")
	fillDisk(t, dir)
	if got := must(t, "", "memory", "forget", "--all"); got != "forgotten: 8\n" {
		t.Errorf("forget --all: %q", got)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if got := must(t, "", "memory", "export"); strings.Contains(got, "fact 3") || !strings.Contains(got, "a turn") {
		t.Errorf("export: %.300s", got)
	}
	if lines, _, _ = doctor(t); lines["store"].Status == "problem" {
		t.Errorf("%+v", lines["store"])
	}
}

// On a full disk init writes nothing, rather than a part.
func TestInitOnAFullDisk(t *testing.T) {
	dir := smallDisk(t, "64k")
	code, stdout, stderr := run(t, "", "init", filepath.Join(dir, "new"))
	if want := ": write the file: no space left on device (make room and run init again; it has removed what it wrote)\n"; code != codeFailure || stdout != "" || !strings.HasSuffix(stderr, want) {
		t.Errorf("%d, %q, %q, want %q", code, stdout, stderr, want)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// plugin compile says that nothing is kept, whether the disk is full from the start or when the machine code is written.
func TestCompileOnAFullDisk(t *testing.T) {
	for name, room := range map[string]int{"from the start": 0, "when the engine is made": 2, "when the entry is made": 6} {
		t.Run(name, func(t *testing.T) {
			dir := smallDisk(t, "4m")
			filler := fillDisk(t, dir)
			info, err := os.Stat(filler)
			if err == nil {
				err = os.Truncate(filler, info.Size()-int64(room*os.Getpagesize()))
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("ANCHOR_HOST_PLUGINS_CACHE_DIR", filepath.Join(dir, "cache"))
			code, stdout, stderr := run(t, "", "plugin", "compile", "keep-first", "--plugins", clitest.FixtureDir)
			if code != codeFailure || strings.Contains(stdout, "ok") || !strings.Contains(stderr, "kept") || !strings.Contains(stderr, "no space left") {
				t.Errorf("code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}
