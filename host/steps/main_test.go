package steps_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/pipeline"
)

// shared is the host of most tests, so that each module is compiled once: a test binary
// keeps no machine code on disk. logs is what it logs.
var (
	shared *host.Host
	logs   lockedBuffer
)

func TestMain(m *testing.M) {
	var err error
	if shared, err = host.New(config(host.Config{Logger: slog.New(slog.NewTextHandler(&logs, nil))})); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := shared.Close(context.Background()); err != nil {
		panic(err)
	}
	if err := goleak.Find(); code == 0 && err != nil {
		println("leaked:", err.Error())
		code = 1
	}
	os.Exit(code)
}

// lockedBuffer is a buffer for several writers.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns what was written.
func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// config is cfg for a host that counts words.
func config(cfg host.Config) host.Config {
	cfg.CacheDir, cfg.Tokenizer = host.CacheOff, pipeline.WordTokenizer()
	cfg.Portable = os.Getenv("ANCHOR_PORTABLE") != ""
	cfg.DefaultLimits.RestAfter = -1 // plugins fail on purpose
	return cfg
}

// fixtures are the entries of testdata/wasm, read once.
var fixtures = sync.OnceValues(func() ([]spec.Entry, error) { return spec.ReadDir(filepath.Join("..", "..", "testdata", "wasm")) })

// load loads a fixture for the time of a test.
func load(t testing.TB, h *host.Host, name string, cfg host.PluginConfig) *host.Plugin {
	t.Helper()
	entries, err := fixtures()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(entries, func(e spec.Entry) bool { return e.Name == name })
	if i < 0 || entries[i].Err != nil {
		t.Fatalf("no usable fixture %q", name)
	}
	return loadSpec(t, h, entries[i].Spec, cfg)
}

func loadSpec(t testing.TB, h *host.Host, spec *spec.Spec, cfg host.PluginConfig) *host.Plugin {
	t.Helper()
	p, err := h.Load(t.Context(), spec, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// allops is the guest with every operation, built with stock Go, once.
var allops = sync.OnceValues(func() (*spec.Spec, error) {
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
	return spec.Read("allops", wasm, manifest)
})

func allopsSpec(t testing.TB) *spec.Spec {
	t.Helper()
	spec, err := allops()
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func loadAllops(t testing.TB, cfg host.PluginConfig) *host.Plugin {
	t.Helper()
	compiled.Do(func() { // which lasts as long as the host
		if _, err := shared.Load(t.Context(), allopsSpec(t), host.PluginConfig{}); err != nil {
			t.Fatal(err)
		}
	})
	return loadSpec(t, shared, allopsSpec(t), cfg)
}

// compiled says that the machine code of the guest is there for all tests.
var compiled sync.Once

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

// fromJSON reads a message with a role and other members, in JSON.
func fromJSON(role pipeline.Role, members string) (m pipeline.Message) {
	if err := m.UnmarshalJSON([]byte(`{"role":"` + string(role) + `",` + members + `}`)); err != nil {
		panic(err)
	}
	return m
}
