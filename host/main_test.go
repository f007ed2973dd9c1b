package host_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"

	"github.com/anchor-host/anchor-host/tokens"
)

const fixtures = "../testdata/wasm"

// portable says that all hosts of the tests are to do without what is
// experimental.
func portable() bool { return os.Getenv("ANCHOR_PORTABLE") != "" }

func TestMain(m *testing.M) {
	testbuild.SetConfigDir()
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			println("leaked:", err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

// thorough says that tests run their long forms.
var thorough = os.Getenv("ANCHOR_THOROUGH") != ""

// shrinks skips a test that counts instances where those that grew are replaced.
func shrinks(t *testing.T) {
	if portable() {
		t.Skip("memories are not made smaller")
	}
}

// newHost makes a host that counts words and is closed with the test.
func newHost(t testing.TB, cfg host.Config) *host.Host {
	t.Helper()
	if cfg.CacheDir == "" {
		cfg.CacheDir = testbuild.CacheDir(t)
	}
	cfg.Portable = cfg.Portable || portable()
	if cfg.DefaultLimits.BreakAfter == 0 { // most tests have plugins fail on purpose
		cfg.DefaultLimits.BreakAfter = -1
	}
	if cfg.Tokenizer == nil {
		cfg.Tokenizer = tokens.Words{}
	}
	h, err := host.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if instances, memory := host.Usage(h); instances != 0 || memory != 0 {
			t.Errorf("closed host holds %d instances and %d bytes", instances, memory)
		}
	})
	return h
}

// fixtureSpecs are the specs of testdata/wasm, read once.
var fixtureSpecs = sync.OnceValues(func() (map[string]spec.Entry, error) {
	entries, err := spec.ReadDir(fixtures)
	if err != nil {
		return nil, err
	}
	byName := map[string]spec.Entry{}
	for _, e := range entries {
		byName[e.Name] = e
	}
	return byName, nil
})

func fixture(t testing.TB, name string) spec.Entry {
	t.Helper()
	all, err := fixtureSpecs()
	if err != nil {
		t.Fatal(err)
	}
	e, ok := all[name]
	if !ok {
		t.Fatalf("no fixture %q in %s", name, filepath.Clean(fixtures))
	}
	return e
}

// load loads a fixture that must load.
func load(t testing.TB, h *host.Host, name string, cfg host.PluginConfig) *host.Plugin {
	t.Helper()
	e := fixture(t, name)
	if e.Err != nil {
		t.Fatal(e.Err)
	}
	p, err := h.Load(context.Background(), e.Spec, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
