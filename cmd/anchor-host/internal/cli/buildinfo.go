package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/anchor-host/anchor-host/abi"
)

// BuildInfo describes the program. The command "version" prints it.
type BuildInfo struct {
	// Version is a tag such as "v1.2.0", or "devel".
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

// ReadBuildInfo reads what the linker recorded. Values that it did not record are "devel" or
// "unknown".
func ReadBuildInfo() BuildInfo {
	v := BuildInfo{
		Version: "devel", ABI: abi.Version, Go: runtime.Version(), Wazero: "unknown",
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version = m
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
