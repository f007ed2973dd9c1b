//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// What this test starts is this test program again, under a limit of open files, with the
// folder whose files it opens, the folder of the plugin and a cache.
const (
	childHoards  = "ANCHOR_HOST_TEST_HOARDS"
	childPlugin  = "ANCHOR_HOST_TEST_PLUGIN"
	childCompile = "ANCHOR_HOST_TEST_COMPILED"
)

func init() {
	dir := os.Getenv(childHoards)
	if dir == "" {
		return
	}
	h := hoarders{dir: dir, ctx: context.Background()}
	out, err := h.run()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// hoarders are plugins that keep as many files open as they can.
type hoarders struct {
	dir  string
	ctx  context.Context
	host *host.Host
	spec *spec.Spec
}

// hoarded is what came of them.
type hoarded struct {
	// Errors are those of the hoarders, Read what a neighbor read beside them, Late
	// that of one that was loaded beside them.
	Errors     []string
	Read, Late string
	// Opened is how many files the embedder could open beside them.
	Opened int
}

const ownFiles = 60

func (h *hoarders) load(name string) (*host.Plugin, error) {
	return h.host.Load(h.ctx, h.spec, host.PluginConfig{Name: name, Limits: host.Limits{Timeout: 10 * time.Minute, Instances: 1},
		Grants: host.Grants{Files: []host.FileGrant{{Host: h.dir, Guest: "/docs", Mode: host.ModeRW}}}})
}

// ask has a plugin do something and returns its error, or what it found.
func (h *hoarders) ask(p *host.Plugin, settings map[string]any) string {
	s, err := newStep(p, abi.OpRetrieve, host.OperationOptions{Settings: settings})
	if err != nil {
		return err.Error()
	}
	items, err := s.Run(h.ctx, &abi.Query{}, nil)
	if err != nil {
		return err.Error()
	}
	return items[0].Content
}

func (h *hoarders) run() (out hoarded, err error) {
	if h.spec, err = spec.ReadFile(filepath.Join(os.Getenv(childPlugin), "plugin.wasm")); err != nil {
		return out, err
	}
	if h.host, err = host.New(host.Config{CacheDir: os.Getenv(childCompile)}); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, h.host.Close(h.ctx)) }()
	var plugins []*host.Plugin
	for i := range 7 {
		p, err := h.load(fmt.Sprintf("p%d", i))
		if err != nil {
			return out, err
		}
		plugins = append(plugins, p)
	}
	var wg sync.WaitGroup
	out.Errors = make([]string, 6)
	for i := range out.Errors {
		wg.Go(func() {
			out.Errors[i] = h.ask(plugins[i], map[string]any{"mode": "hoard", "path": "/docs/text", "word": "/docs/hold"})
		})
	}
	if err = h.waitUntilHeld(len(out.Errors)); err == nil {
		out.beside(h, plugins[6])
	}
	err = errors.Join(err, os.Remove(filepath.Join(h.dir, "hold")))
	wg.Wait()
	return out, err
}

// waitUntilHeld waits until n hoarders have what they get. Each makes a folder then.
func (h *hoarders) waitUntilHeld(n int) error {
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		held, err := filepath.Glob(filepath.Join(h.dir, "held-*"))
		if err != nil || len(held) == n {
			return err
		}
	}
	return errors.New("the hoarders do not come to an end")
}

// beside is what happens while the hoarders hold their files.
func (out *hoarded) beside(h *hoarders, neighbor *host.Plugin) {
	out.Read = h.ask(neighbor, map[string]any{"mode": "file", "path": "/docs/text"})
	if late, err := h.load("late"); err != nil {
		out.Late = err.Error()
	} else {
		out.Late = h.ask(late, map[string]any{"mode": "file", "path": "/docs/text"})
	}
	for range ownFiles {
		f, err := os.Open(filepath.Join(h.dir, "text"))
		if err != nil {
			return
		}
		defer f.Close()
		out.Opened++
	}
}

// Plugins that open all files they can leave enough to their neighbors, to those that are
// loaded, and to the embedder, and are told why they get no more.
func TestHoardersOfFiles(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell:", err)
	}
	dir := t.TempDir()
	for _, name := range []string{"text", "hold"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loadAllops(t, newHost(t, host.Config{}), host.PluginConfig{}) // so that the process need not compile it
	cmd := exec.CommandContext(t.Context(), sh, "-c", `ulimit -n 256 && exec "$0"`, os.Args[0])
	cmd.Env = append(os.Environ(), childHoards+"="+dir, childPlugin+"="+allops.dir(t), childCompile+"="+testbuild.CacheDir(t))
	cmd.Stderr = os.Stderr
	answer, err := cmd.Output()
	var got hoarded
	if err == nil {
		err = json.Unmarshal(answer, &got)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, answer)
	}
	for _, e := range got.Errors {
		if !strings.Contains(e, "after 15 files: ") || !strings.Contains(e, "Too many open files") {
			t.Errorf("a hoarder: %s", e)
		}
	}
	if got.Read != "text" || got.Late != "text" || got.Opened != ownFiles {
		t.Errorf("beside them: %+v", got)
	}
}
