//go:build unix

package host_test

import "syscall"

func makePipe(path string) error { return syscall.Mkfifo(path, 0o644) }
