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

// Each attack runs in its own process. An attack that succeeds then does not kill the tool,
// and the peak of the memory is that of one attack.

// jobVariable makes this program, when it starts itself, run one attack.
const jobVariable = "ANCHOR_ATTACKS_JOB"

// job is the task of a child process.
type job struct {
	Role string `json:"role"`
	Root string `json:"root"`
	// Bomb and N select a module. Deadline is that of Load or of a call, 0 for none.
	Bomb     string        `json:"bomb,omitempty"`
	N        int           `json:"n,omitempty"`
	Deadline time.Duration `json:"deadline,omitempty"`
	// Length is the length of one phase.
	Length time.Duration `json:"length,omitempty"`
	// Dir is for what commands write, Group their control group. Alone has the process in a network
	// of its own, which has no other machines.
	Dir   string `json:"dir,omitempty"`
	Group string `json:"group,omitempty"`
	Alone bool   `json:"alone,omitempty"`
}

// outcome is the result of a job.
type outcome struct {
	// Took is the time of the attack, and Other how long another caller had to wait.
	Took  time.Duration `json:"took"`
	Other time.Duration `json:"other,omitempty"`
	// Peak is the largest memory of the process, in bytes.
	Peak int64 `json:"peak"`
	// Error is the error of the host. Refused means that it refused the module as too large.
	Error   string `json:"error,omitempty"`
	Refused bool   `json:"refused,omitempty"`
	// Killed is why the tool killed the process, "" if it did not.
	Killed string       `json:"killed,omitempty"`
	Fair   *fairFigures `json:"fair,omitempty"`
	Pulls  []pulled     `json:"pulls,omitempty"`
}

// The limits of a child process. The tool kills a child that exceeds one, and judges the
// figures up to then.
const (
	killMemory = 1600 << 20
	killTime   = 30 * time.Second
)

// roles are the functions of child processes.
var roles = map[string]func(context.Context, job) (outcome, error){
	"load": loadBomb, "deadline": loadBombInTime, "call": callBomb,
	"answer": answerAttack, "burst": burst, "fair": fair, "registry": registryAttacks,
}

// serve runs the job in the environment, if there is one.
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

// attack runs a job in a child process.
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
	if j.Alone {
		cmd.SysProcAttr = alone()
	}
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
	if err != nil { // the process died by itself: the attack has succeeded
		text := strings.TrimSpace(stderr.String())
		return outcome{}, fmt.Errorf("%s %s: %w: %.300s", j.Role, j.Bomb, err, text)
	}
	var out outcome
	return out, json.Unmarshal([]byte(stdout.String()), &out)
}

// watchMemory kills the process when its memory exceeds the limit.
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
			_ = p.Kill() // an error means that it has ended already
			return fmt.Sprintf("ended with %s", mebibytes(n))
		}
	}
}

// statusBytes reads a size from the status file of a process.
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

// settle frees the memory that preparing an attack needed, and resets the peak.
func settle() {
	runtime.GC()
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // without this, the peak includes the preparation
}

// descriptors returns the number of open files of this process.
func descriptors() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
