package wazerox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
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
	return sourceIn(info)
}

// sourceIn is what the information on a program says of the wazero in it.
func sourceIn(info *debug.BuildInfo) (m debug.Module, known bool) {
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
	if v := versionOf(Source()); v != "" || !testing.Testing() {
		return v
	}
	return inTest
}

// versionOf is the version of a wazero, "" where it is not known.
func versionOf(m debug.Module, known bool) string {
	switch {
	case !known:
		return ""
	case m.Path != Path: // a fork, whose versions are its own
		return m.Path + " " + m.Version
	}
	return m.Version
}

// ErrUnknown says why a program keeps no machine code.
var ErrUnknown = errors.New("this program does not say which version of " + Path + " is in it, as those made by go test and by a replace with a folder do not")

// Build identifies the sources of wazero in this program and the compiler that
// compiled them. Machine code is only valid for the same ones.
func Build() (string, error) {
	m, known := Source()
	if name := os.Getenv("ANCHOR_ENGINE_OF_TESTS"); !known && name != "" && testing.Testing() {
		return fmt.Sprint("of tests ", name, " ", runtime.Version()), nil // testbuild knows what a test binary does not
	}
	if !known {
		return "", ErrUnknown
	}
	return fmt.Sprint(m.Path, " ", m.Version, " ", m.Sum, " ", runtime.Version()), nil
}
