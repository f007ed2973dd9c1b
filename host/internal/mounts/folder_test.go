package mounts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/host/internal/wazerox/experimentalsys"
)

// logged is a guest's log.
type logged struct{ lines []string }

func (l *logged) Line(_, message string) bool {
	l.lines = append(l.lines, message)
	return true
}

// last is the last message, "" if there is none.
func (l *logged) last() string {
	if len(l.lines) == 0 {
		return ""
	}
	return l.lines[len(l.lines)-1]
}

// granted are the mounts of a plugin with the grant of one folder.
func granted(t *testing.T, folders *Folders, g Grant) *Set {
	t.Helper()
	g.Key = "grants.files[0]"
	s := new(Set)
	t.Cleanup(s.Close)
	if err := s.Open(t.Context(), []Grant{g}, Options{Folders: folders, Budget: newBudget(&counter{limit: 10_000})}); err != nil {
		t.Fatal(err)
	}
	return s
}

// seen is the folder of a plugin as a new guest sees it.
func seen(s *Set) (*folderFS, *logged) {
	log := new(logged)
	g := NewGuest(nil, log)
	return &folderFS{mount: s.list[0], guest: &g}, log
}

// refusedFor checks that a change was refused because the folder is full.
func refusedFor(t *testing.T, m *folderFS, what string, errno experimentalsys.Errno) {
	t.Helper()
	if n := m.guest.TakeErrno(); errno == 0 || n != QuotaExceeded {
		t.Errorf("%s: errno %v, in place of which the guest gets %d, want it refused with %d", what, errno, n, QuotaExceeded)
	}
}

func create(t *testing.T, m *folderFS, name string) experimentalsys.File {
	t.Helper()
	f, errno := m.OpenFile(name, experimentalsys.O_RDWR|experimentalsys.O_CREAT, 0o666)
	if errno != 0 {
		t.Fatalf("%s: %v", name, errno)
	}
	return f
}

func done0(t *testing.T, what string, errno experimentalsys.Errno) {
	t.Helper()
	if errno != 0 {
		t.Errorf("%s: %v", what, errno)
	}
}

// found is what a directory holds, as the quota counts it.
func found(t *testing.T, dir string) (bytes, files int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		files++
		if info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes, files
}

// A folder grows up to its quota, by whatever call, and no further; what is removed
// gives room.
func TestFolderQuota(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "old"), make([]byte, 400), 0o600); err != nil {
		t.Fatal(err)
	}
	m, log := seen(granted(t, new(Folders), Grant{Host: dir, Guest: "/d", Writable: true, Quota: 1000, MaxFiles: 4}))
	f := create(t, m, "new")
	_, errno := f.Write(make([]byte, 601))
	refusedFor(t, m, "write", errno)
	if log.last() != "files: /d is full: it may hold 1000B (grants.files[0].quota)" {
		t.Errorf("log %q", log.lines)
	}
	refusedFor(t, m, "truncate", f.Truncate(1<<40))
	_, errno = f.Pwrite([]byte("x"), 1<<40)
	refusedFor(t, m, "pwrite", errno)
	_, errno = f.Pwrite([]byte("x"), 1<<63-1)
	refusedFor(t, m, "pwrite at the end of numbers", errno)
	if _, errno := f.Seek(1<<40, io.SeekStart); errno != 0 {
		t.Error(errno)
	}
	_, errno = f.Write([]byte("x"))
	refusedFor(t, m, "write far out", errno)
	_, errno = f.Pwrite(make([]byte, 600), 0)
	done0(t, "the rest", errno)
	_, errno = f.Pwrite(make([]byte, 600), 0)
	done0(t, "the same again", errno)
	a, errno := m.OpenFile("new", experimentalsys.O_WRONLY|experimentalsys.O_APPEND, 0)
	done0(t, "append", errno)
	_, errno = a.Write([]byte("x"))
	refusedFor(t, m, "append", errno)
	done0(t, "shrink", f.Truncate(100))
	_, errno = a.Write(make([]byte, 500))
	done0(t, "append what was cut", errno)
	done0(t, "unlink", m.Unlink("old"))
	done0(t, "grow", f.Truncate(1000))
	refusedFor(t, m, "grow", f.Truncate(1001))
	// An open file takes its room when it has no name any more.
	done0(t, "unlink open", m.Unlink("new"))
	g := create(t, m, "next")
	_, errno = g.Write([]byte("x"))
	refusedFor(t, m, "write beside a removed file", errno)
	done0(t, "close", f.Close())
	_, errno = g.Write([]byte("x"))
	refusedFor(t, m, "write beside a removed file that is open once", errno)
	done0(t, "close", a.Close())
	_, errno = g.Write(make([]byte, 1000))
	done0(t, "write", errno)
	// O_TRUNC gives room, and what a rename replaces.
	again, errno := m.OpenFile("next", experimentalsys.O_RDWR|experimentalsys.O_CREAT|experimentalsys.O_TRUNC, 0o666)
	done0(t, "empty", errno)
	_, errno = again.Write(make([]byte, 1000))
	done0(t, "fill", errno)
	empty := create(t, m, "empty")
	done0(t, "close", max(empty.Close(), again.Close(), g.Close()))
	done0(t, "rename", m.Rename("empty", "next"))
	if bytes, files := found(t, dir); bytes != m.account.bytes || files != m.account.files || bytes != 0 || files != 1 || len(m.account.open) != 0 {
		t.Errorf("%d bytes in %d files, counted %+v", bytes, files, m.account)
	}
}

// The number of files is bounded, whatever they are, and files are not made by being
// opened again.
func TestFolderMaxFiles(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{os.Mkdir(filepath.Join(dir, "sub"), 0o700), os.WriteFile(filepath.Join(dir, "sub", "a"), nil, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	m, log := seen(granted(t, new(Folders), Grant{Host: dir, Guest: "/d", Writable: true, Quota: 1 << 30, MaxFiles: 4}))
	done0(t, "mkdir", m.Mkdir("b", 0))
	done0(t, "close", create(t, m, "c").Close())
	done0(t, "close", create(t, m, "c").Close())
	_, errno := m.OpenFile("d", experimentalsys.O_WRONLY|experimentalsys.O_CREAT, 0o666)
	refusedFor(t, m, "create", errno)
	refusedFor(t, m, "mkdir", m.Mkdir("d", 0))
	if log.last() != "files: /d is full: it may hold 4 files and folders (grants.files[0].max_files)" {
		t.Errorf("log %q", log.lines)
	}
	done0(t, "rename to itself", m.Rename("c", "c"))
	done0(t, "rename", m.Rename("c", "sub/c"))
	refusedFor(t, m, "mkdir", m.Mkdir("d", 0))
	if errno := m.Rmdir("sub"); errno == 0 {
		t.Error("a folder with files is gone")
	}
	done0(t, "rmdir", m.Rmdir("b"))
	done0(t, "mkdir", m.Mkdir("d", 0))
	done0(t, "rename over a file", m.Rename("sub/c", "sub/a"))
	done0(t, "mkdir", m.Mkdir("e", 0))
	refusedFor(t, m, "mkdir", m.Mkdir("f", 0))
	if _, files := found(t, dir); files != 4 || m.account.files != 4 {
		t.Errorf("%d files, counted %d", files, m.account.files)
	}
}

// A folder that is over its quota when it is mounted is not counted to the end, and can
// be read, rewritten and emptied.
func TestFolderOverQuota(t *testing.T) {
	dir := t.TempDir()
	for i := range 2000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, _ := seen(granted(t, new(Folders), Grant{Host: dir, Guest: "/d", Writable: true, MaxFiles: 10, Quota: 10}))
	if m.account.files <= 10 || m.account.files > 10+listed {
		t.Errorf("counted %d", m.account.files)
	}
	refusedFor(t, m, "mkdir", m.Mkdir("f", 0))
	f := create(t, m, "1")
	_, errno := f.Write([]byte("TEXT"))
	done0(t, "rewrite", errno)
	done0(t, "close", f.Close())
	done0(t, "unlink", m.Unlink("1"))
	refusedFor(t, m, "mkdir", m.Mkdir("f", 0))
}

// Mounts of one folder share its room, also of two plugins, and instances that work at
// the same time lose no count, in whatever order their calls come.
func TestFolderRaces(t *testing.T) {
	dir := t.TempDir()
	const quota, most = 200_000, 12
	g, shared := Grant{Host: dir, Guest: "/d", Writable: true, Quota: quota, MaxFiles: most}, new(Folders)
	sets := []*Set{granted(t, shared, g), granted(t, shared, g)}
	held := sets[0].list[0].account
	if sets[1].list[0].account != held {
		t.Fatal("two plugins count one folder apart")
	}
	var wg sync.WaitGroup
	for i := range 8 {
		m, _ := seen(sets[i%2])
		wg.Go(func() {
			scrawl(m, rand.New(rand.NewPCG(uint64(i), 1)), func(bytes, files int64) {
				if bytes > quota || files > most {
					t.Errorf("%d bytes in %d files", bytes, files)
				}
			})
		})
	}
	wg.Wait()
	if bytes, files := found(t, dir); bytes != held.bytes || files != held.files || len(held.open) != 0 {
		t.Errorf("%d bytes in %d files, counted %d in %d, %d open", bytes, files, held.bytes, held.files, len(held.open))
	}
}

// scrawl changes a folder at random through handles that overlap.
func scrawl(m *folderFS, r *rand.Rand, check func(bytes, files int64)) {
	names := []string{"a", "b", "c", "s", "s/a", "s/b"}
	var open []experimentalsys.File
	for range 4000 {
		name, other := names[r.IntN(len(names))], names[r.IntN(len(names))]
		switch r.IntN(9) {
		case 0:
			flag := experimentalsys.O_RDWR | []experimentalsys.Oflag{0, experimentalsys.O_CREAT, experimentalsys.O_CREAT | experimentalsys.O_TRUNC, experimentalsys.O_APPEND, experimentalsys.O_TRUNC}[r.IntN(5)]
			if f, errno := m.OpenFile(name, flag, 0o666); errno == 0 {
				open = append(open, f)
			}
		case 1:
			m.Unlink(name)
		case 2:
			m.Rename(name, other)
		case 3:
			m.Mkdir(name, 0)
		case 4:
			m.Rmdir(name)
		default:
			if len(open) > 0 {
				i := r.IntN(len(open))
				if use(open[i], r) {
					open = append(open[:i], open[i+1:]...)
				}
			}
		}
		m.account.mu.Lock()
		check(m.account.bytes, m.account.files)
		m.account.mu.Unlock()
	}
	for _, f := range open {
		f.Close()
	}
}

// use changes a file, and reports whether it closed it.
func use(f experimentalsys.File, r *rand.Rand) (closed bool) {
	switch r.IntN(5) {
	case 0:
		f.Close()
		return true
	case 1:
		f.Truncate(r.Int64N(60_000))
	case 2:
		f.Pwrite(make([]byte, r.IntN(30_000)), r.Int64N(60_000))
	case 3:
		f.Seek(r.Int64N(60_000), io.SeekStart)
	default:
		f.Write(make([]byte, r.IntN(30_000)))
	}
	return false
}

// A granted folder that is a pipe, a file or not there is an error at once, with the
// remedy.
func TestFolderAtLoad(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"file": "is not a directory (name a folder)", "none": "does not exist (create it or fix the path)"}
	if runtime.GOOS != "windows" {
		if err := makePipe(filepath.Join(dir, "pipe")); err != nil {
			t.Fatal(err)
		}
		want["pipe"] = want["file"]
	}
	for name, text := range want {
		var s Set
		budget := newBudget(&counter{limit: 100})
		err := s.Open(t.Context(), []Grant{{Key: "grants.files[0]", Host: filepath.Join(dir, name), Guest: "/d"}}, Options{Budget: budget})
		s.Close()
		if err == nil || !strings.HasSuffix(err.Error(), text) || !strings.HasPrefix(err.Error(), "grants.files[0].host: ") || !errors.Is(err, ErrFolder) || budget.process.used.Load() != 0 {
			t.Errorf("%s: %v, %d descriptors", name, err, budget.process.used.Load())
		}
		if err := CheckFolder("grants.files[1]", filepath.Join(dir, name)); err == nil || !strings.HasPrefix(err.Error(), "grants.files[1].host: ") || !errors.Is(err, ErrFolder) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A granted folder that vanishes, or is exchanged for another, stops the calls that come
// after.
func TestFolderSwapped(t *testing.T) {
	base := t.TempDir()
	dir, away := filepath.Join(base, "docs"), filepath.Join(base, "away")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := granted(t, new(Folders), Grant{Host: dir, Guest: "/d"})
	check := func(want string) {
		t.Helper()
		err := s.Check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrFolder)) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	check("")
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return os.Rename(dir, away) }, "docs was removed: "},
		{func() error { return os.Mkdir(dir, 0o700) }, "docs is not the folder that was there when the plugin was loaded"},
		{func() error { return os.Remove(dir) }, "docs was removed: "},
		{func() error { return os.Symlink(away, dir) }, ""},
		{func() error { return os.Remove(dir) }, "docs was removed: "},
		{func() error { return makePipe(dir) }, "docs is not the folder"},
		{func() error { return errors.Join(os.Remove(dir), os.Rename(away, dir)) }, ""},
	} {
		if err := step.do(); err != nil {
			t.Skip("this system does not do that:", err)
		}
		check(step.want)
	}
}

// Without a bound, what is in a folder is not counted: Load does not walk through it.
func TestFolderWithoutABoundIsNotCounted(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folders := new(Folders)
	m, _ := seen(granted(t, folders, Grant{Host: dir, Guest: "/d", Writable: true, Quota: math.MaxInt64, MaxFiles: math.MaxInt64}))
	if m.account.counted != 0 || m.account.files != 0 {
		t.Errorf("counted %d, %d files", m.account.counted, m.account.files)
	}
	done0(t, "remove", m.Unlink("a"))
	bounded, log := seen(granted(t, folders, Grant{Host: dir, Guest: "/e", Writable: true, Quota: 1 << 20, MaxFiles: 1}))
	_, errno := bounded.OpenFile("c", experimentalsys.O_WRONLY|experimentalsys.O_CREAT, 0o666)
	refusedFor(t, bounded, "create", errno)
	if bounded.account.files != 1 {
		t.Errorf("%d files are counted for a mount with bounds; %q", bounded.account.files, log.lines)
	}
}
