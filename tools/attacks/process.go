package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// An attack runs in a process of its own: one that succeeds must not take the tool with
// it, and the peak of its memory is its own.

// jobVariable has this program, started by itself, run one attack.
const jobVariable = "ANCHOR_ATTACKS_JOB"

// job is what a child is to do.
type job struct {
	Role string `json:"role"`
	Root string `json:"root"`
	// Bomb and N name a module. Deadline is that of Load or of a call, 0 for none.
	Bomb     string        `json:"bomb,omitempty"`
	N        int           `json:"n,omitempty"`
	Deadline time.Duration `json:"deadline,omitempty"`
	// Length is that of one phase.
	Length time.Duration `json:"length,omitempty"`
}

// outcome is what became of it.
type outcome struct {
	// Took is what the attack took, Other what a bystander had to wait.
	Took  time.Duration `json:"took"`
	Other time.Duration `json:"other,omitempty"`
	// Peak is the most memory the process had, in bytes.
	Peak int64 `json:"peak"`
	// Error is what the host said. Refused says that it refused the module as too large.
	Error   string `json:"error,omitempty"`
	Refused bool   `json:"refused,omitempty"`
	// Killed says why the process was ended from outside, "" if it was not.
	Killed string       `json:"killed,omitempty"`
	Fair   *fairFigures `json:"fair,omitempty"`
}

// What a child may take before it is ended, which is judged as what it took by then.
const (
	killMemory = 1600 << 20
	killTime   = 30 * time.Second
)

// roles are what children do.
var roles = map[string]func(context.Context, job) (outcome, error){
	"load": loadBomb, "deadline": loadBombInTime, "call": callBomb,
	"answer": answerAttack, "burst": burst, "fair": fair,
}

// serve does what the environment asks for, if it does.
func serve(ctx context.Context) (handled bool, status int) {
	text := os.Getenv(jobVariable)
	if text == "" {
		return false, 0
	}
	var j job
	var out outcome
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		out, err = roles[j.Role](ctx, j)
	}
	if err == nil {
		out.Peak, err = statusBytes("self", "VmHWM")
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return true, 1
	}
	return true, 0
}

// attack runs a job in a child.
func attack(ctx context.Context, j job, env ...string) (outcome, error) {
	self, err := os.Executable()
	if err != nil {
		return outcome{}, err
	}
	data, err := json.Marshal(j)
	if err != nil {
		return outcome{}, err
	}
	limit := killTime + 6*j.Length
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(append(os.Environ(), jobVariable+"="+string(data)), env...)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return outcome{}, err
	}
	watched := make(chan string, 1)
	done := make(chan struct{})
	go func() { watched <- watchMemory(cmd.Process, done) }()
	err = cmd.Wait()
	close(done)
	killed := <-watched
	if killed == "" && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		killed = fmt.Sprintf("ended after %s", limit)
	}
	if killed != "" {
		out := outcome{Took: time.Since(began), Killed: killed}
		if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			out.Peak = use.Maxrss << 10
		}
		return out, nil
	}
	if err != nil { // the process died by itself: this is what the attacks are for
		text := strings.TrimSpace(stderr.String())
		return outcome{}, fmt.Errorf("%s %s: %w: %.300s", j.Role, j.Bomb, err, text)
	}
	var out outcome
	return out, json.Unmarshal([]byte(stdout.String()), &out)
}

// watchMemory ends the process when it has more memory than it may.
func watchMemory(p *os.Process, done <-chan struct{}) string {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return ""
		case <-tick.C:
		}
		if n, err := statusBytes(strconv.Itoa(p.Pid), "VmRSS"); err == nil && n > killMemory {
			_ = p.Kill() // it may have ended just now
			return fmt.Sprintf("ended with %s", mebibytes(n))
		}
	}
}

// statusBytes reads a size that the system knows of a process.
func statusBytes(pid, key string) (int64, error) {
	data, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/%s/status has no %s", pid, key)
}

// settle gives back what was needed to prepare an attack, and has its peak counted from
// here.
func settle() {
	runtime.GC()
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // where it cannot be done, the peak counts all
}

// descriptors is how many files this process has open.
func descriptors() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
