package authoring

import (
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
		return Pack(filepath.Join(dir, "module.wasm"), "", "")
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
