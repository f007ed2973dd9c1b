package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// tested is the spec of a fixture with calls of known answers.
func tested(t *testing.T, name, calls string) *spec.Spec {
	t.Helper()
	return withManifest(t, name, "self_test:\n"+calls)
}

// withManifest is the spec of a fixture with more in its manifest.
func withManifest(t *testing.T, name, more string) *spec.Spec {
	t.Helper()
	dir := filepath.Join(fixtures, name)
	wasm, err := os.ReadFile(filepath.Join(dir, "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := spec.Read(name, wasm, []byte(string(manifest)+more))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestSelfTest(t *testing.T) {
	const two = `, input: {query: {query_str: q}, columns: [score], items: [{score: 0.5}, {score: 0.1}]}, output: `
	h := newHost(t, host.Config{})
	for _, tc := range []struct{ name, calls, want string }{
		{"keep-first", `- {operation: filter` + two + `{keep: [0]}}`, ""},
		{"batch-keep-first", `- {operation: filter` + two + `{keep: [0]}}`, ""},
		{"no-change", `- {operation: filter` + two + `null}`, ""},
		{"batch-no-change", `- {operation: filter` + two + `null}`, ""},
		{"stateful", `- {operation: filter` + two + `null}`, ""},
		{"keep-first", `- {operation: filter` + two + `{keep: [1]}}`, `self_test[0], json lane: answers {"keep":[0]} (want {"keep":[1]})`},
		{"batch-keep-first", `- {operation: filter` + two + `{keep: [1]}}`, `self_test[0], batch lane: answers {"keep":[0]} (want {"keep":[1]})`},
		{"no-change", `- {operation: filter` + two + `{keep: [0]}}`, `self_test[0], json lane: answers null (want {"keep":[0]})`},
		{"trap", `- {operation: filter` + two + `null}`, `self_test[0], json lane: unreachable`},
	} {
		p, err := h.Load(t.Context(), tested(t, tc.name, tc.calls), host.PluginConfig{})
		if tc.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
			} else if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			continue
		}
		var perr *host.PluginError
		if !errors.As(err, &perr) || perr.Reason() != string(abi.ReasonInitFailed) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v (want %s)", tc.name, err, tc.want)
		}
	}
}

func TestSelfTestInEveryLane(t *testing.T) {
	const call = "operations:\n"
	for _, want := range []string{"[1]", "[0]"} {
		test := "self_test: [{operation: filter, input: {query: {query_str: q}, columns: [score], items: [{score: 0.1}, {score: 0.7}], settings: {min: 0.5}}, output: {keep: " + want + "}}]\n"
		_, err := newHost(t, host.Config{}).Load(t.Context(), allopsWith(t, call, test+call), host.PluginConfig{})
		if (err == nil) != (want == "[1]") {
			t.Errorf("want %s: error %v", want, err)
		}
	}
}

// plugin.yaml may narrow the columns of an operation. The answers of a self-test are those for
// the columns that the module asks for, in both lanes.
func TestSelfTestOfANarrowedPlugin(t *testing.T) {
	compilesGo(t)
	wasm, side := allops.parts(t)
	const test = "self_test: [{operation: filter, input: {query: {query_str: q}, columns: [score], items: [{score: 0.1}, {score: 0.7}], settings: {min: 0.5}}, output: {keep: [1]}}]\n"
	wasm, err := spec.Embed(wasm, []byte(side+test))
	if err != nil {
		t.Fatal(err)
	}
	narrowed, err := spec.Read("allops", wasm, []byte(strings.Replace(side, "filter: {reads: [score]", "filter: {reads: []", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if o, err := narrowed.Operation(abi.OpFilter); err != nil || o.Reads != 0 || len(o.Lanes) != 2 {
		t.Fatalf("%+v, error %v", o, err)
	}
	if _, err := newHost(t, host.Config{}).Load(t.Context(), narrowed, host.PluginConfig{}); err != nil {
		t.Error(err)
	}
}
