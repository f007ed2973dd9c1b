package authoring

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// The types of all templates in TypeScript fit those of the helper library.
func TestTypesOfTemplates(t *testing.T) {
	languages, _ := wanted()
	if !slices.Contains(languages, "typescript") {
		t.Skipf("runs the compiler of TypeScript (set %s=typescript)", languagesVar)
	}
	kinds, err := kindsOf("typescript")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, kind := range kinds {
		if _, err := New(Project{Name: "p", Language: "typescript", Kind: kind, Dir: filepath.Join(dir, kind)}); err != nil {
			t.Fatal(err)
		}
		// Misuse must not compile: a name that no document has.
		if kind == "filter" {
			file := filepath.Join(dir, kind, "wrong.ts")
			if err := os.WriteFile(file, []byte("import { filter } from \"./plugin\";\n// @ts-expect-error keeps has another name\nfilter({ query: { query_str: \"\" }, columns: [], items: [] }, {}).keeps;\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	config, err := templates.ReadFile("templates/typescript/common/tsconfig.json")
	if err != nil {
		t.Fatal(err)
	}
	config = bytes.Replace(config, []byte(`"*.ts", "anchor/*.d.ts"`), []byte(`"*/*.ts", "*/anchor/index.d.ts"`), 1)
	// All projects declare the same globals: one copy is enough.
	config = bytes.Replace(config, []byte(`"strict": true,`), []byte(`"strict": true, "skipLibCheck": true,`), 1)
	if err := os.WriteFile(filepath.Join(dir, "tsconfig.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "tsc", "-p", ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A project in TypeScript is built from plugin.ts, also if a compiler has left plugin.js beside it.
func TestEntryOfALanguage(t *testing.T) {
	dir := folder(t, map[string]string{"plugin.js": "", "plugin.ts": ""})
	for toolchain, want := range map[*Toolchain]string{typescriptToolchain: "plugin.ts", jsToolchain: "plugin.js"} {
		if got, err := toolchain.entryOf(dir); got != want || err != nil {
			t.Errorf("%s: got %q, %v; want %q", toolchain.Title, got, err, want)
		}
	}
	if got, err := typescriptToolchain.entryOf(folder(t, map[string]string{"plugin.mjs": ""})); got != "plugin.mjs" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
