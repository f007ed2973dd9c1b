package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// The rows serve, ingest and registry attack the command as it is built. It runs in a control
// group, so that it ends as it would in a container, and not the machine.

// groupMemory is what commands may take together.
const groupMemory = 1 << 30

// controllers are where the kernel bounds the memory of groups, in its two versions.
var controllers = []struct{ root, limit string }{
	{"/sys/fs/cgroup", "memory.max"},
	{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
}

// newGroup makes a control group and returns its folder, "" where this process may not make one.
// Then the tool itself looks at the memory of commands.
func newGroup() string {
	for _, c := range controllers {
		dir := filepath.Join(c.root, fmt.Sprintf("anchor-attacks-%d", os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		limit, err := os.OpenFile(filepath.Join(dir, c.limit), os.O_WRONLY, 0) // a folder that is no group has no such file
		if err == nil {
			_, err = fmt.Fprint(limit, groupMemory)
			_ = limit.Close()
		}
		if err == nil {
			return dir
		}
		_ = os.Remove(dir)
	}
	return ""
}

// output is what a command has written so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String returns what was written.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// command is the command while it runs.
type command struct {
	cmd            *exec.Cmd
	stdout, stderr output
	began          time.Time
	peak           atomic.Int64
	// ended is closed when it has ended; what is below is set by then.
	ended  chan struct{}
	took   time.Duration
	work   time.Duration // of processors
	killed string        // why it was killed, "" if it was not
}

// start runs the command in a folder.
func (s *suite) start(ctx context.Context, dir string, args ...string) (*command, error) {
	argv := append([]string{s.binary()}, args...)
	if s.group != "" { // a shell enters the group and becomes the command, so nothing of it runs outside
		argv = append([]string{"/bin/sh", "-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(s.group, "cgroup.procs")}, argv...)
	}
	c := &command{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), ended: make(chan struct{})}
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = dir, &c.stdout, &c.stderr
	c.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	c.began = time.Now()
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the command: %w (make build makes it)", err)
	}
	go c.watch(ctx)
	return c, nil
}

func (s *suite) binary() string { return filepath.Join(s.root, "build", "anchor-host") }

// watch looks at the memory of the command until it ends.
func (c *command) watch(ctx context.Context) {
	defer close(c.ended)
	waited := make(chan error, 1)
	go func() { waited <- c.cmd.Wait() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	tooMuch := ""
	for {
		select {
		case <-tick.C:
			if n := c.look(); n > groupMemory && tooMuch == "" {
				tooMuch = "killed with " + mebibytes(n)
				_ = c.cmd.Process.Kill() // an error means that it has ended already
			}
			continue
		case <-waited:
		}
		break
	}
	c.took, c.work = time.Since(c.began), c.cmd.ProcessState.UserTime()+c.cmd.ProcessState.SystemTime()
	status, _ := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case tooMuch != "":
		c.killed = tooMuch
	case ctx.Err() != nil:
		c.killed = "ended after " + short(c.took).String()
	case status.Signaled():
		c.killed = fmt.Sprintf("killed by the kernel (%s)", status.Signal())
	}
	// What the kernel counted has what came after the last look, but also what this tool had when
	// it made the process.
	own, _ := statusBytes("self", "VmHWM")
	if use, ok := c.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && use.Maxrss<<10 > own {
		c.peak.Store(max(c.peak.Load(), use.Maxrss<<10))
	}
}

// look notes the peak of the memory, and returns it.
func (c *command) look() int64 {
	n, err := statusBytes(strconv.Itoa(c.cmd.Process.Pid), "VmHWM")
	if err == nil {
		c.peak.Store(max(c.peak.Load(), n))
	}
	return n
}

// alive reports whether the command runs.
func (c *command) alive() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// stop ends the command and waits for that. The kill is the tool's own.
func (c *command) stop() {
	_ = c.cmd.Process.Kill() // an error means that it has ended already
	<-c.ended
}

// run runs the command for so long at most, and returns it when it has ended.
func (s *suite) run(ctx context.Context, limit time.Duration, dir string, args ...string) (*command, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := s.start(ctx, dir, args...)
	if err != nil {
		return nil, err
	}
	<-c.ended
	return c, nil
}

// prepare makes the folder and the control group of commands. The function that it returns removes
// them.
func (s *suite) prepare() (clean func()) {
	var err error
	if s.dir, err = os.MkdirTemp("", "anchor-attacks-"); err != nil {
		fmt.Fprintln(s.stderr, "attacks:", err)
		return func() {}
	}
	if s.group = newGroup(); s.group == "" {
		fmt.Fprintln(s.stderr, "attacks: no control group can be made here, so the tool itself looks at the memory of commands")
	}
	return func() {
		_ = os.RemoveAll(s.dir)
		if s.group != "" {
			_ = os.Remove(s.group) // it is empty: all commands have ended
		}
	}
}
