package spec

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// A manifest beside the module is bounded before it is read as YAML, which is slow.
func TestLongManifestBeside(t *testing.T) {
	long := `{"abi":1,"name":"x","version":"0.1.0","operations":{"filter":{}},"description":"` + strings.Repeat("a", maxYAML) + `"}`
	if _, err := yamlToJSON([]byte(long)); err != nil {
		t.Errorf("as JSON: %v", err)
	}
	if _, err := yamlToJSON([]byte(long + "\n# a comment")); err == nil || !strings.Contains(err.Error(), "write it as JSON") {
		t.Errorf("as YAML: error %.200v", err)
	}
}

// TestVersionedName reads one of several versions of a plugin.
func TestVersionedName(t *testing.T) {
	wasm, err := os.ReadFile("../../testdata/wasm/keep-first/plugin.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if wasm, err = Embed(wasm, []byte("abi: 1\nname: keep-first\nversion: 0.1.0\noperations: {filter: {reads: [score]}}\n")); err != nil {
		t.Fatal(err)
	}
	if s, err := Read("keep-first@0.1.0", wasm, nil); err != nil || s.Name != "keep-first@0.1.0" {
		t.Errorf("its own version: %v", err)
	}
	for _, name := range []string{"keep-first@0.1.1", "keep-last@0.1.0", "keep-first@"} {
		if _, err := Read(name, wasm, nil); !errors.Is(err, ErrManifest) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
