package sqlite

import (
	"errors"
	"io/fs"
	"os"
)

// A deletion needs room too: what it changes goes into the log first. So that one can make
// room on a full disk, a file beside the store holds some, and is given up for it.

// reserveSuffix names the file that holds the reserve of a store.
const reserveSuffix = "-reserve"

// keepReserve makes the reserve, unless it is there. Without room there is none.
func (s *Store) keepReserve() {
	name := s.path + reserveSuffix
	if info, err := os.Lstat(name); err == nil && info.Size() >= s.opts.Reserve || s.opts.Reserve <= 0 {
		return
	}
	if err := writeReserve(name, s.opts.Reserve); err != nil && !errors.Is(err, fs.ErrExist) {
		_ = os.Remove(name) // a part of it serves nobody
	}
}

// writeReserve makes a file with all its bytes on the disk.
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

// FreeReserve gives the reserve of the store in a file up, see [Options], and reports
// whether there was one.
func FreeReserve(path string) bool { return os.Remove(path+reserveSuffix) == nil }
