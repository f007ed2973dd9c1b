package host

import (
	"io/fs"
	"syscall"
)

// stampOf returns the stamp of a file, all zeros where the system does not say.
func stampOf(info fs.FileInfo) stamp {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}
	}
	return stamp{int64(s.Dev), int64(s.Ino), s.Ctim.Nano()}
}
