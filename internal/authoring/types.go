package authoring

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/format"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/jsbuild"
	"github.com/anchor-host/anchor-host/internal/plain"
)

// TypeLanguages are the languages of [Types].
var TypeLanguages = []string{"go", "tinygo", "rust", "c", "cpp", "zig", "ts", "js", "typescript"}

// Types returns source code with one type for the settings of each operation of a project, or of the
// plugin in a module. Its fields have the keys of the schemas in plugin.yaml, so that a misspelt key
// does not compile. The language is that of the project if it is "". Errors are those of the manifest,
// wrap ErrLanguage, or name two keys that have the same name in the language.
func Types(dir, language string) (string, error) {
	info, err := os.Stat(dir)
	module := err == nil && info.Mode().IsRegular()
	switch {
	case language == "" && module:
		return "", fmt.Errorf("%s: %w: a module does not state one (name it with --lang)", dir, ErrLanguage)
	case language == "":
		var err error
		if language, err = Detect(dir); err != nil {
			return "", err
		}
	}
	w, ok := typeWriters[language]
	if !ok {
		return "", fmt.Errorf("language %q: %w: there are no types for it (want one of %s)", language, ErrLanguage, strings.Join(TypeLanguages, ", "))
	}
	m, err := manifestOf(dir, module)
	if err != nil {
		return "", err
	}
	text := w.head
	for _, s := range settingsOf(m) {
		fields, err := fieldsOf(s.schema, w)
		if err != nil {
			return "", fmt.Errorf("settings of %s: %w", s.op, err)
		}
		if w.write == nil {
			text += "\n" + jsbuild.Interface(camel(string(s.op))+"Settings", s.schema)
			continue
		}
		text += w.write(s.op, fields)
	}
	if w.format {
		b, err := format.Source([]byte(text))
		return string(b), err
	}
	return text, nil
}

// manifestOf is the manifest of a project, or of a module.
func manifestOf(path string, module bool) (*manifest.Manifest, error) {
	if !module {
		m, _, err := readManifest(path)
		return m, err
	}
	s, err := spec.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if s.Manifest == nil {
		return nil, fmt.Errorf("%s: %w: it is a module of another host, and has no schemas", path, spec.ErrManifest)
	}
	return s.Manifest, nil
}

// operationSettings is the schema of the settings of one operation.
type operationSettings struct {
	op     abi.Operation
	schema json.RawMessage
}

// settingsOf lists the schemas of a manifest in the order of the operations.
func settingsOf(m *manifest.Manifest) (out []operationSettings) {
	for _, info := range abi.Operations {
		schema := m.Operations[info.Op].Settings
		if info.Op == abi.OpInit {
			schema = m.Settings
		}
		if len(schema) > 0 {
			out = append(out, operationSettings{info.Op, schema})
		}
	}
	return out
}

// settingField is one key of a schema. kind is string, integer, number, boolean, or "" for
// everything else. items is the kind of the items if it is a list of such values.
type settingField struct{ key, name, kind, doc, items string }

// fieldsOf lists the keys of a schema, sorted.
func fieldsOf(schema json.RawMessage, w typeWriter) ([]settingField, error) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	var out []settingField
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		if err := checkKey(key); err != nil {
			return nil, err
		}
		var p struct {
			Type        any
			Description string
			Items       struct{ Type any }
		}
		_ = json.Unmarshal(s.Properties[key], &p) // true and false are schemas, too
		kind, items := scalar(p.Type), ""
		if p.Type == "array" {
			items = scalar(p.Items.Type)
		}
		f := settingField{key: key, name: w.name(key), kind: kind, items: items, doc: comment(cmp.Or(p.Description, "The setting "+key+"."))}
		if other, twice := seen[f.name]; twice {
			return nil, fmt.Errorf("the keys %.100q and %.100q have the same name %s (rename one)", other, key, f.name)
		}
		seen[f.name] = key
		out = append(out, f)
	}
	return out, nil
}

// scalar is the type that a schema states if it is one of single values, and "" otherwise.
func scalar(stated any) string {
	kind, _ := stated.(string)
	if !slices.Contains([]string{"string", "integer", "number", "boolean"}, kind) {
		return ""
	}
	return kind
}

// comment makes a text fit for a comment of one line: it does not end the comment.
func comment(text string) string {
	return strings.ReplaceAll(plain.Line(strings.Join(strings.Fields(text), " ")), "*/", "* /")
}

// keySigns are the characters of keys besides letters and digits: those that encoding/json allows in
// the tag of a field, and that need no escape in a string of any language.
const keySigns = "!#$%&()*+-./:;<=>?@[]^_{|}~ "

// checkKey returns an error if a key cannot stand in source code as it is.
func checkKey(key string) error {
	strange := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(keySigns, r)
	}
	if key == "" || key == "-" || !utf8.ValidString(key) || strings.ContainsFunc(key, strange) {
		return fmt.Errorf("the key %.100q cannot have a type (rename it: want letters, digits and signs such as - and _)", key)
	}
	return nil
}

// typeWriter writes types of one language.
type typeWriter struct {
	head   string
	format bool
	name   func(key string) string
	// write writes the type of the fields. nil: package jsbuild writes it of the schema.
	write func(op abi.Operation, fields []settingField) string
}

const generated = "Written by \"anchor-host plugin types\" from plugin.yaml; write it again when the settings change."

var typeWriters = map[string]typeWriter{
	"go":     {"// " + generated + "\n\npackage main\n", true, camel, writeGoTypes},
	"tinygo": {"// " + generated + "\n\npackage main\n", true, camel, writeGoTypes},
	"rust":   {"//! " + generated + "\n", false, func(key string) string { return "r#" + snake(key) }, writeRustTypes},
	"c":      {"/* " + generated + " */\n#include \"anchor.h\"\n", false, func(key string) string { return snake(key) + "_" }, writeCTypes},
	"cpp":    {"/* " + generated + " */\n#include \"anchor.h\"\n", false, func(key string) string { return snake(key) + "_" }, writeCTypes},
	"zig":    {"//! " + generated + "\n\nconst anchor = @import(\"anchor/anchor.zig\");\n", false, zigName, writeZigTypes},
	"ts":     {"// " + generated + "\n\nimport { Request, Value } from \"./anchor/index\";\n", false, lowerCamel, writeASTypes},
	"js":     {"// " + generated + "\n", false, strings.Clone, nil},

	"typescript": {"// " + generated + "\n", false, strings.Clone, nil},
}

// snake makes a name of a key: lower-case letters, digits and underscores, a letter first.
func snake(key string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, key)
	name = cmp.Or(strings.Trim(name, "_"), "key")
	if name[0] <= '9' {
		return "n" + name
	}
	switch name { // Rust does not allow these even as raw names
	case "self", "super", "crate":
		return name + "_key"
	}
	return name
}

// zigName makes a name of a key that differs from the function of the type.
func zigName(key string) string {
	name := snake(key)
	if name == "of" {
		name = "of_key"
	}
	return `@"` + name + `"`
}

func camel(key string) string {
	parts := strings.Split(snake(key), "_")
	for i, p := range parts {
		if p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}

func lowerCamel(key string) string {
	name := camel(key)
	name = strings.ToLower(name[:1]) + name[1:]
	switch name { // these have a meaning before a member of a class
	case "abstract", "constructor", "declare", "get", "private", "protected", "public", "readonly", "set", "static":
		return name + "Key"
	}
	return name
}

// hasRows reports whether the function of an operation takes a request with rows, not a document.
func hasRows(op abi.Operation) bool {
	info, _ := abi.LookupOperation(op)
	return info.Batch
}

func writeGoTypes(op abi.Operation, fields []settingField) string {
	types := map[string]string{"string": "string", "integer": "int", "number": "float64", "boolean": "bool", "": "any"}
	b := fmt.Sprintf("\n// %sSettings are the settings of %s.\ntype %[1]sSettings struct {\n", camel(string(op)), op)
	for _, f := range fields {
		kind := types[f.kind]
		if f.items != "" {
			kind = "[]" + types[f.items]
		}
		b += fmt.Sprintf("\t// %s: %s\n\t%[1]s %[3]s `json:%[4]q`\n", f.name, f.doc, kind, f.key)
	}
	return b + "}\n"
}

func writeRustTypes(op abi.Operation, fields []settingField) string {
	types := map[string]string{"string": "String", "integer": "i64", "number": "f64", "boolean": "bool", "": "anchor::Json"}
	reads := map[string]string{"string": ".text().unwrap_or_default().to_string()", "integer": ".int().unwrap_or_default()",
		"number": ".number().unwrap_or_default()", "boolean": ".bool().unwrap_or_default()", "": ".clone()"}
	from, get := "&anchor::Request", "r.setting(%q)"
	if !hasRows(op) {
		from, get = "&anchor::Json", `r.get("settings").get(%q)`
	}
	name := camel(string(op)) + "Settings"
	b := fmt.Sprintf("\n/// The settings of %s.\n#[allow(dead_code)]\n#[derive(Clone, Debug)]\npub struct %s {\n", op, name)
	init := ""
	for _, f := range fields {
		b += fmt.Sprintf("    /// %s\n    pub %s: %s,\n", f.doc, f.name, types[f.kind])
		init += fmt.Sprintf("            %s: "+get+"%s,\n", f.name, f.key, reads[f.kind])
	}
	return b + fmt.Sprintf("}\n\nimpl %s {\n    /// Reads the settings of a request.\n    pub fn of(r: %s) -> Self {\n        %[1]s {\n%[3]s        }\n    }\n}\n", name, from, init)
}

func writeCTypes(op abi.Operation, fields []settingField) string {
	types := map[string]string{"string": "anchor_text", "integer": "int64_t", "number": "double", "boolean": "int", "": "anchor_json"}
	reads := map[string]string{"string": "anchor_setting_text(r, %q, \"\")", "integer": "anchor_setting_int(r, %q, 0)",
		"number": "anchor_setting_number(r, %q, 0)", "boolean": "anchor_setting_bool(r, %q, 0)", "": "anchor_json_get(r->settings, %q)"}
	b := fmt.Sprintf("\n/* The settings of %s. */\ntypedef struct {\n", op)
	init := ""
	for _, f := range fields {
		b += fmt.Sprintf("    %s %s; /* %s */\n", types[f.kind], f.name, f.doc)
		init += fmt.Sprintf("    s.%s = "+reads[f.kind]+";\n", f.name, f.key)
	}
	b += fmt.Sprintf("} %s_settings;\n\n/* Reads the settings of a request. */\n", op)
	if hasRows(op) {
		return b + fmt.Sprintf("static inline %s_settings read_%[1]s_settings(const anchor_request *r) {\n    %[1]s_settings s;\n%[2]s    return s;\n}\n", op, init)
	}
	return b + fmt.Sprintf("static inline %s_settings read_%[1]s_settings(anchor_json document) {\n    anchor_request request = {0}, *r = &request;\n    %[1]s_settings s;\n"+
		"    request.settings = anchor_json_get(document, \"settings\");\n%[2]s    return s;\n}\n", op, init)
}

func writeZigTypes(op abi.Operation, fields []settingField) string {
	types := map[string]string{"string": "[]const u8", "integer": "i64", "number": "f64", "boolean": "bool", "": "anchor.Json"}
	reads := map[string]string{"string": ".string() orelse \"\"", "integer": ".int() orelse 0", "number": ".number() orelse 0", "boolean": ".boolean() orelse false", "": ""}
	from, get := "*const anchor.Request", "r.setting(%q)"
	if !hasRows(op) {
		from, get = "anchor.Json", `r.get("settings").get(%q)`
	}
	b := fmt.Sprintf("\n/// The settings of %s.\npub const %sSettings = struct {\n", op, camel(string(op)))
	init := ""
	for _, f := range fields {
		b += fmt.Sprintf("    /// %s\n    %s: %s,\n", f.doc, f.name, types[f.kind])
		init += fmt.Sprintf("            .%s = "+get+"%s,\n", f.name, f.key, reads[f.kind])
	}
	return b + fmt.Sprintf("\n    /// Reads the settings of a request.\n    pub fn of(r: %s) %sSettings {\n        return .{\n%s        };\n    }\n};\n", from, camel(string(op)), init)
}

func writeASTypes(op abi.Operation, fields []settingField) string {
	types := map[string]string{"string": "string", "integer": "i64", "number": "f64", "boolean": "bool", "": "Value"}
	reads := map[string]string{"string": ".text()", "integer": ".integer()", "number": ".number()", "boolean": ".bool()", "": ""}
	from, get := "request: Request", "request.settings.get(%q)"
	if !hasRows(op) {
		from, get = "request: Value", `request.get("settings").get(%q)`
	}
	b := fmt.Sprintf("\n/** The settings of %s, read from a request. */\nexport class %sSettings {\n", op, camel(string(op)))
	init := ""
	for _, f := range fields {
		b += fmt.Sprintf("  /** %s */\n  %s: %s;\n", f.doc, f.name, types[f.kind])
		init += fmt.Sprintf("    this.%s = "+get+"%s;\n", f.name, f.key, reads[f.kind])
	}
	return b + fmt.Sprintf("\n  constructor(%s) {\n%s  }\n}\n", from, init)
}
