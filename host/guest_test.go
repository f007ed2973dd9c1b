package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// goGuest is a guest in stock Go, read once. Its source is a folder of the checkout.
type goGuest struct {
	source string
	once   sync.Once
	spec   *spec.Spec
}

var (
	allops   = &goGuest{source: "testdata/guests/allops"}
	counting = &goGuest{source: "testdata/guests/counting"}
	echo     = &goGuest{source: "testdata/guests/echo"}
	deep     = &goGuest{source: "testdata/guests/deep"}
)

// dir is the folder with the module and, except for a foreign one, its manifest.
func (g *goGuest) dir(t testing.TB) string {
	t.Helper()
	return testbuild.Guest(t, g.source)
}

// load reads the spec.
func (g *goGuest) load(t testing.TB) *spec.Spec {
	t.Helper()
	dir := g.dir(t)
	g.once.Do(func() {
		var err error
		if g.spec, err = spec.ReadFile(filepath.Join(dir, "plugin.wasm")); err != nil {
			t.Fatal(err)
		}
	})
	if g.spec == nil {
		t.Fatalf("%s could not be read", g.source)
	}
	return g.spec
}

// parts are the module and the manifest.
func (g *goGuest) parts(t testing.TB) (wasm []byte, manifest string) {
	t.Helper()
	dir := g.dir(t)
	wasm, err := os.ReadFile(filepath.Join(dir, "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm, string(text)
}

// with is the spec with a text of the manifest replaced.
func (g *goGuest) with(t testing.TB, text, by string) *spec.Spec {
	t.Helper()
	wasm, manifest := g.parts(t)
	if !strings.Contains(manifest, text) {
		t.Fatalf("the manifest of %s has no %q", g.source, text)
	}
	spec, err := spec.Read(filepath.Base(g.source), wasm, []byte(strings.Replace(manifest, text, by, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// compilesGo skips a test under the race detector that compiles a guest of stock Go of its
// own: the compiler takes half a minute there, and runs no goroutine that other tests
// do not run.
func compilesGo(t testing.TB) {
	t.Helper()
	if underRace {
		t.Skip("compiles a guest of stock Go")
	}
}

// allopsWith is the spec of the guest with a text of its manifest replaced.
func allopsWith(t testing.TB, text, by string) *spec.Spec {
	t.Helper()
	return allops.with(t, text, by)
}

func allopsSpec(t testing.TB) *spec.Spec {
	t.Helper()
	return allops.load(t)
}

// loadAllops loads the guest in one lane.
func loadAllops(t testing.TB, h *host.Host, cfg host.PluginConfig) *host.Plugin {
	t.Helper()
	p, err := h.Load(t.Context(), allopsSpec(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// loadCounting loads the guest that keeps state.
func loadCounting(t testing.TB, h *host.Host, cfg host.PluginConfig) *host.Plugin {
	t.Helper()
	p, err := h.Load(t.Context(), counting.load(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// loadEcho loads the foreign guest that echoes.
func loadEcho(t testing.TB, h *host.Host) *host.Plugin {
	t.Helper()
	p, err := h.Load(context.Background(), echo.load(t), host.PluginConfig{WASI: true, Limits: host.Limits{Instances: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The guest offers every operation; init is no entry of the list.
func TestSpecOfGoGuest(t *testing.T) {
	s := allopsSpec(t)
	if s.ABI != 1 || s.Foreign || s.Portable || !s.WASI || len(s.Operations) != len(abi.Operations)-1 || len(s.Warnings) != 0 {
		t.Errorf("abi %d, foreign %t, portable %t, wasi %t, %d operations, warnings %q",
			s.ABI, s.Foreign, s.Portable, s.WASI, len(s.Operations), s.Warnings)
	}
	o, err := s.Operation(abi.OpRerank)
	if err != nil || !slices.Equal(o.Lanes, []host.Lane{host.LaneJSON, host.LaneBatch}) || o.Reads.String() != "text" || o.Writes.String() != "score,order" || o.Defaults.TopK != 5 {
		t.Errorf("rerank %+v", o)
	}
	if _, err := s.Operation("summary"); !errors.Is(err, host.ErrNoOperation) {
		t.Error("there is an operation that does not exist")
	}
	if !strings.HasPrefix(s.Digest, "sha256:") || len(s.Digest) != 71 {
		t.Errorf("digest %s", s.Digest)
	}
}
