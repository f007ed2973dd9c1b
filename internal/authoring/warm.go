package authoring

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Warm keeps a compiler running between the builds of a project. Those of AssemblyScript and Java take most of
// their time to start: a build with the compiler of the build before takes a fifth of the time. The
// zero value is ready. Close ends the compiler.
type Warm struct {
	mu       sync.Mutex
	compiler *warmCompiler
}

// Close ends the compiler, if one runs. A later build starts a new one.
func (w *Warm) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
}

func (w *Warm) end() {
	if w.compiler != nil {
		w.compiler.stop()
	}
	w.compiler = nil
}

// warmScript compiles with AssemblyScript what lines on its standard input ask for.
//
//go:embed warm.mjs
var warmScript string

// warmCompiler is a process that has a compiler loaded. It reads a line for each build, a folder and arguments,
// and writes a line: 0, or 1 after a failure, and the messages. The parts are encoded as in addresses.
type warmCompiler struct {
	process []string
	in      io.WriteCloser
	out     *bufio.Reader
	stop    func()
}

// errWarm means that the compiler cannot be kept running, so that a command has to do.
var errWarm = errors.New("the compiler cannot be kept running")

// maxWarmReply bounds the answer to a request, in bytes.
const maxWarmReply = 4 << 20

// compile compiles in a process that stays, and returns what the compiler wrote and whether it failed. The
// error wraps errWarm if a command has to do.
func (w *Warm) compile(ctx context.Context, c Command) (said string, failed bool, err error) {
	process, args, err := c.warm()
	if err != nil {
		return "", false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.compiler != nil && !slices.Equal(w.compiler.process, process) {
		w.end()
	}
	if w.compiler == nil {
		if w.compiler, err = startWarm(process); err != nil {
			return "", false, fmt.Errorf("%w: %w", errWarm, err)
		}
	}
	// A compiler that does not answer in time is ended, and so is one that breaks off.
	done := context.AfterFunc(ctx, w.compiler.stop)
	said, failed, err = w.compiler.ask(append([]string{c.Dir}, args...))
	if !done() || err != nil {
		w.end()
	}
	if err := ctx.Err(); err != nil {
		return "", false, err
	}
	if err != nil {
		return "", false, fmt.Errorf("%w: %w", errWarm, err)
	}
	return said, failed, nil
}

// ascLibrary returns the path of the compiler as a library, from that of its command.
func ascLibrary(asc string) (string, error) {
	real, err := filepath.EvalSymlinks(asc)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errWarm, err)
	}
	library := filepath.Join(filepath.Dir(filepath.Dir(real)), "dist", "asc.js")
	if _, err := os.Stat(library); err != nil {
		return "", fmt.Errorf("%w: %w", errWarm, err)
	}
	return library, nil
}

func startWarm(process []string) (*warmCompiler, error) {
	cmd := exec.Command(process[0], process[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := sync.OnceFunc(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed, so the error says nothing
	})
	return &warmCompiler{process: process, in: in, out: bufio.NewReaderSize(out, 64<<10), stop: stop}, nil
}

// runWarm runs a command in a compiler that stays, and reports whether it did. It did not if the
// build keeps none, if the command is none of those, or if the compiler broke off.
func (j *job) runWarm(ctx context.Context, limit time.Duration, c Command) (done bool, err error) {
	if c.warm == nil || j.options.Warm == nil {
		return false, nil
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	said, failed, err := j.options.Warm.compile(limited, c)
	switch {
	case errors.Is(err, errWarm):
		return false, nil
	case ctx.Err() != nil:
		return true, ctx.Err()
	case err != nil:
		return true, tooLong(c, limit, err)
	case !failed:
		return true, nil
	}
	if j.options.Messages != nil {
		_, err = io.WriteString(j.options.Messages, said)
	}
	if err == nil {
		err = fmt.Errorf("%s: makes no module (see its messages above)", c.Name())
	}
	return true, err
}

// ask sends a request and reads the answer, one line each.
func (w *warmCompiler) ask(parts []string) (said string, failed bool, err error) {
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(url.QueryEscape(part), "+", "%20")
	}
	if _, err := io.WriteString(w.in, strings.Join(parts, " ")+"\n"); err != nil {
		return "", false, err
	}
	var answer []byte
	for more := true; more; {
		var part []byte
		if part, more, err = w.out.ReadLine(); err != nil {
			return "", false, err
		}
		if answer = append(answer, part...); len(answer) > maxWarmReply {
			return "", false, errors.New("its answer is too long")
		}
	}
	verdict, encoded, _ := strings.Cut(string(answer), " ")
	if verdict != "0" && verdict != "1" {
		return "", false, errors.New("its answer is none")
	}
	said, err = url.QueryUnescape(encoded)
	return said, verdict == "1", err
}
