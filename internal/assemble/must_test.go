package assemble_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
)

// Validate and doctor warn of a step whose plugin takes something away and may be skipped.
func TestUnguarded(t *testing.T) {
	dir := t.TempDir()
	manifest := map[string]string{
		"filters": "operations: {filter: {reads: [score]}}",
		"needed":  "operations: {filter: {reads: [score], defaults: {on_error: raise}}}",
	}
	module, err := os.ReadFile(filepath.Join("..", "..", "testdata", "wasm", "keep-first", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	for name, operations := range manifest {
		if err := os.MkdirAll(filepath.Join(dir, "plugins", name), 0o700); err != nil {
			t.Fatal(err)
		}
		for file, data := range map[string][]byte{"plugin.wasm": module, "plugin.yaml": []byte("abi: 1\nname: " + name + "\nversion: 0.1.0\n" + operations + "\n")} {
			if err := os.WriteFile(filepath.Join(dir, "plugins", name, file), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct{ text, want string }{
		{"steps: [{name: s, use: filters}]", "steps[0]: plugin \"filters\" filters items, and is skipped when it fails or cannot be loaded (add must: true"},
		{"steps: [{name: s, use: filters, must: true}]", ""},
		{"steps: [{name: s, use: filters, must: false}]", ""},
		{"steps: [{name: s, use: i}]\nplugins: {instances: {i: {plugin: filters, must: true}}}", ""},
		{"plugins: {must: all}\nsteps: [{name: s, use: needed}]", ""},
		{"steps: [{name: s, use: needed}]", "and is skipped when it cannot be loaded"},
		{"steps: [{name: s, use: needed, must: false}]", "should not be skipped, as its manifest says, and is skipped when it fails or cannot be loaded"},
		{"pipelines: {p: {steps: [{name: s, use: needed, must: false}]}}", "pipelines.p.steps[0]: plugin"},
		{"steps: [{name: s, use: sort}]", ""},
	} {
		l, err := config.Parse(filepath.Join(dir, "anchor.yaml"), []byte("counting: {tokenizer: words}\n"+c.text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		warnings, err := assemble.Validate(l, l.PluginDir())
		if err != nil {
			t.Fatal(err)
		}
		doctor := assemble.Unguarded(l, l.PluginDir())
		for _, got := range [][]string{warnings, doctor} {
			if all := strings.Join(got, "\n"); (c.want == "") != (all == "") || !strings.Contains(all, c.want) || len(got) > 1 {
				t.Errorf("%s: %q, want %q", c.text, got, c.want)
			}
		}
	}
}
