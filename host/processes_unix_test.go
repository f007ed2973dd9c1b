//go:build unix

package host_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"

	"github.com/anchor-host/anchor-host/tokens"
)

// What these tests start is this test program again, with a folder for a cache: it loads a
// plugin over it and says how that went. With a pattern it loads without end, and removes
// what the pattern finds below the folder, so that it is written again.
const (
	childCache   = "ANCHOR_HOST_TEST_CACHE"
	childRemoves = "ANCHOR_HOST_TEST_REMOVES"
)

func init() {
	dir := os.Getenv(childCache)
	if dir == "" {
		return
	}
	l, err := loadInChild(dir, os.Getenv(childRemoves))
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(l)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// loaded is what a process says of loading the fixture "stateful".
type loaded struct {
	// Restored says that the state after init came from the disk; Output is what the
	// first call found.
	Restored bool
	Output   []byte
}

// loadInChild waits until its input ends and loads.
func loadInChild(dir, removes string) (l loaded, err error) {
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return l, err
	}
	ctx := context.Background()
	var log bytes.Buffer
	h, err := host.New(host.Config{
		CacheDir: dir, ImageCache: host.DefaultImageCache, Portable: portable(), Tokenizer: tokens.Words{},
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		return l, err
	}
	host.KeepAllImages(h)
	spec, err := spec.ReadFile(filepath.Join(fixtures, "stateful", "plugin.wasm"))
	for err == nil {
		l.Output, err = loadAndCall(ctx, h, spec)
		if removes == "" {
			break
		}
		log.Reset()
		err = errors.Join(err, removeAll(filepath.Join(dir, removes)))
	}
	err = errors.Join(err, h.Close(ctx))
	l.Restored = strings.Contains(log.String(), "image of an earlier process taken")
	return l, err
}

func loadAndCall(ctx context.Context, h *host.Host, spec *spec.Spec) ([]byte, error) {
	p, err := h.Load(ctx, spec, host.PluginConfig{Limits: host.Limits{Instances: 1}})
	if err != nil {
		return nil, err
	}
	r, err := p.Call(ctx, "count", nil)
	if err := errors.Join(err, p.Close(ctx)); err != nil {
		return nil, err
	}
	return r.Output, nil
}

func removeAll(pattern string) error {
	files, err := filepath.Glob(pattern)
	for _, f := range files {
		err = errors.Join(err, os.RemoveAll(f))
	}
	return err
}

// child is such a process, which waits for its input to end.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout *bufio.Reader
	stderr bytes.Buffer
}

func startChild(t *testing.T, dir, removes string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.CommandContext(t.Context(), self)}
	c.cmd.Env = append(os.Environ(), childCache+"="+dir, childRemoves+"="+removes)
	c.cmd.Stderr = &c.stderr
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stdin, c.stdout = stdin, bufio.NewReader(stdout)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // unless it has ended
		_ = c.cmd.Wait()
	})
	if line, err := c.stdout.ReadString('\n'); line != "ready\n" {
		t.Fatalf("child: %q, error %v", line, err)
	}
	return c
}

// begin has the child load.
func (c *child) begin() { _ = c.stdin.Close() }

// finish waits for the child, which must find what every first call finds.
func (c *child) finish(t *testing.T) (l loaded) {
	t.Helper()
	err := json.NewDecoder(c.stdout).Decode(&l)
	if err := errors.Join(err, c.cmd.Wait()); err != nil {
		t.Fatalf("child: %v\n%s", err, &c.stderr)
	}
	if want := []byte{1, 1, 1, 1, 6, 7, 2, 4, 1, 1, 21, 31}; !bytes.Equal(l.Output, want) {
		t.Errorf("a process finds %v (want %v)", l.Output, want)
	}
	return l
}

// alone runs a child.
func alone(t *testing.T, dir string) loaded {
	t.Helper()
	c := startChild(t, dir, "")
	c.begin()
	return c.finish(t)
}

// checkWarm starts a process that must find everything on the disk that a cache of its own
// would hold.
func checkWarm(t *testing.T, dir string) {
	t.Helper()
	undisturbed := t.TempDir()
	alone(t, undisturbed)
	want, before := entries(t, undisturbed), entries(t, dir)
	if len(want) == 0 {
		t.Skip("this platform does not compile")
	}
	if !alone(t, dir).Restored {
		t.Error("a later process does not take the image from the disk")
	}
	after := entries(t, dir)
	for name := range want {
		if was, is := before[name], after[name]; was == nil || is == nil || !os.SameFile(was, is) || !was.ModTime().Equal(is.ModTime()) {
			t.Errorf("%s is not there, or is written by a later process", name)
		}
	}
	if len(after) != len(want) {
		t.Errorf("%d files of machine code (want %d)", len(after), len(want))
	}
}

// entries are the files of the whole entries of a cache. One that is compiled again is
// another file.
func entries(t *testing.T, dir string) map[string]os.FileInfo {
	t.Helper()
	infos := map[string]os.FileInfo{}
	for _, f := range cacheFiles(t, dir) {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if entry := filepath.Dir(f); !strings.HasPrefix(filepath.Base(entry), "new-") {
			infos[filepath.Join(filepath.Base(entry), filepath.Base(f))] = info
		}
	}
	return infos
}

// Processes that load the same plugin over one empty cache at once do not disturb each
// other, and leave a cache that serves the next one, and nothing else.
func TestProcessesFillOneCache(t *testing.T) {
	dir := t.TempDir()
	var children []*child
	for range 3 {
		children = append(children, startChild(t, dir, ""))
	}
	for _, c := range children {
		c.begin()
	}
	for _, c := range children {
		c.finish(t)
	}
	checkWarm(t, dir)
	if files := imageFiles(t, dir); len(files) != 1 {
		t.Errorf("images %v", files)
	}
	for _, pattern := range []string{"run-*", filepath.Join("*", "new-*")} {
		if left, _ := filepath.Glob(filepath.Join(dir, pattern)); len(left) != 0 {
			t.Errorf("the processes left %v", left)
		}
	}
}

// A process that is killed in the middle of writing to the cache leaves something half
// made. The next process loads all the same and writes it, so that the one after it finds
// it.
func TestProcessKilledWhileItWrites(t *testing.T) {
	for name, tc := range map[string]struct{ written, half string }{
		"machine code": {filepath.Join("wazero-*", "*"), filepath.Join("wazero-*", "new-*")},
		"image":        {filepath.Join("images", "*"), filepath.Join("images", "new-*")},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c := startChild(t, dir, tc.written)
			c.begin()
			c.killWhen(t, filepath.Join(dir, tc.half))
			alone(t, dir)
			checkWarm(t, dir)
		})
	}
}

// killWhen kills the child at a moment when there is a file of the pattern. It is stopped
// for each look, so that the file cannot be gone when it dies.
func (c *child) killWhen(t *testing.T, pattern string) {
	t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(200 * time.Microsecond) {
		if err := c.stop(); err != nil {
			t.Fatalf("child: %v\n%s", err, &c.stderr)
		}
		if half, _ := filepath.Glob(pattern); len(half) > 0 {
			_ = c.cmd.Process.Kill()
			_ = c.cmd.Wait() // the error says that it was killed
			if half, _ := filepath.Glob(pattern); len(half) == 0 {
				t.Errorf("no %s is left", filepath.Base(pattern))
			}
			return
		}
		if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("the child was never seen to write a %s", filepath.Base(pattern))
}

// stop stops the child and waits until it has stopped.
func (c *child) stop() error {
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	var status syscall.WaitStatus
	for {
		switch _, err := syscall.Wait4(c.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); {
		case errors.Is(err, syscall.EINTR):
		case err == nil && !status.Stopped():
			return fmt.Errorf("ended with status %d", status.ExitStatus())
		default:
			return err
		}
	}
}
