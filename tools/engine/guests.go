package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// guests are the modules to call. Those in Go are built with stock Go when they are first
// needed. Small ones in other languages are committed next to their source, so that
// measuring needs no other toolchain.
type guests struct {
	root string

	mu    sync.Mutex
	built map[string][]byte
}

// goGuest builds a package of the repository with stock Go.
func (g *guests) goGuest(ctx context.Context, pkg string) ([]byte, error) {
	out := filepath.Join(g.root, "build", "engine", strings.ReplaceAll(pkg, "/", "-")+".wasm")
	return g.once(pkg, func() ([]byte, error) {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "./"+pkg)
		cmd.Dir = g.root
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
		if msg, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, msg)
		}
		return os.ReadFile(out)
	})
}

// plugin builds the plugin of a folder, and reads its manifest.
func (g *guests) plugin(ctx context.Context, folder string) (wasm, manifest []byte, err error) {
	if wasm, err = g.goGuest(ctx, folder); err == nil {
		manifest, err = os.ReadFile(filepath.Join(g.root, folder, "plugin.yaml"))
	}
	return wasm, manifest, err
}

// committed reads a module of testdata/engine.
func (g *guests) committed(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(g.root, "testdata", "engine", name))
}

// javaScript links a script with the QuickJS engine, using node and the packages that
// tools/toolchains/js.sh installs. It reuses the result of an earlier run that is newer than
// its sources.
func (g *guests) javaScript(ctx context.Context) ([]byte, error) {
	out := g.programsJS()
	return g.once(out, func() ([]byte, error) {
		if g.linkedJavaScript() {
			return os.ReadFile(out)
		}
		cmd := exec.CommandContext(ctx, "node", g.sourceJS("build.mjs"), filepath.Dir(g.quickJS()), out)
		if msg, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("link programs.js with QuickJS: %w\n%s", err, msg)
		}
		return os.ReadFile(out)
	})
}

// linkedJavaScript reports whether an earlier run has linked the current script.
func (g *guests) linkedJavaScript() bool {
	return newer(g.programsJS(), g.sourceJS("build.mjs"), g.sourceJS("programs.js"))
}

func (g *guests) programsJS() string {
	return filepath.Join(g.root, "build", "engine", "programs.js.wasm")
}

func (g *guests) sourceJS(name string) string {
	return filepath.Join(g.root, "testdata", "engine", "programs", "js", name)
}

// quickJS returns the path of the engine's package.
func (g *guests) quickJS() string {
	return filepath.Join(g.root, "build", "_toolchains", "npm", "node_modules", "quickjs-wasi")
}

// newer reports whether a file exists and is newer than its sources.
func newer(file string, sources ...string) bool {
	made, err := os.Stat(file)
	if err != nil {
		return false
	}
	for _, source := range sources {
		if info, err := os.Stat(source); err != nil || info.ModTime().After(made.ModTime()) {
			return false
		}
	}
	return true
}

// once builds a module only once and remembers it.
func (g *guests) once(key string, build func() ([]byte, error)) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if wasm, ok := g.built[key]; ok {
		return wasm, nil
	}
	if err := os.MkdirAll(filepath.Join(g.root, "build", "engine"), 0o755); err != nil {
		return nil, err
	}
	wasm, err := build()
	if err != nil {
		return nil, err
	}
	if g.built == nil {
		g.built = map[string][]byte{}
	}
	g.built[key] = wasm
	return wasm, nil
}
