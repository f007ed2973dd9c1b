//go:build linux || darwin || freebsd

package doctorcmd

import "syscall"

// freeBytes is the room for this user on the disk of a file or folder.
func freeBytes(path string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // the types differ by system
}
