//go:build unix

package authoring

import (
	"os/exec"
	"syscall"
)

// killChildren makes the end of a command's context also end the processes that it started, such
// as a compiler of a build tool.
func killChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
