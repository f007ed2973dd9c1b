package authoring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// checkSchemaForEditors checks that the first line of plugin.yaml names a schema for editors that
// is there, and that holds for the manifest and not for one with a mistake.
func checkSchemaForEditors(t *testing.T, dir string) {
	t.Helper()
	_, text, err := readManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	name, ok := strings.CutPrefix(line, "# yaml-language-server: $schema=")
	if !ok {
		t.Fatalf("first line %q", line)
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text string) error {
		t.Helper()
		n, err := strict.ParseYAML("plugin.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		data, err := n.JSON()
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		return schema.Validate(doc)
	}
	if err := valid(string(text)); err != nil {
		t.Error(err)
	}
	if valid(strings.Replace(string(text), "operations:", "operatoins:", 1)) == nil {
		t.Error("a misspelt key is accepted")
	}
}

// A manifest that is too large, or has Windows line ends, is no surprise.
func TestUnusualManifests(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ManifestFile)
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(strings.Repeat("# a comment\n", 1<<20))
	if _, _, err := readManifest(dir); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
	put("abi: 1\r\nname: p\r\nversion: 0.1.0\r\noperations:\r\n  filter: {reads: [text]}\r\n")
	if m, _, err := readManifest(dir); err != nil || m.Name != "p" {
		t.Error(err)
	}
	put("abi: 1\r\nnmae: p\r\n")
	if _, _, err := readManifest(dir); err == nil || !strings.Contains(err.Error(), "plugin.yaml:2:") {
		t.Error(err)
	}
}
