package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/anchor-host/anchor-host/abi"
)

// Release is the version of this program. CHANGELOG.md begins with its entry.
const Release = "0.1.0"

// BuildInfo describes the program. The command "version" prints it.
type BuildInfo struct {
	// Version is [Release].
	Version string `json:"version"`
	// Revision is the commit, "" if the linker did not record it.
	Revision string `json:"revision,omitempty"`
	// ABI is the version of the contract with plugins.
	ABI int `json:"abi"`
	// Go is the version of the compiler.
	Go string `json:"go"`
	// Wazero is the version of the WebAssembly runtime.
	Wazero string `json:"wazero"`
	// Platform is operating system and processor, such as "linux/amd64".
	Platform string `json:"platform"`
}

// ReadBuildInfo returns the version with what the linker recorded. What it did not record is ""
// or "unknown".
func ReadBuildInfo() BuildInfo {
	v := BuildInfo{
		Version: Release, ABI: abi.Version, Go: runtime.Version(), Wazero: "unknown",
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	for _, dep := range info.Deps {
		if dep.Path == "github.com/tetratelabs/wazero" {
			v.Wazero = dep.Version
		}
	}
	return v
}
