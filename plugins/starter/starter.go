// Package starter holds the plugins that are part of the command: "anchor-host init" writes
// them into the plugin folder, so that the first build finds documents without a compiler.
//
// Each plugin is a folder with its source in Zig, its manifest, a README, and the module
// that "make starter" builds from them.
//
// The modules are part of the repository, because go install runs no build steps. They are in Zig,
// which makes 51 KB of what takes Go 4 MB.
package starter

import (
	"embed"
	"io/fs"
)

//go:embed */plugin.wasm */plugin.yaml */README.md
var files embed.FS

// Files returns the plugins in the form in which they are installed: a folder for each,
// with the module, the manifest and the README.
func Files() fs.FS { return files }
