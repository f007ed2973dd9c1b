package strictjson

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
)

func TestCheck(t *testing.T) {
	for doc, want := range map[string]string{
		`{"a":[1,-0.5e3,"\ud83e\udd8a",null,true,{}]}`: "",
		``:                       "is not JSON: it ends too early",
		`{"a":1,}`:               `is not JSON at byte 8: '}' (want the name of a member)`,
		`[01]`:                   `is not JSON at byte 3: '1' (want a comma or ']')`,
		`1 2`:                    "is not usable: data follows the JSON value (want one value only)",
		"\"\xff\"":               "is not valid UTF-8",
		`"\ud800"`:               `has the escape \ud800 at byte 2, which is half of a character (want both, or the character itself)`,
		"\"\n\"":                 `is not JSON at byte 2: '\n' (want a string without control characters (escape them))`,
		strings.Repeat("[", 1e5): "nests deeper than 10000 levels (flatten it)",
	} {
		repeated, err := Check([]byte(doc))
		text := ""
		var of Error
		if errors.As(err, &of) {
			text = string(of)
		}
		if text != want || repeated != "" || (err == nil) != (want == "") {
			t.Errorf("%.20s: got %q, %v", doc, repeated, err)
		}
	}
	repeated, err := Check([]byte(`{"a":{"b":1,"\u0062":2}}`))
	if want := Error(`has the member "b" twice (name it once)`); repeated != want || err != nil {
		t.Errorf("got %q, %v", repeated, err)
	}
}

func TestMembersAndElements(t *testing.T) {
	var got []string
	for name, value := range Members([]byte(` {"a" : [1, {"b":"]"}] ,"\u0063":"\"}", "d":-1.5}`)) {
		got = append(got, name, string(value))
	}
	if want := []string{"a", `[1, {"b":"]"}]`, "c", `"\"}"`, "d", "-1.5"}; !slices.Equal(got, want) {
		t.Errorf("members %q", got)
	}
	got = nil
	for value := range Elements([]byte(` [ {"a":[]} , "]", 1 ,null]`)) {
		if got = append(got, string(value)); len(got) == 3 {
			break
		}
	}
	if want := []string{`{"a":[]}`, `"]"`, "1"}; !slices.Equal(got, want) {
		t.Errorf("elements %q", got)
	}
	for range Elements([]byte("[]")) {
		t.Error("an empty list has an element")
	}
}

// FuzzValue: what is accepted is what encoding/json reads, within the bounds of memory.
func FuzzValue(f *testing.F) {
	for _, doc := range []string{`{"a":[1,-0,1.5,"x",null,{"b":{}}]}`, `"\ud83e\udd8a"`, `[[[[]]]]`, `1e400`, `{"a":1,"a":2}`} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := NewMeter(len(b), 0, nil)
		got, err := Value(b, &m)
		if err != nil {
			if !errors.Is(err, jsontext.ErrMalformed) && !errors.Is(err, jsontext.ErrTooLarge) && !errors.Is(err, jsontext.ErrUnsupported) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		want, err := jsontext.Decode(b)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %v, encoding/json %v, %v", b, got, want, err)
		}
	})
}
