//go:build unix

package codestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks bounds the symbolic links in a path, as the system does.
const maxLinks = 40

// The remedies in error texts if others can change a file or folder.
const (
	ownerRemedy = "use a folder of the user's own, below folders of that user or of root"
	modeRemedy  = "chmod go-w it, or use another folder"
)

// checkPath follows a path as the system does and checks each folder and symbolic link on the
// way: no other user except root may be able to replace it. It returns the path without
// symbolic links. Parts of the path that do not exist are not checked.
func checkPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	at, links := "/", 0
	info, err := os.Lstat(at)
	if err == nil {
		err = checkAbove(at, info)
	}
	if err != nil {
		return "", err
	}
	for rest := split(path); len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return filepath.Join(append([]string{next}, rest...)...), nil
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", fmt.Errorf("%s: more than %d symbolic links", path, maxLinks)
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", err
			}
			if filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(split(target), rest...)
		case !info.IsDir():
			return "", fmt.Errorf("%s is no folder", next)
		default:
			if err := checkAbove(next, info); err != nil {
				return "", err
			}
			at = next
			continue
		}
		if owner := ownerOf(info); owner != 0 && owner != os.Geteuid() { // of the link
			return "", notOwned(next, owner)
		}
	}
	return at, nil
}

// split returns the elements of a path.
func split(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '/' })
}

// checkAbove checks a folder on the way. It accepts a sticky folder that others can write to:
// only owners can replace a file there, and the next element of the path is checked as well.
func checkAbove(path string, info fs.FileInfo) error {
	if owner := ownerOf(info); owner != 0 && owner != os.Geteuid() {
		return notOwned(path, owner)
	}
	if info.Mode()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return writable(path, info)
	}
	return nil
}

// CheckOwn checks that a file or folder belongs to the user, and that nobody else can write to
// it. path is for the text of the error.
func CheckOwn(path string, info fs.FileInfo) error {
	if owner := ownerOf(info); owner != os.Geteuid() {
		return notOwned(path, owner)
	}
	if info.Mode()&0o022 != 0 {
		return writable(path, info)
	}
	return nil
}

// checkSecret checks that nobody else can read a file.
func checkSecret(path string, info fs.FileInfo) error {
	if info.Mode()&0o077 != 0 {
		return fmt.Errorf("%s can be read by others: its mode is %04o", path, info.Mode().Perm())
	}
	return nil
}

func notOwned(path string, owner int) error {
	return fmt.Errorf("%s belongs to user %d, and this process is of user %d (%s)", path, owner, os.Geteuid(), ownerRemedy)
}

func writable(path string, info fs.FileInfo) error {
	return fmt.Errorf("%s can be written by others: its mode is %04o (%s)", path, info.Mode().Perm(), modeRemedy)
}

// ownerOf returns the id of the user who owns a file, -1 if the system does not report it.
func ownerOf(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}

// openNoWait opens a file for reading. It does not wait for a writer of a pipe, and does not
// follow a symbolic link.
func openNoWait(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
}
