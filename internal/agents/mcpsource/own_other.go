//go:build !unix

package mcpsource

import "os/exec"

func own(*exec.Cmd) {}

// kill ends a server.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it may have ended
