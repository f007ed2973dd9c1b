//go:build linux || darwin || freebsd

package doctorcmd

import "syscall"

// freeBytes returns how many bytes this user can write to the disk that has the path.
func freeBytes(path string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // the types differ by system
}
