//go:build unix

package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An interruption ends every command that waits for its input, whether stdin or a
// named pipe that nobody writes to.
func TestInterruptedWhileReading(t *testing.T) {
	dir := write(t, map[string]string{"ok.yaml": "counting: {tokenizer: words}\n"})
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	module, err := filepath.Abs(filepath.Join(fixtureDir, "spin-forever", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"build -c ok.yaml -", "build --request -", "build --items - q", "build --items FIFO q", "build --query-file FIFO",
		"build --request FIFO", "config validate -c FIFO", "plugin call MODULE run --input-file -",
		"plugin call MODULE run --input-file FIFO", "assemble", "assemble FIFO", "memory import --store s.db -",
		"memory add --store s.db -",
	} {
		t.Run(line, func(t *testing.T) {
			args := strings.Fields(strings.NewReplacer("FIFO", fifo, "MODULE", module).Replace(line))
			stdin := &never{reached: make(chan struct{}), end: t.Context()}
			ctx, cancel := context.WithCancel(t.Context())
			exit := make(chan int, 1)
			go func() { exit <- doMain(ctx, args, stdin, io.Discard, io.Discard) }()
			if !strings.Contains(line, "FIFO") {
				<-stdin.reached
			}
			cancel()
			select {
			case code := <-exit:
				if code != codeInterrupted {
					t.Errorf("exit code %d, want %d", code, codeInterrupted)
				}
			case <-time.After(patience):
				t.Fatal("still running")
			}
		})
	}
}

// never is an input that does not come until the test ends.
type never struct {
	reached chan struct{}
	end     context.Context
}

func (n *never) Read([]byte) (int, error) {
	close(n.reached)
	<-n.end.Done()
	return 0, io.EOF
}

// The program itself: the first signal ends it with 130 while it reads stdin.
func TestSignal(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		state := signalled(t, sig, 1, "main", "build", "-")
		if state.ExitCode() != codeInterrupted {
			t.Errorf("%v: %v, want exit code %d", sig, state, codeInterrupted)
		}
	}
}

// Another signal ends a program that does not heed the first.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	const enough = 1000
	state := signalled(t, syscall.SIGINT, enough, "stubborn")
	if status, ok := state.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("%v, want an end by SIGINT", state)
	}
}

// childMode says what this test program does in the place of testing.
const childMode = "ANCHOR_HOST_TEST_CHILD"

// init makes this test program the child of one of its tests.
func init() {
	mode := os.Getenv(childMode)
	if mode == "" {
		return
	}
	ctx := signalContext()
	_, _ = os.Stdout.WriteString("ready\n")
	if mode == "stubborn" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(codeOK)
	}
	os.Exit(doMain(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// signalled starts a child, sends it up to times signals, and returns how it
// ended. Its stdin stays open.
func signalled(t *testing.T, sig os.Signal, times int, mode string, args ...string) *os.ProcessState {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), childMode+"="+mode)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("child: %q, %v", line, err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }() // the state says how it ended
	for range times {
		_ = cmd.Process.Signal(sig) // fails only once it has ended
		select {
		case <-ended:
			return cmd.ProcessState
		case <-time.After(20 * time.Millisecond):
		}
	}
	<-ended
	return cmd.ProcessState
}
