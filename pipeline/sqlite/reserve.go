package sqlite

import (
	"errors"
	"io/fs"
	"os"
)

// A deletion needs room, because it first writes its changes to the log. For a full disk, a
// reserve file next to the store keeps some room. A deletion that finds no room removes it.

// reserveSuffix is added to the name of a store to name its reserve file.
const reserveSuffix = "-reserve"

// keepReserve makes the reserve file unless it exists. If there is not enough room, there is
// none.
func (s *Store) keepReserve() {
	name := s.path + reserveSuffix
	if info, err := os.Lstat(name); err == nil && info.Size() >= s.opts.Reserve || s.opts.Reserve <= 0 {
		return
	}
	if err := writeReserve(name, s.opts.Reserve); err != nil && !errors.Is(err, fs.ErrExist) {
		_ = os.Remove(name) // a part of it serves nobody
	}
}

// writeReserve makes a file of the given size and syncs it to the disk.
func writeReserve(name string, size int64) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, size))
	if err == nil {
		err = f.Sync() // some file systems say only now that there is no room
	}
	return errors.Join(err, f.Close())
}

// FreeReserve removes the reserve file of the store at path, see [Options], and reports
// whether there was one.
func FreeReserve(path string) bool { return os.Remove(path+reserveSuffix) == nil }
