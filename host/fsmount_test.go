package host_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

// files are those of an embedder.
func files() fstest.MapFS {
	return fstest.MapFS{
		"a.txt":       {Data: []byte("inside")},
		"sub/b.txt":   {Data: []byte("below")},
		"large.txt":   {Data: []byte(strings.Repeat("0123456789", 300_000))},
		"device":      {Mode: fs.ModeDevice},
		"sub/c/d.txt": {Data: []byte("deep")},
	}
}

// A file system of the embedder is read like a folder, and cannot be written.
func TestFSMount(t *testing.T) {
	p := loadAllops(t, newHost(t, host.Config{}), host.PluginConfig{
		Grants: host.Grants{Files: []host.FileGrant{{FS: files(), Guest: "/docs"}}}, Limits: host.Limits{Instances: 1}})
	if p.State() != host.StateReset {
		t.Errorf("state %q: %v", p.State(), p.Notes())
	}
	for range 2 {
		for path, want := range map[string]string{
			"/docs/a.txt": "inside", "/docs/sub/b.txt": "below", "/docs/sub/../a.txt": "inside", "/docs/large.txt": strings.Repeat("0123456789", 300_000),
		} {
			if got, err := runFind(t, p, map[string]any{"mode": "file", "path": path}, ""); err != nil || got[0] != want {
				t.Errorf("%s: %.20q, error %v", path, got, err)
			}
		}
		for path, want := range map[string]string{"/docs": "a.txt large.txt sub", "/docs/sub": "b.txt c"} {
			if got, err := runFind(t, p, map[string]any{"mode": "list", "path": path}, ""); err != nil || strings.Join(got, " ") != want {
				t.Errorf("list %s: %q, error %v", path, got, err)
			}
		}
	}
	for _, path := range []string{"/docs/none", "/docs/device", "/docs/../etc/passwd", "/docs/\xff", "/etc/passwd", "/docs/a.txt/b"} {
		if _, err := runFind(t, p, map[string]any{"mode": "file", "path": path}, ""); err == nil {
			t.Errorf("%q: read", path)
		}
	}
	for _, path := range []string{"/docs/new.txt", "/docs/a.txt"} {
		if _, err := runFind(t, p, map[string]any{"mode": "write", "path": path}, "x"); err == nil || !strings.Contains(err.Error(), "ead-only") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if s := p.Stats(); s.Replaced != 0 && !portable() { // there nothing tells which files are open
		t.Errorf("%+v", s)
	}
}

// Grants that mean nothing are refused, and so is a file system without a root.
func TestFSMountGrants(t *testing.T) {
	for _, g := range []host.FileGrant{
		{FS: files(), Host: "/tmp", Guest: "/docs"}, {FS: files(), Guest: "/docs", Mode: host.ModeRW}, {FS: files(), Guest: "/docs", Quota: 1},
		{FS: files(), Guest: "docs"},
	} {
		if err := (host.Grants{Files: []host.FileGrant{g}}).Check(); !errors.Is(err, host.ErrConfig) {
			t.Errorf("%+v: %v", g, err)
		}
	}
	h := newHost(t, host.Config{})
	for name, broken := range map[string]fs.FS{
		"error": openFunc(func(string) (fs.File, error) { return nil, fs.ErrPermission }),
		"panic": openFunc(func(string) (fs.File, error) { panic("root") }),
	} {
		_, err := h.Load(t.Context(), fixture(t, "foreign-file").Spec, host.PluginConfig{WASI: true, Grants: host.Grants{Files: []host.FileGrant{{FS: broken, Guest: "/docs"}}}})
		if !errors.Is(err, host.ErrFolder) || !strings.Contains(err.Error(), "grants.files[0].fs") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type openFunc func(name string) (fs.File, error)

func (f openFunc) Open(name string) (fs.File, error) { return f(name) }

// reader loads the foreign guest that reads files, and returns what has it read one.
func reader(t *testing.T, files fs.FS, limits host.Limits) (*host.Plugin, func(name string) (string, error)) {
	t.Helper()
	p := load(t, newHost(t, host.Config{}), "foreign-file", host.PluginConfig{WASI: true, Limits: limits, State: host.StateReset,
		Grants: host.Grants{Files: []host.FileGrant{{FS: files, Guest: "/"}}}})
	return p, func(name string) (string, error) {
		r, err := p.Call(t.Context(), "read", []byte(name))
		if err != nil {
			return "", err
		}
		return string(r.Output), nil
	}
}

// hostile are files whose methods do what fail does.
type hostile struct {
	fstest.MapFS
	fail func(method string)
}

func (h hostile) Open(name string) (fs.File, error) {
	h.fail("open")
	f, err := h.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	return hostileFile{f, h.fail}, nil
}

type hostileFile struct {
	fs.File
	fail func(method string)
}

func (h hostileFile) ReadDir(n int) ([]fs.DirEntry, error) { return h.File.(fs.ReadDirFile).ReadDir(n) }

func (h hostileFile) Stat() (fs.FileInfo, error) {
	h.fail("stat")
	return h.File.Stat()
}

func (h hostileFile) Read(b []byte) (int, error) {
	h.fail("read")
	n, err := h.File.Read(b)
	return n, err
}

func (h hostileFile) Close() error {
	h.fail("close")
	return h.File.Close()
}

// Whatever a file system does, it is an error of the guest's call, or its end in time, and
// the instance serves on. What is left behind writes to no guest, and its files are closed.
func TestHostileFSMount(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"open", "stat", "read", "close"} {
		for how, fail := range map[string]func(chan struct{}){
			"panic":  func(chan struct{}) { panic("files") },
			"goexit": func(chan struct{}) { runtime.Goexit() },
			"slow":   func(release chan struct{}) { <-release },
		} {
			t.Run(method+"/"+how, func(t *testing.T) {
				release := make(chan struct{})
				var bad atomic.Bool
				var opened, closed atomic.Int32
				files := hostile{files(), func(m string) {
					if bad.Load() && m == method {
						fail(release)
					}
					if m == "stat" { // of each that was opened
						opened.Add(1)
					}
					if m == "close" {
						closed.Add(1)
					}
				}}
				p, read := reader(t, files, host.Limits{Instances: 1, Timeout: await.Patience, BreakAfter: -1})
				bad.Store(true)
				began := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				if how == "slow" {
					ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
				}
				_, err := p.Call(ctx, "read", []byte("a.txt"))
				cancel()
				if (err == nil) != (method == "close" && how != "slow") || time.Since(began) > badLimit {
					t.Errorf("error %v after %v", err, time.Since(began))
				}
				if how == "slow" {
					checkReason(t, err, abi.ReasonTimeout)
				}
				bad.Store(false)
				close(release)
				for range 3 {
					if got, err := read("a.txt"); err != nil || got != "inside" {
						t.Errorf("%q, error %v afterwards", got, err)
					}
				}
				if s := p.Stats(); s.OK < 3 || s.InUse != 0 {
					t.Errorf("%+v", s)
				}
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if how == "slow" {
					for began := time.Now(); opened.Load() != closed.Load(); time.Sleep(time.Millisecond) {
						if time.Since(began) > badLimit {
							t.Fatalf("%d files are opened, %d closed", opened.Load(), closed.Load())
						}
					}
				}
			})
		}
	}
}

// Open files of it are bounded like others.
func TestFSMountOpenFiles(t *testing.T) {
	m := files()
	for i := range 300 {
		m[fmt.Sprintf("many/%03d", i)] = &fstest.MapFile{Data: []byte("x")}
	}
	p := loadAllops(t, newHost(t, host.Config{}), host.PluginConfig{Grants: host.Grants{Files: []host.FileGrant{{FS: m, Guest: "/docs"}}}, Limits: host.Limits{Instances: 1}})
	_, err := runFind(t, p, map[string]any{"mode": "hoard", "path": "/docs/many", "word": ""}, "")
	if err == nil || !strings.Contains(err.Error(), "oo many open files") {
		t.Errorf("opens 300 files: %v", err)
	}
	if got, err := runFind(t, p, map[string]any{"mode": "file", "path": "/docs/a.txt"}, ""); err != nil || got[0] != "inside" {
		t.Errorf("%q, error %v afterwards", got, err)
	}
}

// Guests of several calls read it at the same time.
func TestFSMountAtOnce(t *testing.T) {
	p, read := reader(t, files(), host.Limits{Instances: 4})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if got, err := read("sub/b.txt"); err != nil || got != "below" {
					t.Errorf("%q, error %v", got, err)
				}
			}
		})
	}
	all.Wait()
	if s := p.Stats(); s.OK != 400 {
		t.Errorf("%+v", s)
	}
}

// statModule is a guest that returns the error number of what it learns of its first mount:
//
//	(func (export "stat") (result i32) (call $fd_filestat_get (i32.const 3) (i32.const 0)))
const statModule = "\x00asm\x01\x00\x00\x00" +
	"\x01\x0b\x02\x60\x02\x7f\x7f\x01\x7f\x60\x00\x01\x7f" +
	"\x02\x2a\x01\x16wasi_snapshot_preview1\x0ffd_filestat_get\x00\x00" +
	"\x03\x02\x01\x01" +
	"\x05\x03\x01\x00\x01" +
	"\x07\x11\x02\x06memory\x02\x00\x04stat\x00\x01" +
	"\x0a\x0a\x01\x08\x00\x41\x03\x41\x00\x10\x00\x0b"

// If a call that has not returned has a file of an instance, here the mount itself, another
// instance takes its place.
func TestInstanceOfAbandonedFileIsReplaced(t *testing.T) {
	release := make(chan struct{})
	var hang, hangs atomic.Bool
	files := hostile{files(), func(method string) {
		if method == "stat" && hang.Load() {
			hangs.Store(true)
			<-release
		}
	}}
	s, err := spec.Read("stat", []byte(statModule), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newHost(t, host.Config{}).Load(t.Context(), s, host.PluginConfig{WASI: true, State: host.StateReset,
		Limits: host.Limits{Instances: 1, Timeout: badLimit, BreakAfter: -1}, Grants: host.Grants{Files: []host.FileGrant{{FS: files, Guest: "/"}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer close(release)
	for n, slow := range []bool{false, true, false, false} {
		hang.Store(slow)
		if !slow {
			if _, err := p.Call(t.Context(), "stat", nil); err != nil {
				t.Errorf("call %d: %v", n, err)
			}
		} else if !await.Enough(100*time.Millisecond, func(limit time.Duration) bool {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			_, err := p.Call(ctx, "stat", nil)
			checkReason(t, err, abi.ReasonTimeout)
			return hangs.Load()
		}) {
			t.Error("the file system is not asked")
		}
	}
	if s := p.Stats(); s.Made != 2 {
		t.Errorf("%d instances were made, want 2", s.Made)
	}
}
