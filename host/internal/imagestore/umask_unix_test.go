//go:build unix

package imagestore

import "syscall"

func init() { syscall.Umask(0o022) } // folders that a group can write to would be refused
