package codestore

import (
	"fmt"
	"io"
	"os"
)

// NewPrefix begins the names of files and folders that are being made. [Prune] ignores them.
const NewPrefix = "new-"

// ownFolder makes a folder if it does not exist, and returns its path without symbolic links.
// It fails if anybody but the user can change the content of the folder.
func ownFolder(dir string) (string, error) {
	place, err := checkPath(dir) // before anything is made in a folder of somebody else
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(place, 0o700); err != nil {
		return "", fmt.Errorf("%w (name a folder that can be written)", err)
	}
	if place, err = checkPath(place); err != nil {
		return "", err
	}
	info, err := os.Lstat(place)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", place)
	}
	if err == nil {
		err = CheckOwn(place, info)
	}
	return place, err
}

// readOwn reads a file with OpenOwn. It fails if the file has more than limit bytes.
func readOwn(path string, limit int64) ([]byte, error) {
	f, err := OpenOwn(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return b, err
}

// OpenOwn opens a file for reading. It fails unless the file is a regular file that belongs to
// the user and that nobody else can write to. It does not wait, for example at a pipe.
func OpenOwn(path string) (*os.File, error) {
	f, err := openNoWait(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err == nil {
		err = CheckOwn(path, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
