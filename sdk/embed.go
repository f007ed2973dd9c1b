// Package sdk holds the helper libraries for authors of plugins, one folder per
// language, and carries their sources for projects that "anchor-host plugin new"
// writes.
package sdk

import "embed"

// Files are the sources of the helper libraries, by their folders.
//
//go:embed pdk-go/*.go pdk-go/*/*.go pdk-go/internal/*/*.go
var Files embed.FS
