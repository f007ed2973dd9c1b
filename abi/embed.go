//go:build !wasm

package abi

import "embed"

// Sources are the Go files of this package, of the packages that it imports, and of package
// services. New projects get a copy of them. Guests compile this package without its sources.
//
//go:embed *.go internal/*/*.go services/*.go
var Sources embed.FS
