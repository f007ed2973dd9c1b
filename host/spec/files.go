package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// readBounded reads a regular file of at most limit bytes.
func readBounded(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := openRegular(root, name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	defer f.Close()
	return readOpen(f, name, limit)
}

// openRegular opens a regular file for reading. It does not wait for the writer of a pipe,
// and does not open a device.
func openRegular(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// readOpen reads at most limit bytes of a file.
func readOpen(f *os.File, name string, limit int64) ([]byte, error) {
	var buf bytes.Buffer
	if info, err := f.Stat(); err == nil && info.Size() <= limit {
		buf.Grow(int(info.Size()) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(io.LimitReader(f, limit+1))
	b := buf.Bytes()
	switch {
	case err != nil:
		return nil, unreadable(name, err)
	case int64(len(b)) > limit:
		return nil, fmt.Errorf("%s: %w (at most %d bytes)", name, ErrTooLarge, limit)
	}
	return b, nil
}

// openFolder opens a directory as a root. The dot at the end makes the system refuse
// anything else at once. Without it, opening a pipe would wait for a writer.
func openFolder(name string) (*os.Root, error) {
	return os.OpenRoot(name + string(filepath.Separator) + ".")
}

// unreadable is the error of a file of the plugin directory that cannot be read.
func unreadable(name string, err error) error {
	return fmt.Errorf("%s: read: %w (it must be a readable file inside the plugin directory)", name, cause(err))
}

// cause removes the operation and path from a file error. The caller names them better.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
