package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/pipeline/store/sqlite"
)

// storeFinding looks at the store without making or changing anything.
func storeFinding(ctx context.Context, path string) finding {
	if path == "" {
		var err error
		if path, err = sqlite.DefaultPath(); err != nil {
			return finding{"store", statusWarning, err.Error()}
		}
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if target, err := os.Readlink(path); err == nil {
			return finding{"store", statusProblem, fmt.Sprintf("%s: a symbolic link to %s, which is not there (make that file, or name another one)", path, target)}
		}
		return finding{"store", statusOK, path + " is not there yet: what is first remembered makes it"}
	case err == nil && info.Size() == 0 && info.Mode().IsRegular():
		return finding{"store", statusOK, path + " is empty: what is first remembered makes it a store"}
	}
	schema, err := schemaOf(ctx, path)
	if err != nil {
		return finding{"store", statusProblem, err.Error()}
	}
	detail := fmt.Sprintf("%s, schema %d, %d KiB", path, schema, (info.Size()+1023)>>10)
	if err := writable(path); err != nil {
		return finding{"store", statusWarning, fmt.Sprintf("%s: can only be read: %v (make the file and its folder writable)", detail, err)}
	}
	if info.Mode().Perm()&0o077 != 0 {
		return finding{"store", statusWarning, fmt.Sprintf("%s: others may read it (mode %o; chmod 600)", detail, info.Mode().Perm())}
	}
	return finding{"store", statusOK, detail + ", can be written"}
}

// schemaOf opens a store for reading.
func schemaOf(ctx context.Context, path string) (schema int, err error) {
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return 0, err
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = closed
		}
	}()
	return s.Schema(ctx)
}

// writable tries what a store needs: the file, and files beside it.
func writable(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	f.Close()
	if f, err = os.CreateTemp(filepath.Dir(path), ".doctor-*"); err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}
