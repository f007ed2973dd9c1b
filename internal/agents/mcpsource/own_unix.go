//go:build unix

package mcpsource

import (
	"os/exec"
	"syscall"
)

// own gives a server a group of its own, so that what it starts ends with it, and an interrupt of the terminal does
// not reach it.
func own(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// kill ends a server and what it has started.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // it may have ended
