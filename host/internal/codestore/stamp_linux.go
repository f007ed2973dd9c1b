package codestore

import (
	"io/fs"
	"syscall"
)

// StampOf returns the stamp of a file. It is zero if the system does not report one.
func StampOf(info fs.FileInfo) Stamp {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Stamp{}
	}
	return Stamp{int64(s.Dev), int64(s.Ino), s.Ctim.Nano()}
}
