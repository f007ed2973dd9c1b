package authoring

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A module whose functions for batches cannot be called is no product of a build: its author would
// not know that every call takes the slower lane.
func TestLostBatchLane(t *testing.T) {
	if wat, err := Lookup("wat"); err != nil || len(wat.Missing("")) > 0 {
		t.Skip("wat2wasm is not installed")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		ManifestFile: "abi: 1\nname: lost\nversion: 0.1.0\noperations: {filter: {reads: [text], writes: [keep]}}\n",
		"plugin.wat": `(module (memory (export "memory") 1) (func (export "anchor_abi_1"))
			(func (export "anchor_filter") (result i32) i32.const 1)
			(func (export "anchor_batch_filter") (param i32 i32) (result i32) i32.const 0))`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Build(t.Context(), BuildOptions{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), `exports "anchor_batch_filter" without "anchor_mailbox"`) {
		t.Error(err)
	}
}
