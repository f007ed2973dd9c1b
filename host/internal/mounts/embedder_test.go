package mounts

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/wazerox/experimentalsys"
)

// scripted is a call whose time is over as soon as over is set. What the embedder's code
// would return after that, finish passes on.
type scripted struct {
	over     bool
	late     []func()
	patience []time.Duration
}

var errLate = errors.New("did not return in time")

func (c *scripted) Run(f func() (any, error), late func(any)) (any, bool, error) {
	if !c.over {
		v, err := f()
		return v, false, err
	}
	c.late = append(c.late, func() {
		v, err := f()
		if err != nil {
			v = nil
		}
		if late != nil {
			late(v)
		}
	})
	return nil, true, errLate
}

func (c *scripted) Close(f func() error, patience time.Duration) bool {
	c.patience = append(c.patience, patience)
	if !c.over {
		_ = f()
	}
	return c.over
}

func (c *scripted) finish() {
	for _, f := range c.late {
		f()
	}
	c.late, c.over = nil, false
}

// counting counts the files that are open.
type counting struct {
	fstest.MapFS
	open *int
}

type countedFile struct {
	fs.ReadDirFile
	open *int
}

func (c counting) Open(name string) (fs.File, error) {
	f, err := c.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	*c.open++
	if d, ok := f.(fs.ReadDirFile); ok {
		return countedFile{d, c.open}, nil
	}
	return countedFile{plainFile{f}, c.open}, nil
}

// plainFile is a file that is no directory.
type plainFile struct{ fs.File }

func (plainFile) ReadDir(int) ([]fs.DirEntry, error) { return nil, fs.ErrInvalid }

func (f countedFile) Close() error {
	*f.open--
	return f.ReadDirFile.Close()
}

// embedded is a mount of a file system with one file, and how many files it has open.
func embedded(call Call) (m *embedderFS, open *int) {
	g := NewGuest(call, new(logged))
	open = new(int)
	files := counting{fstest.MapFS{"a": {Data: []byte("text")}}, open}
	return &embedderFS{files: files, guest: &g, budget: newBudget(&counter{limit: 100})}, open
}

// A file that a call has which did not return is lost for the guest, and is closed when the
// call returns. A file whose opening was not awaited is closed too.
func TestAbandonedFiles(t *testing.T) {
	call := new(scripted)
	m, open := embedded(call)
	f, errno := m.OpenFile("a", experimentalsys.O_RDONLY, 0)
	if errno != 0 || *open != 1 || m.guest.Open() != 1 {
		t.Fatalf("errno %v, %d open, %d of the guest", errno, *open, m.guest.Open())
	}
	call.over = true
	if _, errno := m.OpenFile("a", experimentalsys.O_RDONLY, 0); errno == 0 || m.guest.Abandoned() {
		t.Errorf("opened late: errno %v, abandoned %t", errno, m.guest.Abandoned())
	}
	buf := []byte("none")
	if n, errno := f.Read(buf); errno == 0 || n != 0 || !m.guest.Abandoned() {
		t.Errorf("read %d late: errno %v, abandoned %t", n, errno, m.guest.Abandoned())
	}
	call.finish()
	if *open != 0 || string(buf) != "none" {
		t.Errorf("%d files are open, the guest reads %q", *open, buf)
	}
	if _, errno := f.Read(buf); errno != experimentalsys.EBADF {
		t.Errorf("read again: %v", errno)
	}
	if errno := f.Close(); errno != 0 || m.guest.Open() != 0 || m.budget.own.used.Load() != 0 || len(call.patience) != 0 {
		t.Errorf("close: %v, %d open, %d of the plugin, closed %d times", errno, m.guest.Open(), m.budget.own.used.Load(), len(call.patience))
	}
}

// Nobody waits for a second file that cannot be closed once the time is over.
func TestSlowClosing(t *testing.T) {
	call := new(scripted)
	m, _ := embedded(call)
	var files []experimentalsys.File
	for range 3 {
		f, errno := m.OpenFile("a", experimentalsys.O_RDONLY, 0)
		if errno != 0 {
			t.Fatal(errno)
		}
		files = append(files, f)
	}
	call.over = true
	for _, f := range files {
		f.Close()
	}
	if p := call.patience; len(p) != 3 || p[0] != closePatience || p[1] != 0 || p[2] != 0 {
		t.Errorf("patience %v", p)
	}
}

// A mount of the embedder cannot be changed, and has the bound of open files of the plugin.
func TestEmbedderFS(t *testing.T) {
	m, open := embedded(new(scripted))
	for what, errno := range map[string]experimentalsys.Errno{
		"mkdir": m.Mkdir("d", 0), "rename": m.Rename("a", "b"), "unlink": m.Unlink("a"), "rmdir": m.Rmdir("a"), "times": m.Utimens("a", 0, 0),
	} {
		if errno != experimentalsys.EROFS {
			t.Errorf("%s: %v", what, errno)
		}
	}
	if _, errno := m.OpenFile("a", experimentalsys.O_RDWR, 0); errno != experimentalsys.EROFS {
		t.Errorf("open to write: %v", errno)
	}
	if _, errno := m.OpenFile("a", experimentalsys.O_DIRECTORY, 0); errno != experimentalsys.ENOTDIR || *open != 0 {
		t.Errorf("open as a directory: %v, %d open", errno, *open)
	}
	for m.budget.Take() == nil {
	}
	if _, errno := m.OpenFile("a", experimentalsys.O_RDONLY, 0); errno == 0 || m.guest.TakeErrno() != TooManyFiles {
		t.Errorf("open with too many files: %v", errno)
	}
}
