package decode

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestFree(t *testing.T) {
	for _, good := range []string{`1`, `{"a":1,"b":{"a":1}}`, "\"\xff\"", `123456789012345678901234567890`, strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)} {
		if err := Free("x", []byte(good)); err != nil {
			t.Errorf("%.40s: %v", good, err)
		}
	}
	for in, want := range map[string]string{
		`{"a":1,"a":2}`: "x.a: given twice", `[{"b":{"c":1,"c":1}}]`: "x[0].b.c: given twice",
		`1 2`: "data after", `1]`: "invalid character", ``: "EOF", `[`: "EOF", `nope`: "invalid",
		strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1): "nested deeper",
	} {
		if err := Free("x", []byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", in, err, want)
		}
	}
}

func TestOpenLoose(t *testing.T) {
	read := func(string, json.RawMessage) error { return nil }
	if err := OpenLoose([]byte(`{"data":{"a":1,"a":2}}`), read); err != nil {
		t.Error(err)
	}
	if err := OpenLoose([]byte(`{"data":1,"data":2}`), read); !errors.Is(err, ErrInvalid) {
		t.Errorf("a member twice: %v", err)
	}
}

func TestMergeRepeats(t *testing.T) {
	for _, tt := range [][2]string{
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`},
		{`{"data":{"a":1,"b":3, "a" : 2}}`, `{"data":{"b":3, "a" : 2}}`},
		{`{"data":{"a":1,"\u0061":{"x":1,"x":2,"x":3},"a":4}}`, `{"data":{"a":4}}`},
		{`{"data":[{"x":1,"x":[{"y":"\",","y":2}]}]}`, `{"data":[{"x":[{"y":2}]}]}`},
		{`{"steps":[{"inputs":{"a":1,"a":2},"status":1,"status":2}]}`, `{"steps":[{"inputs":{"a":2},"status":1,"status":2}]}`},
		{`{"data":{"a":1,"a":`, `{"data":{"a":1,"a":`},
		{``, ``},
	} {
		if got := MergeRepeats([]byte(tt[0]), "data", "steps.*.inputs"); string(got) != tt[1] {
			t.Errorf("%s: %s, want %s", tt[0], got, tt[1])
		}
	}
}

// What was JSON is JSON without a repeated name afterwards, with the values that a JSON
// program sees.
func FuzzMergeRepeats(f *testing.F) {
	for _, seed := range []string{`{"a":1,"a":2}`, `[{"x":{"y":1,"y":"\"}"},"x":[]}]`, `{"":1,"":{"":[],"":2}}`, `1 2`, `{"a"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after any
		if json.Unmarshal(data, &before) != nil {
			return
		}
		merged := MergeRepeats(append([]byte(`{"data":`), append(data, '}')...), "data")
		if err := Free("", merged); err != nil && !strings.Contains(err.Error(), "nested deeper") {
			t.Fatalf("%q: %v", merged, err)
		}
		if err := json.Unmarshal(merged, &after); err != nil {
			t.Fatalf("%q: %v", merged, err)
		}
	})
}
