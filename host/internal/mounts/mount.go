package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/internal/errkind"
)

// ErrFolder marks a granted folder that cannot be opened.
var ErrFolder = errors.New("folder cannot be opened")

// Grant states one mount.
type Grant struct {
	// Key is where the grant is stated, such as "grants.files[0]", for errors and logs.
	Key string
	// Guest is the absolute path inside the guest, such as "/docs", without "." and "..".
	Guest string
	// Host is the folder outside.
	Host string
	// FS is mounted instead of a folder, read-only. nil: Host is mounted.
	FS fs.FS
	// Writable says that the guest may change the folder.
	Writable bool
	// Quota is the most bytes that the files in the folder may have, MaxFiles the most
	// files and folders in it. Both hold if Writable is true.
	Quota, MaxFiles int64
}

// mount is one mount of a plugin.
type mount struct {
	Grant
	// root is the folder, nil for a file system of the embedder. Every access goes through
	// it, so neither ".." nor a link leads out of the folder.
	root *os.Root
	// path and info are the folder that the grant named when it was opened.
	path string
	info fs.FileInfo
	// account is what the folder holds, nil unless it is writable.
	account *account
	// budget counts the open files of the plugin.
	budget *Budget
}

// checkRoot checks that the root of a file system is a directory.
func checkRoot(files fs.FS) error {
	info, err := fs.Stat(files, ".")
	if err == nil && !info.IsDir() {
		err = errors.New("its root is not a directory")
	}
	return err
}

// OpenFolder opens a directory as a root. The dot at the end makes the system refuse
// anything else at once. Without it, opening a pipe would wait for a writer.
func OpenFolder(name string) (*os.Root, error) {
	return os.OpenRoot(name + string(filepath.Separator) + ".")
}

// CheckFolder checks that the folder of a grant can be opened. key is where the grant is
// stated, for the error, which wraps [ErrFolder].
func CheckFolder(key, name string) error {
	root, err := OpenFolder(name)
	if err != nil {
		return folderError(key, name, err)
	}
	_ = root.Close()
	return nil
}

// folderError is the error of the folder of a grant, with the remedy.
func folderError(key, name string, err error) error {
	err = cause(err)
	info, statErr := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errkind.As(ErrFolder, errkind.As(err, fmt.Errorf("%s.host: %s does not exist (create it or fix the path)", key, name)))
	case statErr == nil && !info.IsDir():
		return errkind.As(ErrFolder, errkind.As(err, fmt.Errorf("%s.host: %s is not a directory (name a folder)", key, name)))
	}
	return errkind.As(ErrFolder, fmt.Errorf("%s.host: open %s: %w (the folder must be readable)", key, name, err))
}

// cause is the error of the system in an error of package os, which repeats the path.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// counted is how many entries of the folder have to be counted before guests may write to it:
// none if nothing bounds the folder.
func (m *mount) counted() int64 {
	if m.Quota == math.MaxInt64 && m.MaxFiles == math.MaxInt64 {
		return 0
	}
	return m.MaxFiles
}
