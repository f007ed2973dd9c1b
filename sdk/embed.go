// Package sdk holds the helper libraries for authors of plugins, one folder per
// language. It embeds their sources, which "anchor-host plugin new" copies into new
// projects.
package sdk

import "embed"

// Files are the sources of the helper libraries, by their folders.
//
//go:embed pdk-go/*.go pdk-go/*/*.go pdk-go/internal/*/*.go
//go:embed pdk-as/*.ts pdk-as/*.mjs
//go:embed pdk-c/*.h
//go:embed pdk-java/io
//go:embed pdk-js/*.mjs pdk-js/*.wat pdk-js/*.js pdk-js/*.ts
//go:embed pdk-py/__init__.py
//go:embed pdk-rust/Cargo.toml pdk-rust/src
//go:embed pdk-zig/*.zig
var Files embed.FS
