package clitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/registry/trust"
)

// OneMore is a part of a manifest: a permission more than the plugins here have.
const OneMore = "\npermissions:\n  - {kind: service, service: llm, reason: to ask}\n"

// Quiet makes a plugin that keeps to the contract and has a README. Its manifest states the version
// and ends with more.
func Quiet(t testing.TB, version, more string) string {
	t.Helper()
	return Plugin(t, "no-change", Version(version, more), spec.Texts{Readme: "# Keep first\n"})
}

// Version returns an edit of a fixture's manifest: it states another version, and ends with more.
func Version(v, more string) func(manifest string) string {
	return func(m string) string { return strings.Replace(m, "0.1.0", v, 1) + more }
}

// Plugin makes a plugin of a fixture, as one file, and returns its path. edit changes the manifest.
func Plugin(t testing.TB, fixture string, edit func(manifest string) string, texts spec.Texts) string {
	t.Helper()
	manifest := edit(string(Read(t, filepath.Join(FixtureDir, fixture, "plugin.yaml"))))
	wasm, err := spec.Embed(Read(t, filepath.Join(FixtureDir, fixture, "plugin.wasm")), []byte(manifest))
	if err == nil {
		wasm, err = spec.EmbedTexts(wasm, texts)
	}
	file := filepath.Join(t.TempDir(), fixture+".wasm")
	if err == nil {
		err = os.WriteFile(file, wasm, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// NewKey makes a key that is not encrypted. It returns the file of the secret half.
func NewKey(t testing.TB) (file string, public trust.PublicKey) {
	t.Helper()
	key, err := trust.Generate()
	if err != nil {
		t.Fatal(err)
	}
	text, err := key.File("")
	file = filepath.Join(t.TempDir(), "key")
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file, key.Public()
}
