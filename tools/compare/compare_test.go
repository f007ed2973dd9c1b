package main

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestCasesFollowFromTheirNumber holds that -show prints the case that was counted.
func TestCasesFollowFromTheirNumber(t *testing.T) {
	kinds := map[string]int{}
	for n := range uint64(300) {
		a, b := makeCase(n, true), makeCase(n, true)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("case %d is another one the second time", n)
		}
		kinds[a.kind]++
		for _, f := range a.files {
			if !json.Valid([]byte(f.text)) {
				t.Errorf("case %d: %s is not JSON", n, f.name)
			}
		}
	}
	if len(kinds) != 3 {
		t.Errorf("kinds of cases: %v", kinds)
	}
}

func TestDifference(t *testing.T) {
	for _, c := range []struct {
		name, want string
		a, b       answer
	}{
		{"equal", "", answer{out: "x"}, answer{out: "x"}},
		{"text", "stdout", answer{out: "x"}, answer{out: "y"}},
		{"times differ", "", answer{out: `{"total_ms": 1}`}, answer{out: `{"total_ms": 2}`}},
		{"a member", ".a[].b", answer{out: `{"a": [{"b": 1}]}`}, answer{out: `{"a": [{"b": 2}]}`}},
		{"a length", ".a (length)", answer{out: `{"a": [1]}`}, answer{out: `{"a": []}`}},
		{"a member more", ".c (absent in one)", answer{out: `{}`}, answer{out: `{"c": 0}`}},
		{"another type", ".a", answer{out: `{"a": {}}`}, answer{out: `{"a": 1}`}},
		{"exit codes", "exit 0, then 3: | bad N", answer{}, answer{code: 3, err: "bad  17\n"}},
	} {
		if got := difference(c.a, c.b); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
