package conform_test

import (
	"os"
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
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// elsewhere are the cases that only another host or a guest with a store can
// fail; the tests of the kit have a host of their own for them.
var elsewhere = []string{"call/cancelled", "init/same", "lanes/used"}

func TestMain(m *testing.M) {
	testbuild.SetConfigDir()
	os.Exit(m.Run())
}

func TestEveryCaseIsFailedBySomeGuest(t *testing.T) {
	named := slices.Clone(elsewhere)
	for _, table := range []map[string]string{wrong, spotted} {
		for _, id := range table {
			named = append(named, id)
		}
	}
	if len(conformance.Cases()) < len(elsewhere) {
		t.Fatalf("the kit has %d cases", len(conformance.Cases()))
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

// A guest with every operation, built with stock Go, passes every case. Thousands of calls, and
// texts of 10 MB, go to one operation only, unless ANCHOR_THOROUGH asks for all. The host
// refuses the large texts of the others.
func TestEveryOperationOfAGoodGuest(t *testing.T) {
	if testing.Short() {
		t.Skip("calls a guest of stock Go some thousand times")
	}
	spec, err := spec.ReadFile(filepath.Join(testbuild.Guest(t, "testdata/guests/allops"), "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t)
	run := func(input int64, o conformance.Options) *conformance.Report {
		t.Helper()
		r, err := conformance.Run(t.Context(), conform.New(h, spec, host.PluginConfig{Limits: host.Limits{Input: input}}), o)
		if err != nil {
			t.Fatal(err)
		}
		if !r.OK() {
			t.Errorf("%s", failures(r))
		}
		return r
	}
	thorough := os.Getenv("ANCHOR_THOROUGH") != ""
	input := int64(2 << 20)
	if thorough {
		input = host.DefaultInput
	}
	r := run(input, conformance.Options{Short: true, Sparing: !thorough})
	for _, info := range abi.Operations {
		if info.Op != abi.OpInit && !slices.ContainsFunc(r.Results, func(x conformance.Result) bool {
			return x.Operation == info.Op && x.Case == "call/answers" && x.Verdict == conformance.Pass
		}) {
			t.Errorf("%s was not tested", info.Op)
		}
	}
	if !thorough {
		r = run(host.DefaultInput, conformance.Options{Short: true, Operations: []abi.Operation{abi.OpFilter}, Lanes: []string{conformance.Batch}})
	}
	if !slices.ContainsFunc(r.Results, func(x conformance.Result) bool { return x.Case == "call/no-growth" && x.Verdict == conformance.Pass }) {
		t.Error("the memory of no operation was measured")
	}
}
