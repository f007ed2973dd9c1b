package host_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// goGuest builds a guest of testdata/guests with stock Go, once.
func goGuest(name string) func() (*spec.Spec, error) {
	return goGuestIn(filepath.Join("..", "testdata", "guests", name), name)
}

// goGuestIn builds the guest in a folder with stock Go, once.
func goGuestIn(dir, name string) func() (*spec.Spec, error) {
	return sync.OnceValues(func() (*spec.Spec, error) {
		out := filepath.Join(cacheDir, name+".wasm")
		cmd := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, ".")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
		if msg, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", dir, err, msg)
		}
		wasm, err := os.ReadFile(out)
		if err != nil {
			return nil, err
		}
		manifest, err := os.ReadFile(filepath.Join(dir, "plugin.yaml"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a foreign module has none
			return nil, err
		}
		return spec.Read(name, wasm, manifest)
	})
}

var (
	allops   = goGuest("allops")
	counting = goGuest("counting")
	echo     = goGuest("echo")
	deep     = goGuest("deep")
)

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
	allopsSpec(t)
	return guestWith(t, "allops", text, by)
}

// guestWith is the spec of a guest that is built, with a text of its manifest replaced.
func guestWith(t testing.TB, name, text, by string) *spec.Spec {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(cacheDir, name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join("..", "testdata", "guests", name, "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := spec.Read(name, wasm, []byte(strings.Replace(string(manifest), text, by, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func allopsSpec(t testing.TB) *spec.Spec {
	t.Helper()
	spec, err := allops()
	if err != nil {
		t.Fatal(err)
	}
	return spec
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
	spec, err := counting()
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.Load(t.Context(), spec, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// loadEcho loads the foreign guest that echoes.
func loadEcho(t testing.TB, h *host.Host) *host.Plugin {
	t.Helper()
	spec, err := echo()
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.Load(context.Background(), spec, host.PluginConfig{WASI: true, Limits: host.Limits{Instances: 1}})
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
