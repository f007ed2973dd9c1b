package host

import (
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

const wasiModule = wazerox.WASIModule

// wasiRemedy is the remedy for a module that imports WASI functions and does not get them.
const wasiRemedy = "offer them: wasi: true of the instance, or --wasi of plugin call"

func typeNames(ts []api.ValueType) string {
	names := make([]string, len(ts))
	for i, t := range ts {
		names[i] = api.ValueTypeName(t)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// signature is the type of a function as text.
type signature string

func (s signature) String() string { return string(s) }

// offered returns the type of a function that the host offers, and false if it offers none of
// that name.
func offered(module, name string) (signature, bool) {
	switch module {
	case wasiModule:
		def, ok := wazerox.WASIFunctions()[name]
		if !ok {
			return "", false
		}
		return signature(typeNames(def.ParamTypes()) + " -> " + typeNames(def.ResultTypes())), true
	case oldEnvModule:
		short, ok := strings.CutPrefix(name, oldEnvPrefix)
		if !ok {
			return "", false
		}
		module, name = abi.EnvModule, short
	}
	s, ok := abi.LookupImport(module, name)
	return signature(s.String()), ok
}

// offeredIn lists the functions of this host in one of Extism's modules.
func offeredIn(module string) []string {
	var names []string
	for _, s := range abi.Imports {
		if s.Module == module {
			names = append(names, s.Name)
		}
	}
	return names
}

// importHint says what an author can do about an import that the host does not offer.
func importHint(module, name string) string {
	switch module {
	case abi.EnvModule, abi.UserModule:
		names := offeredIn(module)
		if near := abi.Nearest(name, names); near != "" {
			return fmt.Sprintf("did you mean %q?", near)
		}
		return "the host offers " + strings.Join(names, ", ")
	case wasiModule:
		return "the function is not part of WASI preview 1"
	}
	return fmt.Sprintf("the host offers the modules %s, %s and %s; functions of the embedder, host.NewFunction in Config.Functions, belong into %s",
		abi.EnvModule, abi.UserModule, wasiModule, abi.UserModule)
}
