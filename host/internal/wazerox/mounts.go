package wazerox

import (
	"errors"
	"io/fs"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
)

// errNoMounts says that file systems cannot be mounted.
var errNoMounts = errors.New("it has no mounts of file systems")

// Mount adds a file system to what a guest sees, at a path of the guest's. It returns nil
// where wazero cannot.
func Mount(cfg wazero.FSConfig, fs sys.FS, path string) wazero.FSConfig {
	if c, ok := cfg.(sysfs.FSConfig); ok {
		return c.WithSysFSMount(fs, path)
	}
	return nil
}

// probeMounts tries out whether file systems can be mounted.
func probeMounts(*lab) error {
	if Mount(wazero.NewFSConfig(), emptyFolder{}, "/") == nil {
		return errNoMounts
	}
	return nil
}

// emptyFolder is a file system of one folder without files.
type emptyFolder struct{ sys.UnimplementedFS }

func (emptyFolder) OpenFile(string, sys.Oflag, fs.FileMode) (sys.File, sys.Errno) {
	return emptyFile{}, 0
}

type emptyFile struct{ sys.UnimplementedFile }

func (emptyFile) IsDir() (bool, sys.Errno) { return true, 0 }

func (emptyFile) Readdir(int) ([]sys.Dirent, sys.Errno) { return nil, 0 }
