package schemas

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
)

var update = flag.Bool("update", false, "write the schemas")

// document is a document with a schema. request says that hosts write it.
type document struct {
	doc     any
	request bool
}

// documents are those of the operations, and the manifest.
var documents = func() []document {
	list, seen := []document{{manifest.Manifest{}, false}}, map[string]bool{"": true}
	for _, info := range abi.Operations {
		for _, name := range []string{info.Request, info.Reply} {
			if doc := abi.NewDocument(name); doc != nil && !seen[name] {
				seen[name] = true
				list = append(list, document{reflect.ValueOf(doc).Elem().Interface(), name == info.Request})
			}
		}
	}
	return list
}()

// schemaRules are what the Go types cannot say, by "Type.member".
var schemaRules = map[string]map[string]any{
	"NewItem.score":              {"minimum": 0, "maximum": 1},
	"NewItem.content":            {"minLength": 1},
	"NewItem.priority":           {"minimum": 0, "maximum": abi.MaxPriority},
	"Edit.priority":              {"minimum": 1, "maximum": abi.MaxPriority},
	"RowScore.score":             {"minimum": 0, "maximum": 1},
	"TransformReply.queries":     {"minItems": 1, "maxItems": 32},
	"ClassifyReply.label":        {"minLength": 1},
	"EstimateReply.tokens":       {"minimum": 0},
	"ProviderBudget.phase":       {"enum": []string{"llm", "synthesize"}},
	"DistillRequest.mode":        {"enum": []string{"observe", "reflect"}},
	"ExtractReply.add":           {"maxItems": abi.MaxFacts},
	"ExtractReply.update":        {"maxItems": abi.MaxFacts},
	"ExtractReply.remove":        {"maxItems": abi.MaxFacts, "uniqueItems": true},
	"Fact.memory_type":           {"enum": abi.FactTypes},
	"Fact.relevance_score":       {"minimum": 0, "maximum": 1},
	"NewFact.content":            {"minLength": 1},
	"NewFact.memory_type":        {"enum": abi.FactTypes},
	"NewFact.relevance_score":    {"minimum": 0, "maximum": 1},
	"FactEdit.content":           {"minLength": 1},
	"DistillReply.replace":       {"maxItems": abi.MaxObservations},
	"DistillReply.add":           {"maxItems": abi.MaxObservations},
	"DistillReply.reflection":    {"minLength": 1},
	"MessagePart.index":          {"minimum": 0},
	"MessageMedia.bytes":         {"minimum": 0},
	"Event.type":                 {"enum": []string{"pipeline_start", "step_start", "step_end", "step_error", "pipeline_end"}},
	"ItemsRequest.columns":       {"uniqueItems": true},
	"Changes.keep":               {"uniqueItems": true},
	"Changes.order":              {"uniqueItems": true},
	"Manifest.abi":               {"const": abi.Version},
	"Manifest.name":              {"pattern": "^[a-z][a-z0-9]*(-[a-z0-9]+)*$", "maxLength": 64},
	"Manifest.operations":        {"minProperties": 1},
	"OperationSpec.max_priority": {"minimum": 0, "maximum": abi.MaxPriority},
	"StepDefaults.on_error":      {"enum": []string{"raise", "skip"}},
	"Permission.kind":            {"enum": []string{"http", "files", "kv", "service"}},
	"Permission.mode":            {"enum": []string{"ro", "rw"}},
	"Permission.service":         {"enum": manifest.Services},
}

// schemaRequired are the members an answer must have, by type. A request has
// those that are never left out.
var schemaRequired = map[string][]string{
	"Edit": {"row"}, "RowScore": {"row", "score"}, "NewItem": {"content"}, "TransformReply": {"queries"}, "ClassifyReply": {"label"},
	"NewFact": {"content"}, "FactEdit": {"id", "content"}, "FormatReply": {"output"}, "CountReply": {"counts"}, "Manifest": {"abi", "name", "version", "operations"}, "Permission": {"kind", "reason"},
}

// schemaOf makes the schema of one document.
type schemaOf struct {
	open bool // further members are allowed
	docs map[string]string
	defs map[string]any
}

func (s *schemaOf) object(t reflect.Type) map[string]any {
	props, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		member := s.value(t.Field(i).Type)
		if text := s.docs[t.Name()+"."+t.Field(i).Name]; text != "" {
			member["description"] = text
		}
		for k, v := range schemaRules[t.Name()+"."+name] {
			member[k] = v
		}
		props[name] = member
		if s.open && options == "" {
			required = append(required, name)
		}
	}
	if !s.open {
		required = append(required, schemaRequired[t.Name()]...)
	}
	obj := map[string]any{"type": "object", "properties": props}
	if !s.open {
		obj["additionalProperties"] = false
	}
	if len(required) > 0 {
		obj["required"] = required
	}
	if text := s.docs[t.Name()]; text != "" {
		obj["description"] = text
	}
	return obj
}

func (s *schemaOf) value(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	case reflect.TypeFor[manifest.HostList]():
		return map[string]any{"anyOf": []any{map[string]any{"const": manifest.FromGrant}, s.value(reflect.TypeFor[[]string]())}}
	case reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case reflect.TypeFor[abi.Metadata]():
		return map[string]any{"type": "object"}
	case reflect.TypeFor[abi.Change]():
		return map[string]any{"enum": abi.AllChanges}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.value(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.value(t.Elem())}
	case reflect.Map:
		names := make([]string, len(abi.Operations))
		for i, info := range abi.Operations {
			names[i] = string(info.Op)
		}
		return map[string]any{"type": "object", "propertyNames": map[string]any{"enum": names}, "additionalProperties": s.value(t.Elem())}
	case reflect.Struct:
		if _, ok := s.defs[t.Name()]; !ok {
			s.defs[t.Name()] = nil
			s.defs[t.Name()] = s.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + t.Name()}
	case reflect.Uint32:
		return map[string]any{"type": "integer", "minimum": 0, "maximum": uint32(1<<32 - 1)}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float64, reflect.Float32:
		return map[string]any{"type": "number"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	}
	panic("no schema for " + t.String())
}

// goDocs returns the comments of the types and fields of the documents.
func goDocs(t *testing.T) map[string]string {
	t.Helper()
	docs := map[string]string{}
	for _, name := range []string{"../document.go", "../manifest/manifest.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range gen.Specs {
				typ, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				docs[typ.Name.Name] = oneLine(gen.Doc.Text())
				if st, ok := typ.Type.(*ast.StructType); ok {
					for _, f := range st.Fields.List {
						for _, n := range f.Names {
							docs[typ.Name.Name+"."+n.Name] = oneLine(f.Doc.Text())
						}
					}
				}
			}
		}
	}
	return docs
}

// oneLine returns a comment as a description: in a document a nil is absent.
func oneLine(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "nil", "absent")
}

// The schemas are those of the Go types; -update writes them.
func TestSchemas(t *testing.T) {
	docs := goDocs(t)
	var names []string
	for _, d := range documents {
		typ := reflect.TypeOf(d.doc)
		names = append(names, typ.Name())
		s := schemaOf{open: d.request, docs: docs, defs: map[string]any{}}
		root := s.object(typ)
		root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		root["title"] = typ.Name()
		if len(s.defs) > 0 {
			root["$defs"] = s.defs
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(root); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(typ.Name()+".json", want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := Of(typ.Name()); err != nil {
			t.Errorf("%v (go test ./abi/schemas -update)", err)
		} else if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s.json is not that of the Go types (go test ./abi/schemas -update)", typ.Name())
		}
	}
	slices.Sort(names)
	if !*update && !slices.Equal(names, Documents) {
		t.Errorf("schemas of %v, documents %v", Documents, names)
	}
}

// Every rule and every required member belongs to a member that exists.
func TestSchemaRulesName(t *testing.T) {
	have := map[string]bool{}
	for _, doc := range []any{abi.Fact{}, abi.NewFact{}, abi.FactEdit{}, abi.NewItem{}, abi.Edit{}, abi.RowScore{}, manifest.OperationSpec{}, manifest.StepDefaults{}, manifest.Permission{}, abi.ProviderBudget{}, abi.MessagePart{}, abi.MessageMedia{}} {
		addMembers(have, doc)
	}
	for _, d := range documents {
		addMembers(have, d.doc)
	}
	for name := range schemaRules {
		if !have[name] {
			t.Errorf("rule for %s, which is no member", name)
		}
	}
	for typ, required := range schemaRequired {
		for _, name := range required {
			if !have[typ+"."+name] {
				t.Errorf("%s.%s is required and no member", typ, name)
			}
		}
	}
}

func addMembers(have map[string]bool, doc any) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(doc)) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		have[reflect.TypeOf(doc).Name()+"."+name] = true
	}
}

func TestSchemaUnknown(t *testing.T) {
	_, err := Of("Change")
	if err == nil || err.Error() != `document "Change": there is no schema (did you mean "Changes"?)` {
		t.Errorf("got %v", err)
	}
}
