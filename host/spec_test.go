package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

func readFixture(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(fixtures, name, "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSpecOfGoGuest(t *testing.T) {
	s := allopsSpec(t)
	if s.ABI != 1 || s.Foreign || s.Portable || !s.WASI || len(s.Operations) != 14 || len(s.Warnings) != 0 {
		t.Errorf("abi %d, foreign %t, portable %t, wasi %t, %d operations, warnings %q",
			s.ABI, s.Foreign, s.Portable, s.WASI, len(s.Operations), s.Warnings)
	}
	o, ok := s.Operation(abi.OpRerank)
	if !ok || !slices.Equal(o.Lanes, []host.Lane{host.LaneJSON, host.LaneBatch}) || o.Reads.String() != "text" || o.Writes.String() != "score,order" || o.Defaults.TopK != 5 {
		t.Errorf("rerank %+v", o)
	}
	if _, ok := s.Operation("summary"); ok {
		t.Error("there is an operation that does not exist")
	}
	if !strings.HasPrefix(s.Digest, "sha256:") || len(s.Digest) != 71 {
		t.Errorf("digest %s", s.Digest)
	}
}

func TestSpecWarnings(t *testing.T) {
	// keep-first exports filter; this manifest leaves it out.
	_, err := host.ReadSpec("x", readFixture(t, "keep-first"), []byte("abi: 1\nname: x\nversion: 0.1.0\noperations: {}\n"))
	if !errors.Is(err, host.ErrManifest) {
		t.Errorf("a manifest without operations: error %v", err)
	}
	s, err := host.ReadSpec("x", readFixture(t, "batch-no-change"), []byte("abi: 1\nname: x\nversion: 0.1.0\noperations: {filter: {}}\n"))
	if err != nil || !slices.Equal(s.Operations[0].Lanes, []host.Lane{host.LaneBatch}) || s.Operations[0].Reads != 0 {
		t.Errorf("spec %+v, error %v", s, err)
	}
}

func TestManifestOfModuleAndSide(t *testing.T) {
	const own = `{"abi":1,"name":"x","version":"1.0.0","operations":{"filter":{"reads":["score","text"]}},
		"permissions":[{"kind":"files","guest":"/docs","mode":"ro","reason":"r"},{"kind":"http","hosts":["*.example.com"],"reason":"r"},{"kind":"kv","quota":"1KiB","reason":"r"}]}`
	wasm := host.WithManifest(t, readFixture(t, "no-change"), own)
	side := func(s string) []byte { return []byte("abi: 1\nname: x\nversion: 1.0.0\n" + s) }
	s, err := host.ReadSpec("x", wasm, nil)
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
			s, err := host.ReadSpec("x", wasm, side(tc.side))
			if tc.err == "" {
				if err != nil || s.ManifestFrom != "plugin.yaml" {
					t.Errorf("spec %+v, error %v", s, err)
				}
				return
			}
			want := `plugin "x": plugin.yaml: ` + tc.err + ` (it may only narrow the manifest in the module)`
			if err == nil || err.Error() != want || !errors.Is(err, host.ErrManifest) {
				t.Errorf("error %v\nwant  %s", err, want)
			}
		})
	}
}

func TestManifestMaxPriority(t *testing.T) {
	const own = `{"abi":1,"name":"x","version":"1.0.0","operations":{"retrieve":{"max_priority":5}}}`
	wasm := host.WithManifest(t, readFixture(t, "add-item"), own)
	for stated, want := range map[string]string{"max_priority: 4": "", "max_priority: 6": "has max_priority 6, the module 5", "": "has max_priority 0, the module 5"} {
		_, err := host.ReadSpec("x", wasm, []byte("abi: 1\nname: x\nversion: 1.0.0\noperations: {retrieve: {"+stated+"}}"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v (want %q)", stated, err, want)
		}
	}
}

func TestManifestWithoutMarker(t *testing.T) {
	_, err := host.ReadSpec("x", readFixture(t, "foreign"), []byte("abi: 1\nname: x\nversion: 0.1.0\noperations: {filter: {}}\n"))
	if !errors.Is(err, host.ErrABIVersion) || !strings.Contains(err.Error(), `does not export "anchor_abi_1"`) {
		t.Errorf("error %v", err)
	}
}

// A pin holds module and plugin.yaml, and the error says which of them changed.
func TestPin(t *testing.T) {
	const own = `{"abi":1,"name":"x","version":"1.0.0","operations":{"filter":{}}}`
	read := func(wasm []byte, side string) *host.Spec {
		var doc []byte
		if side != "" {
			doc = []byte(side)
		}
		s, err := host.ReadSpec("x", wasm, doc)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, other := host.WithManifest(t, readFixture(t, "no-change"), own), host.WithManifest(t, readFixture(t, "keep-first"), own)
	const yaml, yaml2 = "abi: 1\nname: x\nversion: 1.0.0\noperations: {filter: {}}\n", "abi: 1\nname: x\nversion: 1.0.0\noperations: {filter: {}} # 2\n"
	alone, both := read(first, "").Pin(), read(first, yaml).Pin()
	if alone != read(first, yaml).Digest || !strings.HasPrefix(both, alone+"+sha256:") || len(both) != 2*len(alone)+1 {
		t.Fatalf("pins %s and %s", alone, both)
	}
	for _, tc := range []struct {
		name, pin string
		spec      *host.Spec
		want      string
	}{
		{"as pinned, alone", alone, read(first, ""), ""},
		{"as pinned", both, read(first, yaml), ""},
		{"another module", alone, read(other, ""), "the module is another one"},
		{"another module beside it", both, read(other, yaml), "the module is another one"},
		{"another plugin.yaml", both, read(first, yaml2), "plugin.yaml is another one"},
		{"both", both, read(other, yaml2), "module and plugin.yaml are others"},
		{"not covered", alone, read(first, yaml), "there is a plugin.yaml beside the module that the pin does not cover"},
		{"gone", both, read(first, ""), "plugin.yaml is gone"},
	} {
		err := tc.spec.CheckPin(tc.pin)
		if tc.want == "" && err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if want := tc.want + " (review it, then pin " + tc.spec.Pin() + "; pinned is " + tc.pin + ")"; tc.want != "" && (err == nil || err.Error() != want || !errors.Is(err, host.ErrConfig)) {
			t.Errorf("%s: %v\nwant %s", tc.name, err, want)
		}
	}
}
