package steps_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newHost makes a host that counts words and is closed with the test.
func newHost(t testing.TB, cfg host.Config) *host.Host {
	t.Helper()
	cfg.CacheDir, cfg.Tokenizer = host.CacheOff, pipeline.WordTokenizer()
	cfg.Portable = os.Getenv("ANCHOR_PORTABLE") != ""
	cfg.DefaultLimits.RestAfter = -1 // plugins fail on purpose
	h, err := host.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

// load loads a fixture.
func load(t testing.TB, h *host.Host, name string, cfg host.PluginConfig) *host.Plugin {
	t.Helper()
	entries, err := host.ReadDir(filepath.Join("..", "..", "testdata", "wasm", name))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Err != nil {
		t.Fatalf("%s: %+v", name, entries)
	}
	p, err := h.Load(t.Context(), entries[0].Spec, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// allops is the guest with every operation, built with stock Go, once.
var allops = sync.OnceValues(func() (*host.Spec, error) {
	source := filepath.Join("..", "..", "testdata", "guests", "allops")
	dir, err := os.MkdirTemp("", "anchor-host-steps-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "allops.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, ".")
	cmd.Dir, cmd.Env = source, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return nil, errors.New(string(msg))
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	manifest, err := os.ReadFile(filepath.Join(source, "plugin.yaml"))
	if err != nil {
		return nil, err
	}
	return host.ReadSpec("allops", wasm, manifest)
})

func allopsSpec(t testing.TB) *host.Spec {
	t.Helper()
	spec, err := allops()
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func loadAllops(t testing.TB, h *host.Host, cfg host.PluginConfig) *host.Plugin {
	t.Helper()
	p, err := h.Load(t.Context(), allopsSpec(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func checkReason(t *testing.T, err error, want abi.Reason) *host.PluginError {
	t.Helper()
	var perr *host.PluginError
	if !errors.As(err, &perr) || perr.Code != want {
		t.Fatalf("error %v (want a *host.PluginError with the reason %s)", err, want)
	}
	return perr
}

func twoItems() []pipeline.Item {
	return []pipeline.Item{
		{ID: "a", Content: "one", Source: pipeline.SourceRetrieval, Score: 0.2, Priority: 5},
		{ID: "b", Content: "two", Source: pipeline.SourceRetrieval, Score: 0.1, Priority: 5},
	}
}
