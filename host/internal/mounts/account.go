package mounts

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"
	"syscall"

	"github.com/tetratelabs/wazero/sys"
)

// errFull is the error of a change for which the folder has no room.
var errFull = errors.New("the quota of the folder is used up")

// Folders are the folders of a host to which plugins may write. All mounts of one folder
// share one account of it, so that what one plugin adds counts for the others. The zero value
// has none. It is safe for concurrent use.
type Folders struct {
	mu   sync.Mutex
	list []*account
}

// account is what a folder holds: what was there when it was first mounted, and what plugins
// changed since. Changes by other programs count only when it is mounted anew.
type account struct {
	info fs.FileInfo
	// mounts is the number of mounts that use it.
	mounts int

	// mu is held for each change of the folder, so that the sizes before and after belong
	// to one change.
	mu sync.Mutex
	// counting has a value while enter runs, which only one may.
	counting chan struct{}
	// counted is the limit up to which entries were counted, 0 before the first count.
	counted int64
	// bytes is the total size of its files. files is the number of all entries below it,
	// folders and links included.
	bytes, files int64
	// open counts for each file how often guests have it open. A file that is removed takes
	// its room until it is closed.
	open map[fileID]int
}

// fileID identifies a file. It is zero where the system has no such numbers.
type fileID struct{ dev, ino uint64 }

// enter returns the account of the folder of a root. It counts what is in the folder, a few
// entries beyond most and no further, as the mount allows no more than most. With 0 it counts
// nothing. The caller must leave the folder, even after an error.
func (f *Folders) enter(ctx context.Context, root *os.Root, info fs.FileInfo, most int64) (*account, error) {
	d := f.find(info)
	select { // mu is held as long as another one counts
	case d.counting <- struct{}{}:
		defer func() { <-d.counting }()
	case <-ctx.Done():
		return d, ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if most == 0 || d.counted >= most || d.counted > 0 && d.files <= d.counted {
		return d, nil
	}
	d.bytes, d.files = 0, 0
	if err := d.count(ctx, root, most); err != nil {
		return d, err
	}
	d.counted = max(most, 1)
	return d, nil
}

// find returns the account of a folder, and makes one if there is none.
func (f *Folders) find(info fs.FileInfo) *account {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.list, func(d *account) bool { return os.SameFile(d.info, info) })
	if i < 0 {
		i = len(f.list)
		f.list = append(f.list, &account{info: info, open: map[fileID]int{}, counting: make(chan struct{}, 1)})
	}
	f.list[i].mounts++
	return f.list[i]
}

// leave ends the use of a folder by one mount.
func (f *Folders) leave(d *account) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d.mounts--; d.mounts == 0 {
		f.list = slices.DeleteFunc(f.list, func(other *account) bool { return other == d })
	}
}

// listed is how many entries of a directory are read at a time, as it may have any number.
const listed = 256

// count adds up what is below a root. It does not look into a directory that cannot be
// read.
func (d *account) count(ctx context.Context, root *os.Root, most int64) error {
	dirs := []string{"."}
	for len(dirs) > 0 && d.files <= most {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		f, err := root.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		for d.files <= most && err == nil {
			var entries []fs.DirEntry
			if entries, err = f.ReadDir(listed); ctx.Err() != nil {
				err = ctx.Err()
			}
			dirs = append(dirs, d.add(dir, entries)...)
		}
		_ = f.Close()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// add counts entries and returns the directories among them.
func (d *account) add(dir string, entries []fs.DirEntry) (dirs []string) {
	d.files += int64(len(entries))
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, path.Join(dir, e.Name()))
		} else if info, err := e.Info(); err == nil {
			d.bytes += fileSize(info)
		}
	}
	return dirs
}

// grow accounts for a change. The totals do not fall below 0: a plugin may remove files
// that others made after the count.
func (d *account) grow(bytes, files int64) {
	d.bytes, d.files = max(0, d.bytes+bytes), max(0, d.files+files)
}

// opened notes that a guest has opened a file, and returns its fileID for closed.
func (d *account) opened(info fs.FileInfo) fileID {
	id := idOf(info)
	if id.ino != 0 {
		d.open[id]++
	}
	return id
}

// closed notes that a guest is about to close a file with the state info. The last one to
// close a removed file gives its room back.
func (d *account) closed(id fileID, info fs.FileInfo, err error) {
	if id.ino == 0 {
		return
	}
	if d.open[id]--; d.open[id] > 0 {
		return
	}
	delete(d.open, id)
	if err == nil && sys.NewStat_t(info).Nlink == 0 {
		d.grow(-fileSize(info), 0)
	}
}

// removed notes that an entry is gone. A file still takes its room if it has another name,
// or if a guest has it open.
func (d *account) removed(info fs.FileInfo) {
	size := fileSize(info)
	if sys.NewStat_t(info).Nlink > 1 || d.open[idOf(info)] > 0 {
		size = 0
	}
	d.grow(-size, -1)
}

func idOf(info fs.FileInfo) fileID {
	st := sys.NewStat_t(info)
	return fileID{st.Dev, st.Ino}
}

// fileSize is the size of a regular file, 0 for anything else. Holes count, as the guest
// may fill them without making the file longer.
func fileSize(info fs.FileInfo) int64 {
	if info == nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
