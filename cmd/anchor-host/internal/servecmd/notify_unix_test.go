//go:build unix

package servecmd

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestNotify(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	if err := notify(stateReady); err != nil {
		t.Errorf("without systemd: %v", err)
	}
	dir, err := os.MkdirTemp("", "notify") //nolint:usetesting // the name of a socket has at most some 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	name := filepath.Join(dir, "s")
	t.Setenv("NOTIFY_SOCKET", name)
	if err := notify(stateReady); err == nil {
		t.Error("no error without a socket")
	}
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := socket.SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{stateReady, stateStopping} {
		if err := notify(state); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 64)
		n, err := socket.Read(b)
		if err != nil || string(b[:n]) != state {
			t.Errorf("systemd gets %q, %v; want %q", b[:n], err, state)
		}
	}
}
