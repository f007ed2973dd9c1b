package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// initFile is a file that init writes.
type initFile struct {
	path    string // with slashes, within the folder
	content []byte
}

// in returns where the file is written.
func (f initFile) in(folder string) string { return filepath.Join(folder, filepath.FromSlash(f.path)) }

// present returns the files that are there. It fails if init could not write a file without
// leaving the folder: nothing is written through a symbolic link in it.
func present(folder string, files []initFile) (there []string, err error) {
	for _, f := range files {
		path := f.in(folder)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			if err = linkAbove(folder, path); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, initError(path, "look for the file", err)
		}
		if info.IsDir() {
			return nil, fmt.Errorf("%s: is a folder (move it away, or name another folder for init)", path)
		}
		if err := linkAbove(folder, path); err != nil {
			return nil, err
		}
		there = append(there, path)
	}
	return there, nil
}

// linkAbove fails if one of the folders between folder and path is a symbolic link.
func linkAbove(folder, path string) error {
	for dir := filepath.Dir(path); dir != folder && len(dir) > len(folder) || folder == "." && dir != "."; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s: is a symbolic link, and init writes through none (move it away, or name another folder)", dir)
		}
	}
	return nil
}

// written is what a run of init has made. A run that fails removes it.
type written struct {
	temporary []string // as many as there are files, in their order
	files     []string // those that were not there before
	folders   []string // outermost first
}

// writeAll writes the files under temporary names and then renames them, so that a file is
// either whole or not there. If it fails, it removes what it has made.
func writeAll(folder string, files []initFile) error {
	var w written
	err := w.writeAll(folder, files)
	if err != nil {
		w.remove()
	}
	return err
}

func (w *written) writeAll(folder string, files []initFile) error {
	for _, f := range files {
		path := f.in(folder)
		if err := w.makeFolder(filepath.Dir(path)); err != nil {
			return initError(filepath.Dir(path), "make the folder", err)
		}
		if err := w.writeTemporary(path, f.content); err != nil {
			return initError(path, "write the file", err)
		}
	}
	for i, f := range files {
		path := f.in(folder)
		_, before := os.Lstat(path)
		// A rename replaces a symbolic link itself, not what it leads to.
		if err := os.Rename(w.temporary[i], path); err != nil {
			return initError(path, "write the file", err)
		}
		if before != nil {
			w.files = append(w.files, path)
		}
	}
	return nil
}

func (w *written) makeFolder(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if above := filepath.Dir(dir); above != dir {
		if err := w.makeFolder(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	w.folders = append(w.folders, dir)
	return nil
}

func (w *written) writeTemporary(path string, content []byte) error {
	name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.tmp", filepath.Base(path), os.Getpid()))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	w.temporary = append(w.temporary, name)
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// remove removes what was made. What cannot be removed stays: the error that is reported is the
// one before.
func (w *written) remove() {
	for _, name := range slices.Concat(w.temporary, w.files) {
		_ = os.Remove(name)
	}
	for _, dir := range slices.Backward(w.folders) {
		_ = os.Remove(dir)
	}
}

// initError names the file, what init wanted to do with it, the cause and the remedy.
func initError(path, verb string, err error) error {
	cause := err
	var of *fs.PathError
	if errors.As(err, &of) {
		cause = of.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		cause = link.Err
	}
	remedy := "name another folder"
	switch {
	case errors.Is(err, syscall.ENOSPC):
		remedy = "make room and run init again; it has removed what it wrote"
	case errors.Is(err, fs.ErrPermission):
		remedy = "make the folder writable, or name another one"
	case errors.Is(err, syscall.ENOTDIR):
		remedy = "a part of the path is a file: name a folder"
	}
	return fmt.Errorf("%s: %s: %w (%s)", path, verb, cause, remedy)
}
