package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// errNoNode means that node or npm is not installed.
var errNoNode = errors.New("node and npm are needed (install Node.js 20 or newer)")

// langChain is a node process that measures a round on request.
type langChain struct {
	ask    io.WriteCloser
	answer *bufio.Scanner
	cmd    *exec.Cmd
}

// startLangChain installs the packages of the lock file, unless they are installed, and
// starts node. It also returns the version of the library.
func startLangChain(ctx context.Context, dir string, stderr io.Writer) (*langChain, string, error) {
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			return nil, "", errNoNode
		}
	}
	if err := install(ctx, dir, stderr); err != nil {
		return nil, "", err
	}
	cmd := exec.CommandContext(ctx, "node", "bench.mjs")
	cmd.Dir, cmd.Stderr = dir, stderr
	// Tracing to a service would distort the measurement.
	cmd.Env = append(os.Environ(), "LANGCHAIN_TRACING_V2=false", "LANGSMITH_TRACING=false")
	ask, err := cmd.StdinPipe()
	if err != nil {
		return nil, "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("start node: %w", err)
	}
	l := &langChain{ask: ask, answer: bufio.NewScanner(out), cmd: cmd}
	var hello struct{ Version string }
	if err := l.read(&hello); err != nil {
		l.close()
		return nil, "", err
	}
	return l, hello.Version, nil
}

// install runs npm ci when the installed packages are not those of the lock file.
func install(ctx context.Context, dir string, stderr io.Writer) error {
	lock, err := os.Stat(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	installed, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	if err == nil && !installed.ModTime().Before(lock.ModTime()) {
		return nil
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, stderr, stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("npm ci: %w (it needs the registry once)", err)
	}
	return nil
}

// round asks for a round.
func (l *langChain) round(context.Context) (sample, error) {
	if _, err := fmt.Fprintln(l.ask, roundTime.Milliseconds()); err != nil {
		return sample{}, fmt.Errorf("ask node: %w", err)
	}
	var reply struct {
		Runs      int
		Took, CPU float64 // microseconds
	}
	if err := l.read(&reply); err != nil {
		return sample{}, err
	}
	return sample{runs: max(1, reply.Runs), took: fromMicroseconds(reply.Took), cpu: fromMicroseconds(reply.CPU)}, nil
}

func fromMicroseconds(us float64) time.Duration { return time.Duration(us * float64(time.Microsecond)) }

func (l *langChain) read(v any) error {
	if !l.answer.Scan() {
		return fmt.Errorf("node ended without an answer: %w", errors.Join(l.answer.Err(), io.ErrUnexpectedEOF))
	}
	if err := json.Unmarshal(l.answer.Bytes(), v); err != nil {
		return fmt.Errorf("answer of node: %w", err)
	}
	return nil
}

// close ends node by closing its input.
func (l *langChain) close() {
	_ = l.ask.Close()
	_ = l.cmd.Wait()
}
