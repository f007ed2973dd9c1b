//go:build !unix

package pgtest

import (
	"os"
	"os/exec"
)

// isolate does nothing here.
func isolate(*exec.Cmd) {}

// quit ends a server.
func quit(p *os.Process) { _ = p.Kill() }

// pause does nothing here.
func pause(int) (resume func()) { return func() {} }

// killAll kills a process.
func killAll(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
