package strict

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

type doc struct {
	Name  string           `key:"name,required" doc:"A name."`
	Count int              `key:"count" min:"1" max:"9" default:"3"`
	Share float64          `key:"share" min:"0" max:"1"`
	On    bool             `key:"on"`
	Mode  string           `key:"mode" enum:"ro,rw"`
	Tags  []string         `key:"tags" enum:"red,green"`
	When  time.Time        `key:"when"`
	Inner *inner           `key:"inner"`
	Named map[string]inner `key:"named"`
	Free  map[string]any   `key:"free"`
}

type inner struct {
	Size int `key:"size" min:"0"`
}

func parseYAML(text string, into any) error {
	n, err := ParseYAML("f.yaml", []byte(text))
	if err != nil {
		return err
	}
	return Decode("f.yaml", n, into)
}

func parseJSON(text string, into any) error {
	n, err := ParseJSON("f.json", []byte(text))
	if err != nil {
		return err
	}
	return Decode("f.json", n, into)
}

func TestDecodeYAML(t *testing.T) {
	var d doc
	err := parseYAML(`
name: n
count: 0x4
share: .5
on: true
mode: rw
tags: [red]
when: 2026-01-02T03:04:05Z
inner: &size {size: 2}
named: {a: *size}
free: {big: 9007199254740993, list: [1, 1.5, null, {deep: yes}]}
`, &d)
	if err != nil {
		t.Fatal(err)
	}
	want := doc{
		Name: "n", Count: 4, Share: .5, On: true, Mode: "rw", Tags: []string{"red"},
		When:  time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Inner: &inner{2}, Named: map[string]inner{"a": {2}},
		Free: map[string]any{
			"big": int64(9007199254740993), "list": []any{int64(1), 1.5, nil, map[string]any{"deep": "yes"}},
		},
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("got  %+v\nwant %+v", d, want)
	}
}

func TestDecodeJSON(t *testing.T) {
	var d doc
	err := parseJSON(`{"name": "a\u00e9", "count": 5.0, "on": null, "free": {"x": [9007199254740993]}}`, &d)
	if err != nil {
		t.Fatal(err)
	}
	want := doc{Name: "aé", Count: 5, Free: map[string]any{"x": []any{int64(9007199254740993)}}}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("got  %+v\nwant %+v", d, want)
	}
}

func TestMistakesInYAML(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown key with a near one", "name: n\ncuont: 1", `f.yaml:2:1: cuont: unknown key (did you mean "count"?)`},
		{"unknown key far from all", "name: n\ninner: {zzzzzz: 1}", `f.yaml:2:9: inner.zzzzzz: unknown key (want one of size)`},
		{"wrong type", "name: 7", `f.yaml:1:7: name: want a string, got 7 (write "7")`},
		{"string for a number", "name: n\ncount: 8k", `f.yaml:2:8: count: want a whole number, got the string "8k"`},
		{"fraction for a whole number", "name: n\ncount: 1.5", `f.yaml:2:8: count: want a whole number, got 1.5`},
		{"yes is a string", "name: n\non: yes", `f.yaml:2:5: on: want true or false, got the string "yes"`},
		{"list for a map", "name: n\ninner: [1]", `f.yaml:2:8: inner: want a map, got a list (want size below it)`},
		{"map for a list", "name: n\ntags: {a: 1}", `f.yaml:2:7: tags: want a list, got a map`},
		{"above the bounds", "name: n\ncount: 10", `f.yaml:2:8: count: want 1 to 9, got 10`},
		{"below one bound", "name: n\ninner: {size: -1}", `f.yaml:2:15: inner.size: want 0 or more, got -1`},
		{"not in the enum", "name: n\nmode: r", `f.yaml:2:7: mode: unknown value "r" (want one of ro, rw)`},
		{"list value not in the enum", "name: n\ntags: [red, gren]", `f.yaml:2:13: tags[1]: unknown value "gren" (did you mean "green"?)`},
		{"missing key", "count: 1", `f.yaml:1:1: missing key "name"`},
		{"null is missing", "name:", `f.yaml:1:1: missing key "name"`},
		{"duplicate key", "name: a\nname: b", `f.yaml:2:1: name: duplicate key (first in line 1)`},
		{"duplicate key in free form", "name: a\nfree: {a: {b: 1, b: 2}}", `f.yaml:2:18: free.a.b: duplicate key (first in line 2)`},
		{"not finite", "name: a\nshare: .nan", `f.yaml:2:8: the number .nan is not finite`},
		{"out of range", "name: a\ncount: 99999999999999999999", `f.yaml:2:8: count: want a whole number, got 1e+20`},
		{"second document", "name: a\n---\nname: b", `f.yaml:2:1: a second document follows (keep one document per file)`},
		{"syntax", "name: [a", `f.yaml:1: not valid YAML: did not find expected ',' or ']'`},
		{"time", "name: a\nwhen: soon", `f.yaml:2:7: when: want a time such as "2006-01-02T15:04:05Z", got "soon"`},
		{"null in a list", "name: a\ntags: [red, ~]", `f.yaml:2:13: tags[1]: want a value, got nothing`},
		{"null", "~", `f.yaml:1:1: want a map, got null`},
		{"not a map", "- 1", `f.yaml:1:1: want a map, got a list`},
		{"several at once", "cuont: 1\nmode: x\nname: 3", "f.yaml:1:1: cuont: unknown key (did you mean \"count\"?)\n" +
			"f.yaml:2:7: mode: unknown value \"x\" (want one of ro, rw)\nf.yaml:3:7: name: want a string, got 3 (write \"3\")"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d doc
			err := parseYAML(tt.text, &d)
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got %v, want Problems", err)
			}
			if err.Error() != tt.want {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
		})
	}
}

func TestMistakesInJSON(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown key", "{\n  \"name\": \"é\", \"cuont\": 1}", `f.json:2:16: cuont: unknown key (did you mean "count"?)`},
		{"trailing data", `{"name": "n"} {}`, `f.json:1:15: more data follows the document (send one document)`},
		{"trailing comma", `{"name": "n"},`, `f.json:1:15: more data follows the document (send one document)`},
		{"duplicate", `{"name": "n", "name": "m"}`, `f.json:1:15: name: duplicate key (first in line 1)`},
		{"truncated", `{"name": "n"`, `f.json:1:13: the document ends in the middle of a value`},
		{"empty", "  ", `f.json:1:3: the document is empty (want a JSON object)`},
		{"null", " null", `f.json:1:2: want a map, got null`},
		{"syntax", `{"name": nope}`, `f.json:1:11: not valid JSON: invalid character 'o' in literal null (expecting 'u')`},
		{"huge number in free form", `{"name": "n", "free": {"x": 99999999999999999999}}`,
			`f.json:1:29: free.x: the whole number 99999999999999999999 does not fit into 64 bits (write it as a string)`},
		{"infinite number", `{"name": "n", "share": 1e999}`, `f.json:1:24: share: the number 1e999 is out of range`},
		{"too deep", `{"name": "n", "free": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
			`f.json:1:87: nested deeper than 64 levels`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d doc
			err := parseJSON(tt.text, &d)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// A file with nothing in it is an empty map.
func TestEmptyYAML(t *testing.T) {
	for _, text := range []string{"", "\n", "# a comment\n", "---\n", "--- # a comment\n...\n"} {
		var d inner
		if err := parseYAML(text, &d); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAliasesAreBounded(t *testing.T) {
	text := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'h'; c++ {
		prev := string(c - 1)
		text += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+prev+", ", 9) + "*" + prev + "]\n"
	}
	_, err := ParseYAML("f.yaml", []byte(text))
	if err == nil || !strings.Contains(err.Error(), "more than 100000 values once aliases are expanded") {
		t.Errorf("got %v", err)
	}
}

func TestFind(t *testing.T) {
	n, err := ParseYAML("f", []byte("a:\n  b.c: [1, {d: 2}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]Pos{
		"a.b.c[1].d": {2, 16}, "a.b.c[0]": {2, 9}, "a.b.c[1].missing": {2, 12}, "a.b.c[7]": {2, 8}, "": {1, 1}, "x": {1, 1},
	} {
		got, ok := n.Find(path)
		if got.Pos != want || ok != (path != "x" && path != "a.b.c[7]" && path != "a.b.c[1].missing") {
			t.Errorf("Find(%q) = %v, %v; want %v", path, got.Pos, ok, want)
		}
	}
}

func TestHint(t *testing.T) {
	names := []string{"priority", "plugin", "top_k"}
	const all = " (want one of priority, plugin, top_k)"
	for in, want := range map[string]string{
		"prioriti": ` (did you mean "priority"?)`, "Plugin": ` (did you mean "plugin"?)`, "topk": ` (did you mean "top_k"?)`,
		"plguin": ` (did you mean "plugin"?)`, "x": all, "something": all, strings.Repeat("plugin", 1<<20): all,
	} {
		if got := Hint(in, names); got != want {
			t.Errorf("Hint(%.20q) = %q, want %q", in, got, want)
		}
	}
}

func TestSchema(t *testing.T) {
	got := Schema(reflect.TypeFor[doc]())
	properties := got["properties"].(map[string]any)
	if !reflect.DeepEqual(got["required"], []string{"name"}) || got["additionalProperties"] != false {
		t.Errorf("got %v", got)
	}
	for key, want := range map[string]map[string]any{
		"name":  {"type": "string", "description": "A name."},
		"count": {"type": "integer", "minimum": 1.0, "maximum": 9.0, "default": 3.0},
		"tags":  {"type": "array", "items": map[string]any{"type": "string", "enum": []string{"red", "green"}}},
		"when":  {"type": "string"},
	} {
		if !reflect.DeepEqual(properties[key], want) {
			t.Errorf("%s: got %v, want %v", key, properties[key], want)
		}
	}
}

// The invariant of every decoder: a value or an error, and the same value when
// it is read again. It takes no more memory than a multiple of the text.
func FuzzYAML(f *testing.F) {
	f.Add("name: n\ncount: 4\nfree: {a: [1, 2.5, null]}")
	f.Add("a: &a [*a]")
	f.Add("? [x]\n: y")
	f.Add("!!binary x: y")
	f.Add("free: {a: [" + strings.Repeat("1,", 1000) + "]}")
	f.Add("a: &a {" + strings.Repeat("a,", 1000) + "}\nfree: [*a, *a]")
	f.Add("tags:\n" + strings.Repeat("- - 1\n", 1000))
	f.Fuzz(func(t *testing.T, text string) { fuzzOne(t, text, 700, ParseYAML) })
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"name": "n", "free": {"a": [1, 2.5, null, "é"]}}`)
	f.Add(`{"name": "n"}}`)
	f.Add(`{"free": {"a": [` + strings.Repeat(`{"a":1},`, 1000) + `1]}}`)
	f.Add(`{"named": {` + strings.Repeat(`"a":{},`, 1000) + `"b":{}}}`)
	f.Add(`{"tags": [` + strings.Repeat(`1,`, 1000) + `"\u0041\""]}`)
	f.Fuzz(func(t *testing.T, text string) { fuzzOne(t, text, 200, ParseJSON) })
}

func fuzzOne(t *testing.T, text string, most int64, parse func(string, []byte) (*Node, error)) {
	var n *Node
	var err error
	took := cost(func() {
		if n, err = parse("f", []byte(text)); err == nil {
			_ = Decode("f", n, &doc{})
		}
	})
	if took > most*int64(len(text))+256<<10 {
		t.Fatalf("%d bytes took %d KiB", len(text), took>>10)
	}
	if (n == nil) == (err == nil) {
		t.Fatalf("node %v, error %v: want exactly one", n, err)
	}
	if err != nil {
		return
	}
	var d doc
	if err := Decode("f", n, &d); err == nil && d.Name == "" && n.Kind == Map {
		if v, ok := n.Find("name"); !ok || v.Kind == Null {
			t.Fatal("decoded without the required key")
		}
	}
	if n.Kind == Map {
		var free struct {
			Free map[string]any `key:"free"`
		}
		if Decode("f", n, &free) == nil && !reflect.DeepEqual(FromAny(free.Free).Any(), any(free.Free)) && free.Free != nil {
			t.Fatal("a value of free form changes when it is converted")
		}
	}
}

// A document with many mistakes costs no more than one with few: the error lists the first.
func TestManyMistakes(t *testing.T) {
	var doc strings.Builder
	doc.WriteString("{")
	for i := range 1000 {
		fmt.Fprintf(&doc, `"unknown%d":1,`, i)
	}
	doc.WriteString(`"names":[1]}`)
	n, err := ParseJSON("f", []byte(doc.String()))
	if err != nil {
		t.Fatal(err)
	}
	var into struct {
		Names []string `key:"names"`
	}
	var problems Problems
	if err := Decode("f", n, &into); !errors.As(err, &problems) || len(problems) != MaxProblems+1 {
		t.Fatalf("%d problems", len(problems))
	}
	if got, want := problems[MaxProblems].Error(), "f: and 981 more (fix these first)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A long key is not copied for each of the values below it.
func TestLongKeys(t *testing.T) {
	const values = 20_000
	doc := `{"free":{"` + strings.Repeat("k", 1<<20) + `":[` + strings.Repeat("0,", values-1) + `1e999]}}`
	n, err := ParseJSON("f", []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	var into struct {
		Free map[string]any `key:"free"`
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = Decode("f", n, &into)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.HasSuffix(err.Error(), "the number 1e999 is out of range") || len(err.Error()) > 400 {
		t.Errorf("got %.300v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 100<<20 {
		t.Errorf("%d values below a key of 1 MiB took %d MiB", values, took>>20)
	}
}
