package steps_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
	"github.com/anchor-host/anchor-host/pipeline"
)

// logs is what the shared host logs.
var (
	logs       lockedBuffer
	theHost    *host.Host
	makeShared sync.Once
)

// shared is the host of most tests, so that each module is loaded from the cache once.
func shared(t testing.TB) *host.Host {
	t.Helper()
	makeShared.Do(func() {
		var err error
		if theHost, err = host.New(config(t, host.Config{Logger: slog.New(slog.NewTextHandler(&logs, nil))})); err != nil {
			t.Fatal(err)
		}
	})
	return theHost
}

func TestMain(m *testing.M) {
	testbuild.SetConfigDir()
	code := m.Run()
	if theHost != nil {
		if err := theHost.Close(context.Background()); err != nil {
			panic(err)
		}
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
func config(t testing.TB, cfg host.Config) host.Config {
	t.Helper()
	cfg.CacheDir, cfg.Tokenizer = testbuild.CacheDir(t), pipeline.WordTokenizer()
	cfg.Portable = os.Getenv("ANCHOR_PORTABLE") != ""
	cfg.DefaultLimits.BreakAfter = -1 // plugins fail on purpose
	return cfg
}

// newHost makes a host that is closed with the test.
func newHost(t testing.TB, cfg host.Config) *host.Host {
	t.Helper()
	h, err := host.New(config(t, cfg))
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

// readGuest reads the spec of a plugin once.
var readGuest = sync.OnceValues(func() (*spec.Spec, error) { return spec.ReadFile(filepath.Join(guestDir, "plugin.wasm")) })

// guestDir is the folder of the plugin that readGuest reads.
var guestDir string

// allopsSpec is that of the guest with every operation, built with stock Go.
func allopsSpec(t testing.TB) *spec.Spec {
	t.Helper()
	guestDir = testbuild.Guest(t, "testdata/guests/allops")
	s, err := readGuest()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func loadAllops(t testing.TB, cfg host.PluginConfig) *host.Plugin {
	t.Helper()
	compiled.Do(func() { // which lasts as long as the host
		if _, err := shared(t).Load(t.Context(), allopsSpec(t), host.PluginConfig{}); err != nil {
			t.Fatal(err)
		}
	})
	return loadSpec(t, shared(t), allopsSpec(t), cfg)
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

// countingSpec is that of the guest that counts its calls, built with stock Go.
func countingSpec(t testing.TB) *spec.Spec {
	t.Helper()
	s, err := spec.ReadFile(filepath.Join(testbuild.Guest(t, "testdata/guests/counting"), "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
