package spec_test

import (
	"fmt"
	"log"

	"github.com/anchor-host/anchor-host/host/spec"
)

// ReadDir reports on every plugin of a directory without running any.
func ExampleReadDir() {
	entries, err := spec.ReadDir("../../testdata/wasm")
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range entries {
		switch {
		case e.Name != "keep-first" && e.Name != "not-wasm-elf":
		case e.Err != nil:
			fmt.Println(e.Err)
		default:
			fmt.Println(e.Name, e.Spec.Manifest.Version, e.Spec.Operations[0].Operation, e.Spec.Operations[0].Lanes)
		}
	}
	// Output:
	// keep-first 0.1.0 filter [json]
	// plugin "not-wasm-elf": not a WebAssembly module: an ELF executable or library (build for wasm, for Go with GOOS=wasip1 GOARCH=wasm)
}
