package spec

import (
	"errors"
	"fmt"
	"os"
	"runtime"
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

// Documents that are cheap to write are cheap to read: a parser of YAML may compare each key with
// each, and list each pair.
func TestHostileManifestBeside(t *testing.T) {
	var distinct strings.Builder
	for i := range 15_000 {
		fmt.Fprintf(&distinct, "%x:\n", i)
	}
	for name, doc := range map[string]string{
		"one key":       strings.Repeat("a:\n", 40_000),
		"distinct keys": distinct.String(),
		"aliases":       "a: &a {" + strings.ReplaceAll(distinct.String()[:6_000], "\n", ",") + "}\nb: [" + strings.Repeat("*a,", 30_000) + "]\n",
		"lists":         strings.Repeat("[", 100_000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := parseManifest([]byte(doc))
		runtime.ReadMemStats(&after)
		took := after.TotalAlloc - before.TotalAlloc
		if !errors.Is(err, ErrManifest) || len(err.Error()) > 2000 || took > 128<<20 {
			t.Errorf("%s: %d bytes took %d, error %.300v", name, len(doc), took, err)
		}
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
