// Package atomicfile writes files that are there whole or not at all. What it wrote is on the
// disk before it gets its name, so a power cut leaves the file before or the one after.
package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the file with data, see [Replace].
func Write(path string, mode fs.FileMode, data []byte) error {
	return Replace(path, mode, bytesWriter(data))
}

// Replace replaces the file with what write writes. The new file keeps the mode and the owner of
// the one before; mode is that of a file that was not there. If Replace fails, the file before
// is as it was. The error is that of write, or one of the file system.
func Replace(path string, mode fs.FileMode, write func(io.Writer) error) error {
	temp, err := Stage(path, mode, write)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// Create writes a file that is not there yet. The error is [fs.ErrExist] if there is one.
func Create(path string, mode fs.FileMode, data []byte) error {
	temp, err := Stage(path, mode, bytesWriter(data))
	if err != nil {
		return err
	}
	defer os.Remove(temp) // the link is another name of it
	if err := os.Link(temp, path); err == nil || errors.Is(err, fs.ErrExist) {
		syncFolder(filepath.Dir(path))
		return err
	}
	return os.Rename(temp, path) // a file system without links: the last one wins
}

// Stage writes the file beside its place, under a name that begins with a dot, for a caller that
// renames several files together. The caller renames or removes it.
func Stage(path string, mode fs.FileMode, write func(io.Writer) error) (temp string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	err = write(f)
	if err == nil {
		err = likeBefore(f, path, mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name()) // the first error is the one to report
		return "", err
	}
	return f.Name(), nil
}

// likeBefore gives the new file the mode and the owner of the one that it replaces. Only an
// administrator can give a file to another owner. For others this is an error if the owner
// could then not read the file.
func likeBefore(f *os.File, path string, mode fs.FileMode) error {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm()
		if err := giveTo(f, info); err != nil && mode&0o004 == 0 {
			return fmt.Errorf("%s: keep its owner: %w", path, err)
		}
	}
	return f.Chmod(mode)
}

func bytesWriter(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(data))
		return err
	}
}

// syncFolder makes a renaming survive a power cut, where the file system can.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync() // the file itself is on the disk
		_ = d.Close()
	}
}
