package jsbuild

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/schemas"
)

var update = flag.Bool("update", false, "write index.d.ts again")

// documentTypes returns the types of the documents of all operations.
func documentTypes(t *testing.T) string {
	t.Helper()
	text := "// The documents of all operations, from the schemas of abi. Written by: go test ./internal/jsbuild -run DocumentTypes -update\n" +
		"/// <reference path=\"./host.d.ts\" />\n\n" +
		"/** Settings, without the types that \"anchor-host plugin types\" writes from plugin.yaml. */\nexport type Settings = Record<string, any>;\n\n" +
		"/** No change is null or nothing. A function may be async. */\nexport type Answer<T> = T | null | void | Promise<T | null | void>;\n\n" +
		"/** A request of process, filter and rerank. */\nexport type RowsRequest = ItemsRequest & { columns: string[]; items: Item[] };\n\n"
	seen := map[string]json.RawMessage{}
	for _, info := range abi.Operations {
		for _, name := range []string{info.Request, info.Reply} {
			if name == "" {
				continue
			}
			schema, err := schemas.Of(name)
			if err != nil {
				t.Fatal(err)
			}
			var s struct {
				Defs map[string]json.RawMessage `json:"$defs"`
			}
			if err := json.Unmarshal(schema, &s); err != nil {
				t.Fatal(err)
			}
			seen[name] = schema
			maps.Copy(seen, s.Defs)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		text += Interface(name, seen[name]) + "\n"
	}
	return strings.TrimRight(text, "\n") + "\n"
}

// The types that projects get are those of the schemas.
func TestDocumentTypes(t *testing.T) {
	const file = "../../sdk/pdk-js/index.d.ts"
	want := documentTypes(t)
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the schemas say (write it again with -update): %v", file, err)
	}
	for _, part := range []string{"export interface Item {", "  content?: string;", "export interface Changes {", "  keep?: number[];", "  metadata?: Record<string, any>;"} {
		if !strings.Contains(want, part) {
			t.Errorf("the types lack %q", part)
		}
	}
}

func TestTypesOfSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"array","items":{"type":"string"}}`:                                         "string[]",
		`{"type":"array","items":{"type":["string","null"]}}`:                                "(string | null)[]",
		`{"enum":["a","b\"*/",1,null]}`:                                                      `"a" | "b\"*/" | 1 | null`,
		`{"type":"object","additionalProperties":{"type":"integer"}}`:                        "Record<string, number>",
		`{"type":"object","properties":{"a b":{"type":"string","default":"x"},"n":{}}}`:      "{\n  \"a b\": string;\n  n?: any;\n}",
		`{"type":"object","properties":{"n":{"description":"one */ two"}},"required":["n"]}`: "{\n  /** one * / two */\n  n: any;\n}",
		`{"oneOf":[{"type":"string"},{"type":"number"},{"type":"integer"}]}`:                 "string | number",
		`true`:       "any",
		`{"type":7}`: "any",
		strings.Repeat(`{"type":"array","items":`, 40) + `{}` + strings.Repeat(`}`, 40): "any" + strings.Repeat("[]", deepest),
	} {
		if got := typeOf(json.RawMessage(schema), "", deepest); got != want {
			t.Errorf("%.60s: got %s, want %s", schema, got, want)
		}
	}
}

// tableOf reads the trace that a script ends with.
func tableOf(t *testing.T, script string) *Trace {
	t.Helper()
	var rows Trace
	var text string
	at := strings.LastIndex(script, "}}, ")
	if err := json.Unmarshal([]byte(strings.TrimSuffix(script[at+4:], ");")), &text); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatal(err)
	}
	return &rows
}

// The globals of scripts do what those of Node.js do.
func TestGlobals(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs Node.js")
	}
	if out, err := exec.CommandContext(t.Context(), node, "testdata/globals.mjs", "../../sdk/pdk-js/globals.js").CombinedOutput(); err != nil {
		t.Errorf("%v\n%.4000s", err, out)
	}
}
