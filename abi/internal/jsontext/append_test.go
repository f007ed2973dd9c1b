package jsontext

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"
)

func TestAppendValue(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "null"}, {true, "true"}, {int8(-3), "-3"}, {uint64(math.MaxUint64), "18446744073709552000.0"}, {2.0, "2.0"}, {1e300, "1e+300"}, {math.Copysign(0, -1), "-0.0"},
		{json.Number("12"), "12"}, {json.Number("1.50"), "1.5"}, {"\x00\"\\\xff\xfe\n\u2028", "\"\\u0000\\\"\\\\\uFFFD\\n\u2028\""},
		{[]any{"a", int64(1), nil}, `["a",1,null]`}, {[]string{"a"}, `["a"]`}, {[]float64{1}, "[1.0]"},
		{map[string]any{"b": 1, "a": map[string]string{"c": "d"}}, `{"a":{"c":"d"},"b":1}`},
	} {
		got, err := AppendValue(nil, c.value, 0)
		if err != nil || string(got) != c.want {
			t.Errorf("%v: got %s, %v, want %s", c.value, got, err, c.want)
		}
	}
	deep := any("x")
	for range MaxDepth {
		deep = []any{deep}
	}
	if _, err := AppendValue(nil, deep, 0); err != nil {
		t.Errorf("%d levels: %v", MaxDepth, err)
	}
	for want, value := range map[string]any{
		`"a": value nests deeper than 64 levels (flatten it)`:                                           map[string]any{"a": deep},
		`"a": number is not finite (want a finite float)`:                                               map[string]any{"a": math.NaN()},
		`number is malformed or beyond the range of a float (want a JSON number)`:                       json.Number("x"),
		`value has an unsupported type (want nil, bool, integer, float, string, []any, map[string]any)`: struct{}{},
	} {
		if _, err := AppendValue(nil, value, 0); err == nil || err.Error() != want || !errors.Is(err, ErrUnsupported) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// What is written comes back with its types.
func TestDecode(t *testing.T) {
	for text, want := range map[string]any{
		"1": int64(1), "-0": math.Copysign(0, -1), "1.0": 1.0, "9223372036854775808": 9223372036854775808.0, `"a"`: "a", "null": nil,
		`{"a":[1,{"b":1e2}]}`: map[string]any{"a": []any{int64(1), map[string]any{"b": 100.0}}},
	} {
		got, err := Decode([]byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1 2", "{", "1e400"} {
		if v, err := Decode([]byte(text)); err == nil {
			t.Errorf("%q: got %v", text, v)
		}
	}
}
