//go:build !wasm

package abi

import "embed"

// Sources are the Go files of this package, for projects that are written with
// a copy of it. Guests, which compile this package too, go without.
//
//go:embed *.go
var Sources embed.FS
