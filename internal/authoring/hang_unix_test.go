//go:build unix

package authoring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

// fakeGo puts a script in the place of the toolchain of Go.
func fakeGo(t *testing.T, script string) (project string) {
	t.Helper()
	bin, project := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(bin, "go"):             "#!/bin/sh\n" + script,
		filepath.Join(project, "go.mod"):     "module p\n",
		filepath.Join(project, "main.go"):    "package main\n",
		filepath.Join(project, ManifestFile): "abi: 1\nname: p\nversion: 0.1.0\noperations: {filter: {reads: [text]}}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return project
}

// A toolchain that hangs is ended with its children, and what it wrote is shown.
func TestToolchainThatHangs(t *testing.T) {
	alive := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(alive, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	// The script and its child hold the pipe open.
	project := fakeGo(t, "exec 3>"+alive+"\necho fetching a library\nsleep 1000 & wait\n")
	var messages bytes.Buffer
	for limit := 300 * time.Millisecond; !strings.Contains(messages.String(), "fetching a library"); limit *= 2 {
		if limit > time.Minute {
			t.Fatalf("after %v the toolchain has written %q, want its first line", limit/2, messages.String())
		}
		_, err := Build(t.Context(), BuildOptions{Dir: project, Timeout: limit, Messages: &messages})
		if want := fmt.Sprintf("not done within %v", limit); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) {
			t.Fatalf("error %v, want one with %q", err, want)
		}
	}
	if err := pipe.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(pipe); err != nil {
		t.Errorf("a child of the toolchain is still at work: %v", err)
	}
}

// A toolchain that writes without end does not fill the memory.
func TestToolchainThatWritesMuch(t *testing.T) {
	project := fakeGo(t, "head -c 100000000 /dev/zero\nexit 1\n")
	var messages bytes.Buffer
	if _, err := Build(t.Context(), BuildOptions{Dir: project, Messages: &messages}); err == nil || messages.Len() != maxOutput {
		t.Errorf("%v, %d bytes", err, messages.Len())
	}
}

// A compiler that hangs when it is asked what it can do is ended, and named as the reason.
func TestProbeThatHangs(t *testing.T) {
	defer func(d time.Duration) { probeTime = d }(probeTime)
	probeTime = 300 * time.Millisecond
	bin := t.TempDir()
	clang := filepath.Join(bin, "clang")
	if err := os.WriteFile(clang, []byte("#!/bin/sh\n/bin/sleep 600 &\n/bin/sleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	project := newProject(t, "c", "filter")
	began := time.Now()
	_, err := Build(t.Context(), BuildOptions{Dir: project})
	if want := clang + " --print-targets: not done within 300ms"; !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
	if took := time.Since(began); took > await.Patience {
		t.Errorf("took %v", took)
	}
}

// A compiler that makes no WebAssembly is named as the reason.
func TestCompilerOfAnotherMachine(t *testing.T) {
	bin := t.TempDir()
	clang := filepath.Join(bin, "clang")
	if err := os.WriteFile(clang, []byte("#!/bin/sh\necho x86\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	_, err := Build(t.Context(), BuildOptions{Dir: newProject(t, "c", "filter")})
	if want := clang + " does not make WebAssembly"; !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
}

// A pipe or a device in the place of a file is refused: the first blocks, the second never ends.
func TestPipesAndDevices(t *testing.T) {
	project := fakeGo(t, "exit 1\n")
	pipe := filepath.Join(project, "pipe.wasm")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{pipe, "/dev/zero"} {
		if _, _, err := Pack(t.Context(), module, filepath.Join(project, ManifestFile), project); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("pack %s: %v", module, err)
		}
	}
	for _, file := range []string{pipe, "/dev/zero"} {
		manifest := filepath.Join(project, ManifestFile)
		if err := os.Remove(manifest); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(file, manifest); err != nil {
			t.Fatal(err)
		}
		if _, err := Build(t.Context(), BuildOptions{Dir: project}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("a manifest that is %s: %v", file, err)
		}
	}
}
