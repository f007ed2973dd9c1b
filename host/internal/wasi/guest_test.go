package wasi_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/testkit/guesttest"
	"github.com/anchor-host/anchor-host/host/internal/wasi"
)

// largeFolder has a large sparse file.
func largeFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 40); err != nil {
		t.Skip("no sparse files here:", err)
	}
	return dir
}

// No function works for a guest beyond the time of its call.
func TestCallsEndWithTheTime(t *testing.T) {
	dir := largeFolder(t)
	for _, interpreted := range []bool{false, true} {
		g := guesttest.Open(t, "host-calls-forever", guesttest.Options{Interpreted: interpreted, Folder: dir,
			Limits: guest.Limits{Timeout: 50 * time.Millisecond, Memory: 128 << 20}})
		for _, name := range []string{"fd_write", "fd_write_vectors", "fd_read", "fd_pread", "fd_readdir", "path_open"} {
			_, err := g.Call(t.Context(), name, nil)
			guesttest.CheckReason(t, err, abi.ReasonTimeout)
		}
	}
}

// What would make the host work or allocate too much at once is refused with an error number.
func TestSizesAreRefused(t *testing.T) {
	g := guesttest.Open(t, "host-calls-forever", guesttest.Options{Folder: largeFolder(t), Limits: guest.Limits{Memory: 128 << 20}})
	for call, want := range map[string]string{
		"fd_write_once": "28", "random_get_once": "21", "poll_oneoff_once": "28", "fd_renumber_once": "8",
		"fd_readdir_once": "28", "path_open_once": "37", "fd_read_once": "1048576", // a part is read
	} {
		_, err := g.Call(t.Context(), call, nil)
		if failed := guesttest.CheckReason(t, err, abi.ReasonGuestError); failed.Error() != "status "+want+" without a message" {
			t.Errorf("%s: %v, want status %s", call, failed, want)
		}
	}
}

// Guests whose clocks and random numbers are fixed read the same, others do not.
func TestDeterministic(t *testing.T) {
	call := func(deterministic bool) []byte {
		t.Helper()
		g := guesttest.Open(t, "random", guesttest.Options{WASI: wasi.Options{Deterministic: deterministic}})
		out, err := g.Call(t.Context(), "random_and_clock", nil)
		if err != nil || len(out) != 24 {
			t.Fatalf("%d bytes, error %v, want 24 bytes", len(out), err)
		}
		return out
	}
	if a, b := call(true), call(true); !bytes.Equal(a, b) {
		t.Errorf("deterministic guests read %x and %x", a, b)
	}
	a, b := call(false), call(false)
	if bytes.Equal(a[:16], b[:16]) || bytes.Equal(a[:16], call(true)[:16]) {
		t.Errorf("random numbers repeat: %x and %x", a[:16], b[:16])
	}
}

// The host knows of a guest that read the time of day, unless its author promised that this
// does not matter.
func TestReadClock(t *testing.T) {
	for _, timeless := range []bool{false, true} {
		g := guesttest.Open(t, "random", guesttest.Options{WASI: wasi.Options{Timeless: timeless}})
		if g.WASI.ReadClock() {
			t.Error("read before the call")
		}
		if _, err := g.Call(t.Context(), "random_and_clock", nil); err != nil {
			t.Fatal(err)
		}
		if g.WASI.ReadClock() == timeless {
			t.Errorf("timeless %t: clock read %t", timeless, !timeless)
		}
	}
}
