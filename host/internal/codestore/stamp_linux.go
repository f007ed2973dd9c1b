package codestore

import (
	"io/fs"
	"syscall"
)

// StampOf returns the stamp of a file, all zeros where the system does not say.
func StampOf(info fs.FileInfo) Stamp {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Stamp{}
	}
	return Stamp{int64(s.Dev), int64(s.Ino), s.Ctim.Nano()}
}
