package config

import (
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// Tools of a JSON document keep every byte, those of YAML keep the order of their keys.
func TestTools(t *testing.T) {
	json := func(text string) (*strict.Node, error) { return strict.ParseJSON("f", []byte(text)) }
	yaml := func(text string) (*strict.Node, error) { return strict.ParseYAML("f", []byte(text)) }
	for _, tc := range []struct {
		parse      func(string) (*strict.Node, error)
		text, want string
	}{
		{json, `{"tools": [ {"z": 1.0,  "a": "\u00e9<"} ] }`, `[ {"z": 1.0,  "a": "\u00e9<"} ]`},
		{yaml, "tools:\n  - {name: f, input_schema: {type: object, a: [1, 0.5, true, null]}}\n", `[{"name":"f","input_schema":{"type":"object","a":[1,0.5,true,null]}}]`},
		{yaml, "tools: '[{\"b\": 1}]'\n", `[{"b": 1}]`},
		{json, `{"tools": {}}`, "error"}, {json, `{"tools": [1]}`, "error"}, {json, `{"tools": [{"a": 1, "a": 2}]}`, "error"}, {yaml, "tools: nonsense", "error"},
	} {
		n, err := tc.parse(tc.text)
		if err != nil {
			t.Fatal(err)
		}
		var c Window
		err = strict.Decode("f", n, &c)
		if tc.want == "error" {
			if err == nil || !strings.Contains(err.Error(), "tools") {
				t.Errorf("%s: %v", tc.text, err)
			}
			continue
		}
		if err != nil || string(c.Tools.JSON()) != tc.want {
			t.Errorf("%s: %s, %v", tc.text, c.Tools, err)
		}
	}
}
