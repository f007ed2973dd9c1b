package docs

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/anchor-host/anchor-host/abi/schemas"
)

var abiDocument = regexp.MustCompile("(?s)<!-- document: (\\w+) -->\n```json\n(.*?)```")

func compileSchema(t *testing.T, document string) *jsonschema.Schema {
	t.Helper()
	text, err := schemas.Of(document)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(document, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(document)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// The examples of ABI.md are valid by their schemas. With a member that nobody
// knows a request still is, an answer is not.
func TestDocumentSchemas(t *testing.T) {
	text, err := os.ReadFile("../../abi/ABI.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := []string{"Manifest"}
	for _, m := range abiDocument.FindAllStringSubmatch(string(text), -1) {
		name := m[1]
		shown = append(shown, name)
		schema := compileSchema(t, name)
		var doc map[string]any
		if err := json.Unmarshal([]byte(m[2]), &doc); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: the example of ABI.md: %v", name, err)
		}
		doc["a_later_member"] = 1
		answer := strings.HasSuffix(name, "Reply") || name == "Changes"
		if err := schema.Validate(doc); (err != nil) != answer {
			t.Errorf("%s: with an unknown member: %v", name, err)
		}
	}
	slices.Sort(shown)
	if !slices.Equal(shown, schemas.Documents) {
		t.Errorf("ABI.md shows %v, schemas are %v", shown, schemas.Documents)
	}
}

// What the rules of ABI.md forbid, the schemas forbid where they can.
func TestSchemasRefuse(t *testing.T) {
	for _, c := range []struct{ document, text string }{
		{"Changes", `{"keep":[-1]}`},
		{"Changes", `{"keep":[1,1]}`},
		{"Changes", `{"keep":[4294967296]}`},
		{"Changes", `{"scores":[{"row":0,"score":1.5}]}`},
		{"Changes", `{"scores":[{"score":0.5}]}`},
		{"Changes", `{"edits":[{"row":0,"priority":11}]}`},
		{"Changes", `{"items":[{"content":""}]}`},
		{"Changes", `{"items":[{"content":"a","created_at":"yesterday"}]}`},
		{"TransformReply", `{"queries":[]}`},
		{"ClassifyReply", `{}`},
		{"Manifest", `{"abi":2,"name":"a","version":"1.0.0","operations":{"filter":{}}}`},
		{"Manifest", `{"abi":1,"name":"A b","version":"1.0.0","operations":{"filter":{}}}`},
		{"Manifest", `{"abi":1,"name":"a","version":"1.0.0","operations":{"filtre":{}}}`},
		{"Manifest", `{"abi":1,"name":"a","version":"1.0.0","operations":{}}`},
	} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compileSchema(t, c.document).Validate(doc); err == nil {
			t.Errorf("%s allows %s", c.document, c.text)
		}
	}
}

// A manifest is valid by its schema.
func TestManifestSchema(t *testing.T) {
	schema := compileSchema(t, "Manifest")
	err := schema.Validate(map[string]any{"abi": 1, "name": "a", "version": "1.0.0", "operations": map[string]any{"filter": map[string]any{
		"reads": []any{"text"}, "writes": []any{"keep"}, "defaults": map[string]any{"priority": 40, "on_error": "skip"},
	}}, "permissions": []any{map[string]any{"kind": "kv", "reason": "remembers", "quota": "1MiB"}}})
	if err != nil {
		t.Error(err)
	}
}
