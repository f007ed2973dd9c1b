//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

// isolate makes a program run in a group of its own, and as nobody for root.
func isolate(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() != 0 {
		return
	}
	if u, err := user.Lookup("nobody"); err == nil {
		uid, _ := strconv.ParseUint(u.Uid, 10, 32)
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
}

// quit tells a server to end at once, and to remove what it has in shared memory.
func quit(p *os.Process) { _ = p.Signal(syscall.SIGQUIT) }

// family is a process and its children. Those of a server have groups of their own.
func family(pid int) []int {
	list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) // none elsewhere
	pids := []int{pid}
	for _, field := range strings.Fields(string(list)) {
		if child, err := strconv.Atoi(field); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

func signal(pids []int, s syscall.Signal) {
	for _, p := range pids {
		_ = syscall.Kill(p, s) // it may have ended
	}
}

// pause stops a process and its children.
func pause(pid int) (resume func()) {
	pids := family(pid)
	signal(pids, syscall.SIGSTOP)
	return func() { signal(pids, syscall.SIGCONT) }
}

// killAll kills a process and its children, and waits until these are gone: a new server refuses to start
// beside them.
func killAll(pid int) {
	pids := family(pid)
	_ = syscall.Kill(pid, syscall.SIGSTOP) // it makes no more
	signal(append(pids, family(pid)...), syscall.SIGKILL)
	for _, p := range pids[1:] {
		await.True(func() bool { return syscall.Kill(p, 0) != nil })
	}
}
