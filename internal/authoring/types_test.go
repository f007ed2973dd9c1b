package authoring

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const typesManifest = `abi: 1
name: my-plugin
version: 0.1.0
license: MIT
settings: {type: object, properties: {api-key: {type: string, description: "The key */ of\nthe API."}}}
operations:
  init: {}
  filter:
    reads: [text]
    settings:
      type: object
      properties:
        word: {type: string, default: ""}
        type: {type: integer}
        2nd: {type: number}
        strict: {type: boolean}
        list: {type: array}
        words: {type: array, items: {type: string}}
        counts: {type: array, items: {type: integer}}
        "*/ x(); /*": {type: string}
        constructor: {type: string}
        of: {type: string}
        static: {type: string}
`

// The types of every language compile, and hold the keys of the schema.
func TestTypes(t *testing.T) {
	for _, c := range []struct{ language, file, source, use, with, want string }{
		{"go", "settings.go", "main.go", "type Settings struct {\n\tWord string `json:\"word\"`\n}", "type Settings = FilterSettings", "Words []string `json:\"words\"`"},
		{"rust", "src/settings.rs", "src/lib.rs", `r.setting("word").text().unwrap_or("");`, "settings::FilterSettings::of(r).r#word;\n    let word = word.as_str();", "pub r#type: i64,"},
		{"c", "settings.h", "plugin.c", `anchor_setting_text(r, "word", "")`, "read_filter_settings(r).word_", "int64_t type_;"},
		{"cpp", "settings.h", "plugin.cpp", `anchor_setting_text(r, "word", "")`, "read_filter_settings(r).word_", "int64_t type_;"},
		{"zig", "settings.zig", "plugin.zig", `r.setting("word").string() orelse ""`, `@import("settings.zig").FilterSettings.of(r).word`, `@"type": i64,`},
		{"ts", "settings.ts", "plugin.ts", `request.settings.get("word").text()`, "new FilterSettings(request).word", "  type: i64;"},
		{"typescript", "settings.ts", "plugin.ts", `settings: Settings`, "settings: FilterSettings", "2nd\"?: number;"},
	} {
		t.Run(c.language, func(t *testing.T) {
			dir, head := newProject(t, c.language, "filter"), ""
			if c.language == "typescript" {
				head = "# language: typescript\n"
			}
			if err := os.WriteFile(filepath.Join(dir, ManifestFile), []byte(head+typesManifest), 0o644); err != nil {
				t.Fatal(err)
			}
			text, err := Types(dir, "")
			if err != nil || !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(c.want), " ")) {
				t.Fatalf("got %v\n%s", err, text)
			}
			source, err := os.ReadFile(filepath.Join(dir, c.source))
			if err != nil || !strings.Contains(string(source), c.use) {
				t.Fatalf("%v: the source lacks %s:\n%s", err, c.use, source)
			}
			changed := strings.Replace(string(source), c.use, c.with, 1)
			switch c.language {
			case "rust":
				changed = strings.Replace(changed, "\nuse ", "\nmod settings;\nuse ", 1)
			case "c", "cpp":
				changed = strings.Replace(changed, `#include "anchor.h"`, `#include "settings.h"`, 1)
			case "ts", "typescript":
				changed = `import { FilterSettings } from "./settings";` + "\n" + changed
			}
			if err := writeNew(filepath.Join(dir, c.file), []byte(text)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, c.source), []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
			if testing.Short() && c.language != "go" {
				t.Skip("runs compilers")
			}
			if err := os.WriteFile(filepath.Join(dir, ManifestFile), []byte(head+strings.Replace(typesManifest, "  init: {}\n", "", 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			_, err = Build(t.Context(), BuildOptions{Dir: dir, Messages: &said})
			if errors.Is(err, ErrMissing) {
				t.Skipf("NOT TESTED: %v", err)
			}
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, said.String(), text)
			}
		})
	}
}

func TestTypesErrors(t *testing.T) {
	dir := folder(t, map[string]string{ManifestFile: lintHead + "      properties: {a-b: {}, a_b: {}}\n"})
	// A manifest may be a stranger's: its keys are never more than keys.
	for _, key := range []string{`line\nx()`, `a\"b`, `back\\slash`, "tick`", "-", "", `bell\a`, "a,omitempty", `turn\u202e`} {
		strange := folder(t, map[string]string{ManifestFile: lintHead + "      properties: {\"" + key + "\": {type: string}}\n"})
		for _, language := range TypeLanguages {
			if text, err := Types(strange, language); err == nil || !strings.Contains(err.Error(), "cannot have a type (rename it") {
				t.Errorf("%s: the key %s: got %v, %s", language, key, err, text)
			}
		}
	}
	for language, want := range map[string]string{
		"go":  `settings of filter: the keys "a-b" and "a_b" have the same name AB (rename one)`,
		"wat": `language "wat": unknown language: there are no types for it (want one of go, tinygo, rust, c, cpp, zig, ts, js, typescript)`,
		"":    "unknown language",
	} {
		if _, err := Types(dir, language); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", language, err, want)
		}
	}
}

// A module has the schemas of its manifest; the language must be named.
func TestTypesOfAModule(t *testing.T) {
	const module = "../../testdata/wasm/keep-first/plugin.wasm"
	if text, err := Types(module, "go"); err != nil || !strings.HasPrefix(text, "// Written by") {
		t.Errorf("%v: %s", err, text)
	}
	if _, err := Types(module, ""); !errors.Is(err, ErrLanguage) || !strings.Contains(err.Error(), "--lang") {
		t.Error(err)
	}
	if _, err := Types("../../testdata/wasm/foreign/plugin.wasm", "go"); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Error(err)
	}
	if _, err := Types("types.go", "go"); err == nil {
		t.Error("a text is no module")
	}
}
