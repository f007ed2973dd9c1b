// Package offered lists the functions that the host offers to guests: those of this contract and
// of Extism, and those of WASI.
package offered

import (
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/internal/nearest"
)

const (
	// WASI is the name of the module of WASI.
	WASI = "wasi_snapshot_preview1"
	// OldEnv is the module from which plugins from before Extism 1.0 import its functions.
	OldEnv = "env"
	// OldEnvPrefix is the prefix of the names of these functions.
	OldEnvPrefix = "extism_"
)

// Function returns the type of a function that the host offers, as text, and false if it offers
// none of that name.
func Function(module, name string) (signature string, ok bool) {
	switch module {
	case WASI:
		signature, ok = wasi[name]
		return signature, ok
	case OldEnv:
		short, ok := strings.CutPrefix(name, OldEnvPrefix)
		if !ok {
			return "", false
		}
		module, name = abi.EnvModule, short
	}
	s, ok := abi.LookupImport(module, name)
	return s.String(), ok
}

// Names lists the functions of this host in one of Extism's modules.
func Names(module string) []string {
	var names []string
	for _, s := range abi.Imports {
		if s.Module == module {
			names = append(names, s.Name)
		}
	}
	return names
}

// scriptHint is Hint for what AssemblyScript imports without the options of plugin build.
func scriptHint(name string) string {
	switch {
	case name == "abort":
		return "of AssemblyScript: build with --use abort=anchor/host/abort, as anchor-host plugin build does"
	case strings.HasPrefix(name, "console."):
		return "of AssemblyScript: write to the log with log.info of ./anchor/index"
	case name == "seed", name == "trace", name == "Date.now", name == "performance.now":
		return "of AssemblyScript: the host offers no clock, no random numbers and no trace to it"
	}
	return ""
}

// Hint says what an author can do about an import that the host does not offer.
func Hint(module, name string) string {
	switch module {
	case abi.EnvModule, abi.UserModule:
		names := Names(module)
		if near := nearest.Name(name, names); near != "" {
			return fmt.Sprintf("did you mean %q?", near)
		}
		return "the host offers " + strings.Join(names, ", ")
	case OldEnv:
		if hint := scriptHint(name); hint != "" {
			return hint
		}
	case WASI:
		return "the function is not part of WASI preview 1"
	}
	return fmt.Sprintf("the host offers the modules %s, %s and %s; functions of the embedder, host.NewFunction in Config.Functions, belong into %s",
		abi.EnvModule, abi.UserModule, WASI, abi.UserModule)
}

// Kernel reports whether an import is one of Extism's functions.
func Kernel(im wasmbin.Import) bool {
	return im.Module == abi.EnvModule || im.Module == OldEnv && strings.HasPrefix(im.Name, OldEnvPrefix)
}

// Reserved reports whether only the host can offer an import of that name.
func Reserved(module, name string) bool {
	switch module {
	case WASI, abi.EnvModule:
		return true
	case OldEnv:
		return strings.HasPrefix(name, OldEnvPrefix)
	case abi.UserModule:
		return strings.HasPrefix(name, "anchor_")
	}
	return strings.HasPrefix(module, wasmbin.HostPrefix)
}
