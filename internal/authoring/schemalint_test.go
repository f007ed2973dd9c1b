package authoring

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

const lintHead = `abi: 1
name: p
version: 0.1.0
license: MIT
operations:
  filter:
    reads: [text]
    settings:
      type: object
`

// A schema with a mistake is refused, with the place.
func TestSchemaLint(t *testing.T) {
	for schema, want := range map[string]string{
		"      properties: {days: {type: integer, minimum: 1, default: 4}}":                                    "",
		"      properties: {days: {type: int}}":                                                                `plugin.yaml:10:33: operations.filter.settings.properties.days.type: unknown type "int" (did you mean "integer"?)`,
		"      properties: {on: {type: bool}}":                                                                 `plugin.yaml:10:31: operations.filter.settings.properties.on.type: unknown type "bool" (did you mean "boolean"?)`,
		"      properties: {on: {type: strin}}":                                                                `unknown type "strin" (did you mean "string"?)`,
		"      properties: {days: {type: integer, minimun: 1}}":                                                `plugin.yaml:10:42: operations.filter.settings.properties.days.minimun: unknown keyword of a schema (did you mean "minimum"?)`,
		"      additionalProprties: false":                                                                     `plugin.yaml:10:7: operations.filter.settings.additionalProprties: unknown keyword of a schema (did you mean "additionalProperties"?)`,
		"      properties: {days: {type: integer, default: many}}":                                             `plugin.yaml:10:51: operations.filter.settings.properties.days.default: breaks its own schema: got string, want integer`,
		"      properties: {days: {type: integer, minimum: 5, default: 4}}":                                    `plugin.yaml:10:63: operations.filter.settings.properties.days.default: breaks its own schema: minimum: got 4, want 5`,
		"      properties: {days: {type: integer, minimum: '5'}}":                                              `plugin.yaml:10:51: operations.filter.settings.properties.days.minimum: want a number`,
		"      properties: {days: integer}":                                                                    `operations.filter.settings.properties.days: want a schema, an object such as {type: string}`,
		"      required: days":                                                                                 `operations.filter.settings.required: want a list of names`,
		"      properties: {days: {type: integer}}\n      required: [dayz]\n      additionalProperties: false": `plugin.yaml:11:18: operations.filter.settings.required[0]: requires "dayz", which properties does not have (did you mean "days"?)`,
		"      properties: {days: {type: integer}}\n      required: [dayz]":                                    "",
		"      properties: {days: {type: integer}}\n      required: [days]\n      additionalProperties: false": "",
		"      x-order: [days]":                                                                                "",
		"      properties: {a: {$ref: '#/$defs/a', default: 1}}\n      $defs: {a: {type: integer}}":            "",
	} {
		dir := folder(t, map[string]string{ManifestFile: lintHead + schema + "\n"})
		_, _, err := readManifest(dir)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s:\ngot  %v\nwant %s", schema, err, want)
		}
	}
}

// The plugins of the repository have no such mistakes.
func TestSchemaLintOfExamples(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../../plugins", func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == ManifestFile {
			found++
			_, _, err = readManifest(filepath.Dir(path))
		}
		return err
	})
	if err != nil || found < 10 {
		t.Errorf("%d manifests, %v", found, err)
	}
}
