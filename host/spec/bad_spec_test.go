package spec_test

import (
	"errors"
	"testing"

	"github.com/anchor-host/anchor-host/host/spec"
)

// badSpecs are fixtures that are refused before anything runs, with the full
// message.
var badSpecs = []struct {
	name string
	kind error
	want string
}{
	{"abi-2", spec.ErrABIVersion, `plugin "abi-2": other ABI version: the module speaks ABI 2, this host ABI 1 (rebuild the plugin with a kit for ABI 1, or use a host for ABI 2)`},
	{"component", spec.ErrNotWasm, `plugin "component": a WebAssembly component, not a core module (build for wasip1 or wasm32-unknown-unknown instead of wasip2, or extract the core module with "wasm-tools component unbundle")`},
	{"empty", spec.ErrNotWasm, `plugin "empty": not a WebAssembly module: the file is empty`},
	{"export-wrong-signature", spec.ErrSignature, `plugin "export-wrong-signature": export "anchor_filter" has type (i32) -> (i32): wrong signature (want () -> (i32))`},
	{"import-unknown-function", spec.ErrImport, `plugin "import-unknown-function": import "config_gett" of module "extism:host/env": unusable import (did you mean "config_get"?)`},
	{"import-unknown-module", spec.ErrImport, `plugin "import-unknown-module": import "load" of module "wasi_nn": unusable import (the host offers the modules extism:host/env, extism:host/user and wasi_snapshot_preview1; functions of the embedder, host.NewFunction in Config.Functions, belong into extism:host/user)`},
	{"import-wrong-signature", spec.ErrSignature, `plugin "import-wrong-signature": import "alloc" of module "extism:host/env" has type (i32) -> (i32): wrong signature (want (i64) -> (i64))`},
	{"manifest-contradiction", spec.ErrManifest, `plugin "manifest-contradiction": plugin.yaml: manifest: operations.filter.reads[0]: unknown column "scores" (did you mean "score"?)`},
	{"manifest-missing", spec.ErrManifest, `plugin "manifest-missing": the module speaks ABI 1 and has no manifest (put the custom section "anchor.manifest" into it with "anchor-host plugin build", or plugin.yaml beside it in a folder where it is called plugin.wasm)`},
	{"manifest-unknown-field", spec.ErrManifest, `plugin "manifest-unknown-field": plugin.yaml: manifest: permission: unknown key (did you mean "permissions"?)`},
	{"memory-imported", spec.ErrImport, `plugin "memory-imported": import memory "memory" of module "env": unusable import (the host offers functions only; define the memory in the module)`},
	{"memory-not-exported", spec.ErrNoExport, `plugin "memory-not-exported": the module does not export its memory: no such export (export it as "memory")`},
	{"name-mismatch", spec.ErrManifest, `plugin "name-mismatch": the manifest names it "other-name", its file or folder "name-mismatch" (give both one name)`},
	{"no-memory", spec.ErrNoExport, `plugin "no-memory": the module has no memory: no such export (define one and export it as "memory")`},
	{"not-wasm-elf", spec.ErrNotWasm, `plugin "not-wasm-elf": not a WebAssembly module: an ELF executable or library (build for wasm, for Go with GOOS=wasip1 GOARCH=wasm)`},
	{"not-wasm-random", spec.ErrNotWasm, `plugin "not-wasm-random": not a WebAssembly module: it begins with 29 72 bb 04 instead of 00 61 73 6d`},
	{"promise-without-export", spec.ErrNoExport, `plugin "promise-without-export": the manifest declares operation "rerank": no such export (export "anchor_rerank", or remove the operation from the manifest)`},
	{"truncated", spec.ErrNotWasm, `plugin "truncated": truncated module: export section at offset 64: the file ends within the section`},
}

func TestBadSpecs(t *testing.T) {
	for _, tc := range badSpecs {
		t.Run(tc.name, func(t *testing.T) {
			e := fixture(t, tc.name)
			if e.Err == nil || e.Spec != nil {
				t.Fatalf("spec %v, error %v (want an error alone)", e.Spec, e.Err)
			}
			if e.Err.Error() != tc.want {
				t.Errorf("error %s\nwant  %s", e.Err, tc.want)
			}
			if !errors.Is(e.Err, tc.kind) {
				t.Errorf("error is not %v", tc.kind)
			}
		})
	}
}

// Every fixture that is not listed as bad must have a spec.
func TestGoodSpecs(t *testing.T) {
	bad := map[string]bool{}
	for _, tc := range badSpecs {
		bad[tc.name] = true
	}
	all, err := fixtureSpecs()
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range all {
		if !bad[name] && (e.Err != nil || e.Spec == nil || !e.Spec.Foreign && len(e.Spec.Operations) == 0) {
			t.Errorf("%s: spec %v, error %v", name, e.Spec, e.Err)
		}
	}
}
