package authoring

import (
	"bytes"
	"errors"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/spec"
)

// everyTemplate calls f with a project of each kind in each language that has
// templates.
func everyTemplate(t *testing.T, f func(t *testing.T, p Project)) {
	for _, language := range Languages() {
		kinds, err := kindsOf(language)
		if err != nil {
			t.Fatal(err)
		}
		if (language == "tinygo" || language == "cpp") && os.Getenv("ANCHOR_THOROUGH") == "" { // they have the templates of Go and C
			kinds = []string{"filter", "provide"}
		}
		for _, kind := range kinds {
			t.Run(language+"/"+kind, func(t *testing.T) {
				f(t, Project{Name: "my-plugin", Language: language, Kind: kind, Version: "v1.2.3"})
			})
		}
	}
}

// What a project says of itself agrees with what it was asked for.
func TestProjects(t *testing.T) {
	everyTemplate(t, func(t *testing.T, p Project) {
		p.Dir = filepath.Join(t.TempDir(), "project")
		dir, err := New(p)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := readManifest(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m.Operations[abi.Operation(p.Operation())]; !ok || m.Name != p.Name {
			t.Errorf("plugin.yaml is of %s with %v", m.Name, m.Operations)
		}
		if language, err := Detect(dir); err != nil || language != p.Language {
			t.Errorf("detected %q, %v", language, err)
		}
		for _, name := range []string{"README.md", ".gitignore"} {
			if !exists(filepath.Join(dir, name)) {
				t.Errorf("there is no %s", name)
			}
		}
		readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
		if err != nil || !strings.Contains(string(readme), "anchor-host plugin test build/my-plugin.wasm") {
			t.Errorf("the README does not say how to test it: %v", err)
		}
		_, block, _ := strings.Cut(string(readme), "```sh\n")
		block, _, _ = strings.Cut(block, "```")
		if n := strings.Count(block, "\n") + 2; n > 10 { // with plugin new and cd before them
			t.Errorf("%d commands from nothing to a test, want at most 10:\n%s", n, block)
		}
		if strings.Contains(string(readme), "folder `anchor`") && !exists(filepath.Join(dir, helperDir)) {
			t.Error("the README speaks of a folder that is not there")
		}
		checkSources(t, dir)
		checkSchemaForEditors(t, dir)
	})
}

// checkSources checks that no marks of templates are left, and the form of Go
// files.
func checkSources(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && e.Name() != helperDir {
			return err
		}
		if e.IsDir() {
			return fs.SkipDir
		}
		text, err := os.ReadFile(path)
		text = bytes.ReplaceAll(text, []byte("${{"), nil) // expressions of workflows
		if strings.Contains(string(text), "{{") || strings.Contains(string(text), "<no value>") {
			t.Errorf("%s holds marks of its template", path)
		}
		if filepath.Ext(path) == ".go" {
			if pretty, err := format.Source(text); err != nil || string(pretty) != string(text) {
				t.Errorf("%s is not formatted: %v", path, err)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestNewErrors(t *testing.T) {
	full := folder(t, map[string]string{"mine.txt": "keep"})
	for _, c := range []struct {
		name string
		p    Project
		is   error
		want string
	}{
		{"name", Project{Name: "My_Plugin", Language: "go", Kind: "filter"}, ErrName,
			`"My_Plugin": not a plugin name (want lower-case letters, digits and single hyphens, a letter first, at most 64)`},
		{"language", Project{Name: "p", Language: "golang", Kind: "filter"}, ErrLanguage,
			`language "golang": unknown language (did you mean "go"?)`},
		{"kind", Project{Name: "p", Language: "go", Kind: "filtr"}, ErrKind, `kind "filtr": no such kind in Go (did you mean "filter"?)`},
		{"no folder of that kind", Project{Name: "p", Language: "go", Kind: "common"}, ErrKind,
			`kind "common": no such kind in Go (want one of ` + strings.Join(goKinds(t), ", ") + ")"},
		{"folder", Project{Name: "p", Language: "go", Kind: "filter", Dir: full}, fs.ErrExist,
			full + ": file already exists and is not empty (choose another name, or a folder with --dir)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.p.Dir == "" {
				c.p.Dir = filepath.Join(t.TempDir(), "p")
			}
			_, err := New(c.p)
			if !errors.Is(err, c.is) || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if c.p.Dir != full && exists(c.p.Dir) {
				t.Error("something was written")
			}
		})
	}
	if names, err := filepath.Glob(filepath.Join(full, "*")); err != nil || len(names) != 1 {
		t.Errorf("the full folder holds %v, %v", names, err)
	}
}

func goKinds(t *testing.T) []string {
	t.Helper()
	kinds, err := kindsOf("go")
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

// A kind may be written with hyphens, and an empty folder be used.
func TestNewTakesAnEmptyFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := New(Project{Name: "p", Language: "go", Kind: "count-tokens", Dir: dir}); err != nil {
		t.Fatal(err)
	}
	m, _, err := readManifest(dir)
	if _, ok := m.Operations[abi.OpCountTokens]; err != nil || !ok {
		t.Errorf("%+v, %v", m, err)
	}
}

// Every language but WebAssembly text has a template of every operation, with a test of its own.
func TestKinds(t *testing.T) {
	for _, language := range Languages() {
		if language == "wat" {
			continue
		}
		if ownTests[language] == nil {
			t.Errorf("%s: the templates have no tests", language)
		}
		kinds, err := kindsOf(language)
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range abi.Operations {
			if !slices.Contains(kinds, string(info.Op)) {
				t.Errorf("%s: no template of %s", language, info.Op)
			}
		}
	}
}

func TestManifestErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"key", "abi: 1\nname: p\nversion: 0.1.0\noperations:\n  filter:\n    raeds: [text]\n",
			`plugin.yaml:6:5: operations.filter.raeds: unknown key (did you mean "reads"?)`},
		{"value", "abi: 1\nname: p\nversion: 0.1.0\noperations:\n  filter:\n    reads: [text, scores]\n",
			`plugin.yaml:6:19: operations.filter.reads[1]: unknown column "scores" (did you mean "score"?)`},
		{"missing", "abi: 1\nname: p\noperations: {filter: {}}\n",
			`plugin.yaml:1:1: version: is missing (want a semantic version such as 0.1.0)`},
		{"schema", "abi: 1\nname: p\nversion: 0.1.0\noperations: {filter: {settings: {type: 7}}}\n",
			`plugin.yaml:4:40: operations.filter.settings.type: want the name of a type: array, boolean, integer, null, number, object, string`},
		{"endless references", "abi: 1\nname: p\nversion: 0.1.0\noperations:\n  filter:\n    settings:\n      type: object\n      $defs:\n        a: {$ref: \"#/$defs/b\"}\n        b: {$ref: \"#/$defs/a\"}\n      properties: {word: {$ref: \"#/$defs/a\"}}\n",
			`plugin.yaml:10:12: operations.filter.settings.$defs.b: more than 64 subschemas in one another apply to one value (`},
		{"large", "# " + strings.Repeat("x", 10<<20), "plugin.yaml: larger than 1MiB, the most that a host reads ("},
		{"several", "abi: 1\nname: P\nversion: 0.1\noperations:\n  filter:\n    raeds: [text]\n    wriets: [keep]\n    reads: [txet, score]\n    settings: {type: bool}\nlimits: {timeout: 2}\n",
			"plugin.yaml:2:7: name: \"P\" is not a name (want lower-case letters, digits and single hyphens, a letter first, at most 64)\n" +
				"DIRplugin.yaml:3:10: version: is the number 0.1 (want a string such as 0.1.0)\n" +
				"DIRplugin.yaml:6:5: operations.filter.raeds: unknown key (did you mean \"reads\"?)\n" +
				"DIRplugin.yaml:7:5: operations.filter.wriets: unknown key (did you mean \"writes\"?)\n" +
				"DIRplugin.yaml:8:13: operations.filter.reads[0]: unknown column \"txet\" (did you mean \"text\"?)\n" +
				"DIRplugin.yaml:9:22: operations.filter.settings.type: unknown type \"bool\" (did you mean \"boolean\"?)\n" +
				"DIRplugin.yaml:10:19: limits.timeout: is the number 2 (want a string such as 2s)"},
		{"twice", "abi: 1\nname: p\nname: q\n", `plugin.yaml:2:7: name: is stated twice (state it once)`},
		{"syntax", "abi: 1\nname: [\n", "plugin.yaml:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t, map[string]string{"plugin.yaml": c.text})
			_, _, err := readManifest(dir)
			if err == nil {
				t.Fatal("no error")
			}
			if got := strings.TrimPrefix(err.Error(), dir+string(filepath.Separator)); !strings.HasPrefix(got, strings.ReplaceAll(c.want, "DIR", dir+string(filepath.Separator))) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	_, _, err := readManifest(t.TempDir())
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a manifest: %v", err)
	}
	if _, err := spec.ParseManifest(nil); !errors.Is(err, spec.ErrManifest) {
		t.Errorf("an empty manifest: %v", err)
	}
}

// kindsOf are the kinds of projects in a language.
func kindsOf(language string) ([]string, error) {
	t, err := Lookup(language)
	if err != nil {
		return nil, err
	}
	return t.kinds()
}
