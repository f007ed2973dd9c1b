package conform_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/conform"
	"github.com/anchor-host/anchor-host/host/spec"
)

// elsewhere are the cases that only another host or a guest with a store can
// fail; the tests of the kit have a host of their own for them.
var elsewhere = []string{"call/cancelled", "init/same", "lanes/used"}

func TestEveryCaseIsFailedBySomeGuest(t *testing.T) {
	named := slices.Clone(elsewhere)
	for _, table := range []map[string]string{wrong, spotted} {
		for _, id := range table {
			named = append(named, id)
		}
	}
	for _, c := range conformance.Cases() {
		if !slices.Contains(named, c.ID) {
			t.Errorf("no guest fails %s", c.ID)
		}
	}
}

// A run compiles a module once, although several guests of it are started.
func TestCompilesOnce(t *testing.T) {
	var compiled atomic.Int32
	h, err := host.New(host.Config{CacheDir: host.CacheOff, OnCompile: func(_ string, done bool, _ time.Duration) {
		if done {
			compiled.Add(1)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	spec, err := spec.ReadFile(filepath.Join(fixtures, "no-change", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := conformance.Run(t.Context(), conform.New(h, spec, host.PluginConfig{}), conformance.Options{Short: true, Beside: true})
	if err != nil || !r.OK() || r.Passed == 0 {
		t.Fatalf("%+v, error %v", r, err)
	}
	if n := compiled.Load(); n != 1 {
		t.Errorf("compiled %d times, want once", n)
	}
}

// A guest with every operation, built with stock Go, passes every case.
func TestEveryOperationOfAGoodGuest(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a guest and calls it some 50,000 times")
	}
	const source = "../../testdata/guests/allops"
	out := filepath.Join(t.TempDir(), "allops.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, ".")
	cmd.Dir, cmd.Env = source, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, msg)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(source, "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := spec.Read("allops", wasm, manifest)
	if err != nil {
		t.Fatal(err)
	}
	r, err := conformance.Run(t.Context(), conform.New(newHost(t), spec, host.PluginConfig{}), conformance.Options{Short: true})
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK() {
		t.Errorf("%s", failures(r))
	}
	for _, info := range abi.Operations {
		if info.Op != abi.OpInit && !slices.ContainsFunc(r.Results, func(x conformance.Result) bool {
			return x.Operation == info.Op && x.Case == "call/answers" && x.Verdict == conformance.Pass
		}) {
			t.Errorf("%s was not tested", info.Op)
		}
	}
}
