package authoring

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/spec"
)

// Pack puts the texts beside the manifest into the module, and refuses those that are no short texts.
func TestPackTexts(t *testing.T) {
	fixture := filepath.Join("..", "..", "testdata", "wasm", "keep-first")
	wasm, err := os.ReadFile(filepath.Join(fixture, "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(fixture, "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	pack := func(files map[string]string) (*spec.Spec, string, error) {
		dir := t.TempDir()
		files["plugin.yaml"], files["module.wasm"] = string(manifest), string(wasm)
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return Pack(t.Context(), filepath.Join(dir, "module.wasm"), "", "")
	}
	packed, _, err := pack(map[string]string{"README.md": "# One\n", "CHANGELOG.md": "## 0.1.0\n"})
	if err != nil {
		t.Fatal(err)
	}
	if texts, err := packed.Texts(); err != nil || texts != (spec.Texts{Readme: "# One\n", Changelog: "## 0.1.0\n"}) {
		t.Errorf("%+v, %v", texts, err)
	}
	plain, _, err := pack(map[string]string{})
	if err != nil || plain.Size >= packed.Size {
		t.Errorf("without texts: %v", err)
	}
	for text, want := range map[string]string{
		strings.Repeat("x", abi.MaxText+1): "larger than 256KiB, the most that a host reads (shorten it)",
		"\xff":                             "is not UTF-8 (save it as UTF-8)",
	} {
		if _, path, err := pack(map[string]string{"CHANGELOG.md": text}); err == nil || !strings.Contains(err.Error(), "CHANGELOG.md") || !strings.Contains(err.Error(), want) || path != "" {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// What a host refuses to compile is no plugin, though its exports are those of one.
func TestBuildInvalidModule(t *testing.T) {
	fixture := filepath.Join("..", "..", "testdata", "wasm", "keep-first")
	wasm, err := os.ReadFile(filepath.Join(fixture, "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	manifest, err := os.ReadFile(filepath.Join(fixture, "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ManifestFile), manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	old, module := filepath.Join(dir, "build", "keep-first.wasm"), filepath.Join(dir, "module.wasm")
	if err := os.MkdirAll(filepath.Dir(old), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(module, emptyBodies(t, wasm), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, path, err := Pack(t.Context(), module, "", filepath.Dir(old)); !errors.Is(err, spec.ErrNotWasm) || path != "" {
		t.Errorf("packed as %q, error %v", path, err)
	}
	if kept, err := os.ReadFile(old); err != nil || string(kept) != "old" {
		t.Errorf("the plugin of before is %d bytes, error %v", len(kept), err)
	}
	if said := endlessRemedy("compile: invalid function[415]: not enough results"); !strings.Contains(said, "while (true)") {
		t.Error(said)
	}
}

// emptyBodies returns a module whose functions only drop what no stack holds.
func emptyBodies(t *testing.T, wasm []byte) []byte {
	t.Helper()
	out := wasm[:8:8]
	for rest := wasm[8:]; len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		end := 1 + n + int(size)
		section := rest[:end:end]
		if section[0] == 10 {
			count, _ := binary.Uvarint(rest[1+n:])
			body := binary.AppendUvarint(nil, count)
			for range count {
				body = append(body, 3, 0, 0x1a, 0x0b) // no locals; drop; end
			}
			section = append(binary.AppendUvarint([]byte{10}, uint64(len(body))), body...)
		}
		out, rest = append(out, section...), rest[end:]
	}
	return out
}
