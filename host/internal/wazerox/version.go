package wazerox

import (
	"runtime/debug"
	"testing"
)

// Path is the module path of wazero.
const Path = "github.com/tetratelabs/wazero"

// inTest stands for the version of wazero in a test binary, which does not know it.
const inTest = "that of a test"

// Source is what the program says of the wazero in it. known says that it names a
// version; the programs that go test makes do not, nor does a replace with a folder.
func Source() (m debug.Module, known bool) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return m, false
	}
	for _, d := range info.Deps {
		if d.Path != Path {
			continue
		}
		if d.Replace != nil {
			d = d.Replace
		}
		return *d, d.Version != "" && d.Version != "(devel)"
	}
	return m, false
}

// version is the version of wazero, inTest in a test binary and "" where it is not known.
func version() string {
	m, known := Source()
	switch {
	case known && m.Path != Path: // a fork, whose versions are its own
		return m.Path + " " + m.Version
	case known:
		return m.Version
	case testing.Testing():
		return inTest
	}
	return ""
}
