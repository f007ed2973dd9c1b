package connect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// addTOML appends the table of our server to a file in TOML, and checks that all else means the same.
func addTOML(data []byte, e *entry) ([]byte, error) {
	if err := shallow(data); err != nil {
		return nil, err
	}
	before, err := readTOML(data)
	if err != nil {
		return nil, err
	}
	if has(before, e.path) {
		return nil, fmt.Errorf("%s is there already, and is not ours (rename or remove it)", strings.Join(e.path, "."))
	}
	out := bytes.Clone(data)
	if len(out) > 0 {
		if out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		out = append(out, '\n')
	}
	out = append(out, "["+strings.Join(e.path, ".")+"]\n"...)
	list, _ := e.value.(members) // the plan makes no other
	for _, m := range list {
		value, err := tomlValue(m.value)
		if err != nil {
			return nil, err
		}
		out = append(out, m.name+" = "+value+"\n"...)
	}
	after, err := readTOML(out)
	if err != nil {
		return nil, fmt.Errorf("a table %s cannot be added: %w", strings.Join(e.path, "."), err)
	}
	without(after, e.path)
	if without(before, e.path); !reflect.DeepEqual(before, after) {
		return nil, fmt.Errorf("a table %s cannot be added without a change of others (add it by hand)", strings.Join(e.path, "."))
	}
	return out, nil
}

// stripTOML takes our table out, from its header to the next header.
func stripTOML(data []byte, e *entry) ([]byte, error) {
	before, err := readTOML(data)
	if err != nil {
		return nil, err
	}
	if !has(before, e.path) {
		return data, nil
	}
	header := "[" + strings.Join(e.path, ".")
	var out, space []byte // space are empty lines in our table, which stay if something follows
	ours := false
	for line := range bytes.Lines(data) {
		trimmed := strings.TrimSpace(string(line))
		if strings.HasPrefix(trimmed, "[") {
			was := ours
			ours = strings.HasPrefix(trimmed, header+"]") || strings.HasPrefix(trimmed, header+".")
			if ours && !was && bytes.HasSuffix(out, []byte("\n\n")) {
				out = out[:len(out)-1]
			}
		} else if ours && strings.HasPrefix(trimmed, "#") {
			ours = false // a comment of somebody else
		}
		switch {
		case !ours:
			out = append(append(out, space...), line...)
			space = nil
		case trimmed == "":
			space = append(space, line...)
		default:
			space = nil
		}
	}
	after, err := readTOML(out)
	if err != nil {
		return nil, err
	}
	without(before, e.path)
	if without(after, e.path); !reflect.DeepEqual(before, after) {
		return nil, fmt.Errorf("the table %s cannot be removed without a change of others (remove it by hand)", strings.Join(e.path, "."))
	}
	return out, nil
}

func readTOML(data []byte) (map[string]any, error) {
	doc := map[string]any{}
	if err := toml.Unmarshal(bytes.TrimPrefix(data, bom), &doc); err != nil {
		return nil, fmt.Errorf("not valid TOML: %w", err)
	}
	return doc, nil
}

func has(doc map[string]any, path []string) bool {
	for _, name := range path[:len(path)-1] {
		inner, ok := doc[name].(map[string]any)
		if !ok {
			return false
		}
		doc = inner
	}
	_, ok := doc[path[len(path)-1]]
	return ok
}

// without deletes what is at a path, and maps that are empty then.
func without(doc map[string]any, path []string) {
	if len(path) > 1 {
		if inner, ok := doc[path[0]].(map[string]any); ok {
			if without(inner, path[1:]); len(inner) == 0 {
				delete(doc, path[0])
			}
		}
		return
	}
	delete(doc, path[0])
}

// tomlValue writes a text or a list of texts. Basic strings of TOML have the escapes of JSON.
func tomlValue(v any) (string, error) {
	switch v := v.(type) {
	case string:
		text, err := marshal(v)
		return string(text), err
	case []string:
		text, err := marshal(v)
		return strings.ReplaceAll(string(text), `","`, `", "`), err
	}
	text, err := json.Marshal(v)
	return string(text), err
}
