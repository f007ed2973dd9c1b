package host_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/anchor-host/anchor-host/host"

	"github.com/anchor-host/anchor-host/tokens"
)

// withoutRootsRights has this thread, which ends with the test, lose the right of root to
// read what its mode forbids.
func withoutRootsRights(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	const version3 = 0x20080522
	header := struct {
		version uint32
		pid     int32
	}{version3, 0}
	var data [2]struct{ effective, permitted, inheritable uint32 }
	if _, _, e := syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0); e != 0 {
		t.Skip(e)
	}
	data[0].effective &^= 1<<1 | 1<<2 // CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
	if _, _, e := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0); e != 0 {
		t.Skip(e)
	}
}

// A folder in a mount that cannot be read keeps the image off the disk. The log says so once
// for each load, with the name of the folder, and the plugin works.
func TestUnreadableFolderInAMount(t *testing.T) {
	cache, dir := emptyImages(t), settledFolder(t)
	below := filepath.Join(dir, "lost+found")
	if err := os.Mkdir(below, 0); err != nil {
		t.Fatal(err)
	}
	age(t, dir, below)
	withoutRootsRights(t)
	var log bytes.Buffer
	h, err := host.New(host.Config{CacheDir: cache, ImageCache: host.DefaultImageCache, Tokenizer: tokens.Words{},
		Logger: slog.New(slog.NewTextHandler(&log, nil)), Portable: portable()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	host.KeepAllImages(h)
	p, err := h.Load(t.Context(), counting.load(t), host.PluginConfig{Grants: host.Grants{Files: []host.FileGrant{{Host: dir, Guest: "/docs"}}}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if f, err := count(t, p, "q", nil); err != nil || f.Calls != 1 {
			t.Errorf("finds %+v, error %v", f, err)
		}
	}
	if n := strings.Count(log.String(), "is not kept on disk"); n != 1 || !strings.Contains(log.String(), "lost+found") || !strings.Contains(log.String(), "permission denied") {
		t.Errorf("it is said %d times:\n%s", n, &log)
	}
	if files := imageFiles(t, cache); len(files) != 0 {
		t.Errorf("images: %v", files)
	}
}
