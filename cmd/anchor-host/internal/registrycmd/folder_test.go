package registrycmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/clitest"
	"github.com/anchor-host/anchor-host/registry"
)

// A folder is pushed as the module that packing makes of it, and a folder that is none says so.
func TestReadPluginOfAFolder(t *testing.T) {
	wasm := string(clitest.Read(t, filepath.Join(clitest.FixtureDir, "no-change", "plugin.wasm")))
	text := string(clitest.Read(t, filepath.Join(clitest.FixtureDir, "no-change", "plugin.yaml")))
	whole := string(clitest.Read(t, clitest.Quiet(t, "1.0.0", "")))
	for name, c := range map[string]struct {
		files map[string]string
		want  string // the version, or a part of the error
	}{
		"module and manifest":  {map[string]string{"plugin.wasm": wasm, "plugin.yaml": strings.Replace(text, "0.1.0", "3.0.0", 1)}, "3.0.0"},
		"a packed module":      {map[string]string{"first.wasm": whole}, "1.0.0"},
		"both":                 {map[string]string{"first.wasm": whole, "plugin.yaml": text}, "another manifest"},
		"a manifest that lies": {map[string]string{"plugin.wasm": wasm, "plugin.yaml": "abi: 1\nname: x\nversion: 1.0.0\noperations: {rerank: {}}\n"}, "anchor_rerank"},
		"no module":            {map[string]string{"plugin.yaml": text}, "has no .wasm file"},
		"two modules":          {map[string]string{"a.wasm": wasm, "b.wasm": wasm}, "has 2 .wasm files"},
	} {
		dir := clitest.Write(t, c.files)
		before, _ := os.ReadDir(dir)
		module, err := readPlugin(dir)
		got := ""
		if err == nil {
			var artifact *registry.Artifact
			if artifact, err = registry.Pack(module, registry.PackOptions{}); err == nil {
				got = artifact.Version
			}
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if after, _ := os.ReadDir(dir); len(after) != len(before) {
			t.Errorf("%s: the folder has %d files, before %d", name, len(after), len(before))
		}
	}
}
