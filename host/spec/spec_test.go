package spec_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/spec"
)

func TestSpecWarnings(t *testing.T) {
	// keep-first exports filter; this manifest leaves it out.
	_, err := spec.Read("x", readFixture(t, "keep-first"), []byte("abi: 1\nname: x\nversion: 0.1.0\noperations: {}\n"))
	if !errors.Is(err, spec.ErrManifest) {
		t.Errorf("a manifest without operations: error %v", err)
	}
	s, err := spec.Read("x", readFixture(t, "batch-no-change"), []byte("abi: 1\nname: x\nversion: 0.1.0\noperations: {filter: {}}\n"))
	if err != nil || !slices.Equal(s.Operations[0].Lanes, []spec.Lane{spec.LaneBatch}) || s.Operations[0].Reads != 0 {
		t.Errorf("spec %+v, error %v", s, err)
	}
}

func TestManifestOfModuleAndSide(t *testing.T) {
	const own = `{"abi":1,"name":"x","version":"1.0.0","operations":{"filter":{"reads":["score","text"]}},
		"permissions":[{"kind":"files","guest":"/docs","mode":"ro","reason":"r"},{"kind":"http","hosts":["*.example.com"],"reason":"r"},{"kind":"kv","quota":"1KiB","reason":"r"}]}`
	wasm := withManifest(t, readFixture(t, "no-change"), own)
	side := func(s string) []byte { return []byte("abi: 1\nname: x\nversion: 1.0.0\n" + s) }
	s, err := spec.Read("x", wasm, nil)
	if err != nil || s.ManifestFrom != "module" || s.Operations[0].Reads.String() != "score,text" {
		t.Fatalf("spec %+v, error %v", s, err)
	}
	for _, tc := range []struct{ name, side, err string }{
		{"narrower", "operations: {filter: {reads: [score]}}\npermissions: [{kind: http, hosts: [api.example.com], reason: r}]", ""},
		{"the same", "operations: {filter: {reads: [score, text]}}\npermissions: [{kind: files, guest: /docs, mode: ro, reason: r}, {kind: kv, quota: 1KiB, reason: r}]", ""},
		{"reads more", "operations: {filter: {reads: [score, metadata]}}", `operation "filter" reads metadata, which the module does not ask for`},
		{"another host", "operations: {filter: {}}\npermissions: [{kind: http, hosts: [example.org], reason: r}]", `permission "http" is not the module's`},
		{"writable", "operations: {filter: {}}\npermissions: [{kind: files, guest: /docs, mode: rw, reason: r}]", `permission "files" is not the module's`},
		{"larger quota", "operations: {filter: {}}\npermissions: [{kind: kv, quota: 2KiB, reason: r}]", `permission "kv" is not the module's`},
		{"another operation", "operations: {rerank: {}}", `operation "rerank" is not the module's`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := spec.Read("x", wasm, side(tc.side))
			if tc.err == "" {
				if err != nil || s.ManifestFrom != "plugin.yaml" {
					t.Errorf("spec %+v, error %v", s, err)
				}
				return
			}
			want := `plugin "x": plugin.yaml: ` + tc.err + ` (it may only narrow the manifest in the module)`
			if err == nil || err.Error() != want || !errors.Is(err, spec.ErrManifest) {
				t.Errorf("error %v\nwant  %s", err, want)
			}
		})
	}
}

func TestManifestMaxPriority(t *testing.T) {
	const own = `{"abi":1,"name":"x","version":"1.0.0","operations":{"retrieve":{"max_priority":5}}}`
	wasm := withManifest(t, readFixture(t, "add-item"), own)
	for stated, want := range map[string]string{"max_priority: 4": "", "max_priority: 6": "has max_priority 6, the module 5", "": "has max_priority 0, the module 5"} {
		_, err := spec.Read("x", wasm, []byte("abi: 1\nname: x\nversion: 1.0.0\noperations: {retrieve: {"+stated+"}}"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v (want %q)", stated, err, want)
		}
	}
}

func TestManifestWithoutMarker(t *testing.T) {
	_, err := spec.Read("x", readFixture(t, "foreign"), []byte("abi: 1\nname: x\nversion: 0.1.0\noperations: {filter: {}}\n"))
	if !errors.Is(err, spec.ErrABIVersion) || !strings.Contains(err.Error(), `does not export "anchor_abi_1"`) {
		t.Errorf("error %v", err)
	}
}

// A pin holds module and plugin.yaml, and the error says which of them changed.
func TestPin(t *testing.T) {
	const own = `{"abi":1,"name":"x","version":"1.0.0","operations":{"filter":{}}}`
	read := func(wasm []byte, side string) *spec.Spec {
		var doc []byte
		if side != "" {
			doc = []byte(side)
		}
		s, err := spec.Read("x", wasm, doc)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, other := withManifest(t, readFixture(t, "no-change"), own), withManifest(t, readFixture(t, "keep-first"), own)
	const yaml, yaml2 = "abi: 1\nname: x\nversion: 1.0.0\noperations: {filter: {}}\n", "abi: 1\nname: x\nversion: 1.0.0\noperations: {filter: {}} # 2\n"
	alone, both := read(first, "").Pin(), read(first, yaml).Pin()
	if alone != read(first, yaml).Digest || !strings.HasPrefix(both, alone+"+sha256:") || len(both) != 2*len(alone)+1 {
		t.Fatalf("pins %s and %s", alone, both)
	}
	for _, tc := range []struct {
		name, pin string
		spec      *spec.Spec
		want      string
	}{
		{"as pinned, alone", alone, read(first, ""), ""},
		{"as pinned", both, read(first, yaml), ""},
		{"another module", alone, read(other, ""), "the module is another one"},
		{"another module beside it", both, read(other, yaml), "the module is another one"},
		{"another plugin.yaml", both, read(first, yaml2), "plugin.yaml is another one"},
		{"both", both, read(other, yaml2), "module and plugin.yaml are others"},
		{"not covered", alone, read(first, yaml), "there is a plugin.yaml beside the module that the pin does not cover"},
		{"gone", both, read(first, ""), "plugin.yaml was removed"},
	} {
		err := tc.spec.CheckPin(tc.pin)
		if tc.want == "" && err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if want := tc.want + " (review it, then pin " + tc.spec.Pin() + "; pinned is " + tc.pin + ")"; tc.want != "" && (err == nil || err.Error() != want || !errors.Is(err, spec.ErrConfig)) {
			t.Errorf("%s: %v\nwant %s", tc.name, err, want)
		}
	}
}

func TestCheckSettings(t *testing.T) {
	wasm, manifest := fixtureFiles(t, "keep-first")
	s, err := spec.Read("", wasm, manifest)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := s.CheckSettings(abi.OpFilter, nil); err != nil || raw != nil {
		t.Errorf("none: %s, error %v", raw, err)
	}
	if _, err := s.CheckSettings(abi.OpFilter, map[string]any{"x": 1}); !errors.Is(err, spec.ErrConfig) {
		t.Errorf("unknown: %v", err)
	}
	if _, err := s.CheckSettings(abi.OpRerank, nil); !errors.Is(err, spec.ErrNoOperation) {
		t.Errorf("other operation: %v", err)
	}
}

// Only what has the type of an Extism function can be called by name.
func TestExtismFunctions(t *testing.T) {
	functions := fixture(t, "extism-rules").Spec.Functions
	if !slices.Contains(functions, "void") {
		t.Errorf("functions %q, want void among them", functions)
	}
	for _, name := range []string{"with_parameter", "two_results", "wide_result"} {
		if slices.Contains(functions, name) {
			t.Errorf("%s can be called", name)
		}
	}
}
