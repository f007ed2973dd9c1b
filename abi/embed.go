//go:build !wasm

package abi

import "embed"

// Sources are the Go files of this package and of the packages that it imports. New projects
// get a copy of them. Guests compile this package without its sources.
//
//go:embed *.go internal/*/*.go
var Sources embed.FS
