package parts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/agents/mcpserver"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
)

func load(t *testing.T, yaml, manifest string) *config.Loaded {
	t.Helper()
	dir := t.TempDir()
	module, err := os.ReadFile("../../../../testdata/wasm/batch-keep-first/plugin.wasm")
	if err != nil {
		t.Fatal(err)
	}
	plugin := filepath.Join(dir, "plugins", "keep-first")
	if err := os.MkdirAll(plugin, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string]string{filepath.Join(plugin, "plugin.wasm"): string(module), filepath.Join(plugin, "plugin.yaml"): manifest, filepath.Join(dir, "anchor.yaml"): "plugins: {dir: plugins}\n" + yaml} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := config.Load(filepath.Join(dir, "anchor.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

const header = "abi: 1\nname: keep-first\nversion: 0.1.0\nlicense: Apache-2.0\noperations: {filter: {reads: [score]"

// A step is a tool if the manifest of its plugin says so, and no other.
func TestTools(t *testing.T) {
	const steps = "steps: [{name: first, use: keep-first}, {name: sorted, use: sort}, {name: gone, use: no-such}]\n"
	if got := tools(load(t, steps, header+"}}\n")); len(got) > 0 {
		t.Errorf("without the key: %v", got)
	}
	want := []mcpserver.PluginTool{{Step: "first", Description: "Keep the first.", Texts: true}}
	if got := tools(load(t, steps, header+", tool: Keep the first.}}\n")); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// Places that use mcp are found in steps, their retrievers and named pipelines, and settings are checked before a
// start. Nothing is registered for others.
func TestServers(t *testing.T) {
	loaded := load(t, `steps: [{name: a, retrievers: [{use: mcp, settings: {server: wiki, url: "https://wiki.example/mcp", resources: ["a://b"]}}, {use: mcp, settings: {server: tickets, url: "https://t.example", tool: x}}]}]
pipelines: {p: {steps: [{name: b, use: mcp, settings: {server: files, command: [/bin/x], tool: y}}]}}
`, header+"}}\n")
	for name, at := range map[string]string{"wiki": "https://wiki.example/mcp", "tickets": "https://t.example", "files": `"/bin/x"`} {
		if s, err := Server(loaded, name); err != nil || s.At() != at {
			t.Errorf("%s: %v %v", name, s, err)
		}
	}
	if _, err := Server(loaded, "no-such"); err == nil || !strings.Contains(err.Error(), "tickets") {
		t.Errorf("%v", err)
	}
	if c := Components(loaded); len(c.Retrievers) != 1 {
		t.Errorf("%v", c)
	}
	if warnings, err := assemble.Validate(loaded, loaded.PluginDir(), Checks(loaded)); err != nil || strings.Contains(strings.Join(warnings, " "), "mcp") {
		t.Errorf("%v %v", warnings, err)
	}
	wrong := load(t, "steps: [{name: a, use: mcp, settings: {server: x, command: [npx], tool: y}}]\n", header+"}}\n")
	if _, err := assemble.Validate(wrong, wrong.PluginDir(), Checks(wrong)); err == nil || !strings.Contains(err.Error(), "npx") || !strings.Contains(err.Error(), "anchor.yaml:2") {
		t.Errorf("%v", err)
	}
	if c := Components(load(t, "steps: [{name: a, use: sort}]\n", header+"}}\n")); c.Retrievers != nil {
		t.Errorf("%v", c)
	}
}
