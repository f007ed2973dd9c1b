package spec_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/decoded"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/spec"
)

const fixtures = "../../testdata/wasm"

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "anchor-host-spec-")
	if err != nil {
		panic(err)
	}
	// The key of the cache lies here, not in the folder of who runs the tests.
	if err := os.Setenv("XDG_CONFIG_HOME", dir); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// fixtureSpecs are the specs of testdata/wasm, read once.
var fixtureSpecs = sync.OnceValues(func() (map[string]spec.Entry, error) {
	entries, err := spec.ReadDir(fixtures)
	if err != nil {
		return nil, err
	}
	byName := map[string]spec.Entry{}
	for _, e := range entries {
		byName[e.Name] = e
	}
	return byName, nil
})

func fixture(t *testing.T, name string) spec.Entry {
	t.Helper()
	all, err := fixtureSpecs()
	if err != nil {
		t.Fatal(err)
	}
	e, ok := all[name]
	if !ok {
		t.Fatalf("no fixture %q", name)
	}
	return e
}

func readFixture(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(fixtures, name, "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fixtureFiles reads a fixture and the manifest beside it.
func fixtureFiles(t *testing.T, name string) (wasm, manifest []byte) {
	t.Helper()
	wasm, err := os.ReadFile("../../testdata/wasm/" + name + "/plugin.wasm")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err = os.ReadFile("../../testdata/wasm/" + name + "/plugin.yaml")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return wasm, manifest
}

// withManifest puts a manifest into a module.
func withManifest(t *testing.T, wasm []byte, manifest string) []byte {
	t.Helper()
	out, err := wasmbin.AppendCustom(wasm, abi.ManifestSection, []byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// constant is a foreign module. Such modules differ in one byte of their code.
func constant(n byte) []byte {
	return append([]byte("\x00asm\x01\x00\x00\x00"+
		"\x01\x05\x01\x60\x00\x01\x7f"+
		"\x03\x02\x01\x00"+
		"\x05\x03\x01\x00\x01"+
		"\x07\x10\x02\x06memory\x02\x00\x03run\x00\x00"+
		"\x0a\x06\x01\x04\x00\x41"), n, 0x0b)
}

// never is longer ago than any file was changed.
const never = 1<<63 - 1

// settleFiles sets the age at which the times of a file are trusted, until the test ends.
func settleFiles(t *testing.T, age time.Duration) {
	old := decoded.SettledFile
	decoded.SettledFile = age
	t.Cleanup(func() { decoded.SettledFile = old })
}
