package codestore

import (
	"fmt"
	"io"
	"os"
)

// ownFolder makes a folder where there is none and returns its place, if nobody but the
// user can change what lies in it.
func ownFolder(dir string) (string, error) {
	place, err := checkPath(dir) // first, so that nothing is made in a folder of others
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

// readOwn reads a regular file of the user's of at most limit bytes. Nothing else is
// read or waited for.
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

// OpenOwn opens a regular file of the user's that nobody else can write to, to read it.
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
