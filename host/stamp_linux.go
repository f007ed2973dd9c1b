package host

import (
	"io/fs"
	"syscall"
)

// stamp tells versions of a file apart beyond its size and time, which whoever
// changes it may set: which file it is, and when that was changed in any way.
func stamp(info fs.FileInfo) [2]int64 {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return [2]int64{}
	}
	return [2]int64{int64(s.Ino), s.Ctim.Nano()}
}
