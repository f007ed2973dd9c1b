package spec

import (
	"testing"

	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// What Go built as a command is told from what it built as a library.
func TestGoCommand(t *testing.T) {
	buildID := wasmbin.CustomSection{Name: "go:buildid"}
	export := func(name string) wasmbin.Export {
		return wasmbin.Export{Name: name, Extern: wasmbin.Extern{Kind: wasmbin.KindFunc}}
	}
	for _, c := range []struct {
		name    string
		exports []wasmbin.Export
		customs []wasmbin.CustomSection
		want    bool
	}{
		{"a command", []wasmbin.Export{export("_start")}, []wasmbin.CustomSection{buildID}, true},
		{"a library", []wasmbin.Export{export("_initialize")}, []wasmbin.CustomSection{buildID}, false},
		{"of another language", []wasmbin.Export{export("_start")}, nil, false},
	} {
		r := &reader{info: &wasmbin.Info{Exports: c.exports, Customs: c.customs}}
		if got := r.goCommand(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
