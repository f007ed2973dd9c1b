package plugincmd

import (
	"os"
	"path/filepath"
	"testing"
)

// The author's own cases are next to plugin.yaml, also when the module is in the folder
// build.
func TestOwnCases(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"plugin.yaml":      "{}",
		"[1]/plugin.yaml":  "{}",
		"[1]/tests/a.json": `{"name": "stays", "items": ["a"], "expect": {"keep": [0]}}`,
		"tests/cases.json": `[{"name": "stays", "items": ["a"], "expect": {"keep": [0]}}, {"name": "goes", "items": ["a"], "expect": {"keep": []}}]`,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	own, err := ownCases(filepath.Join(dir, "build", "plugin.wasm"), "")
	if err != nil || len(own.cases) != 2 {
		t.Errorf("%d cases, error %v", len(own.cases), err)
	}
	own, err = ownCases(filepath.Join(dir, "[1]", "plugin.wasm"), "")
	if err != nil || len(own.cases) != 1 {
		t.Errorf("%d cases in a folder whose name is a pattern, error %v", len(own.cases), err)
	}
}
