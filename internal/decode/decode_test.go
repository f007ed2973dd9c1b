package decode

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// inner is a value that reads itself.
type inner struct{ n int }

func (i *inner) UnmarshalJSON(data []byte) error { return Object(data, Required("n", &i.n)) }

type document struct {
	name   string
	count  int
	big    int64
	share  float64
	small  []float32
	on     bool
	when   time.Time
	free   map[string]any
	words  []string
	tags   map[string]string
	inners []inner
	raw    json.RawMessage
}

func (d *document) read(data string) error { return d.readBytes([]byte(data)) }

func (d *document) readBytes(data []byte) error {
	return Object(data, Required("name", &d.name), Optional("count", &d.count), Optional("big", &d.big),
		Optional("share", &d.share), Optional("small", &d.small), Optional("on", &d.on), Optional("when", &d.when), Optional("free", &d.free),
		Optional("words", &d.words), Optional("tags", &d.tags), Optional("inners", &d.inners), Optional("raw", &d.raw), Optional("old", nil))
}

func TestObject(t *testing.T) {
	got := document{share: 0.5}
	err := got.read(` { "name" : "a\u00e9\ud800", "count": 5.0, "big": 9007199254740993, "share": null, "small": [1, 0.5], "on": true,
		"when": "2026-01-02T03:04:05.5Z", "free": {"i": 9007199254740993, "f": 1.0, "n": null, "l": [null, {"x": [-1]}]},
		"words": ["", "b"], "tags": {"k": "v"}, "inners": [{"n": 1e1}], "raw": { "a" : 1 }, "old": [1, 2] } `)
	if err != nil {
		t.Fatal(err)
	}
	want := document{
		name: "aé\uFFFD", count: 5, big: 9007199254740993, share: 0.5, small: []float32{1, 0.5}, on: true,
		when:  time.Date(2026, 1, 2, 3, 4, 5, 5e8, time.UTC),
		free:  map[string]any{"i": int64(9007199254740993), "f": 1.0, "n": nil, "l": []any{nil, map[string]any{"x": []any{int64(-1)}}}},
		words: []string{"", "b"}, tags: map[string]string{"k": "v"}, inners: []inner{{10}}, raw: json.RawMessage(`{ "a" : 1 }`),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestRefusals(t *testing.T) {
	for doc, want := range map[string]string{
		`[1]`:                     `[1]: invalid value (want an object)`,
		`null`:                    `null: invalid value (want an object)`,
		`{}`:                      `name: missing: invalid value`,
		`{"name":null}`:           `name: null: invalid value (want a string)`,
		`{"name":"a","Name":"b"}`: `Name: unknown key: invalid value (did you mean "name"?)`,
		`{"name":"a","zzz":"b"}`:  `zzz: unknown key: invalid value (want one of name, count, big, share, small, on, when, free, words, tags, inners, raw, old)`,
		`{"name":"a","name":"b"}`: `name: given twice: invalid value`,
		`{"name":"a","old":{"x":[{"b":1,"b":2}]}}`:       `old.x[0].b: given twice: invalid value`,
		`{"name":"a","free":{"b":{"c":1,"c":1}}}`:        `free.b.c: given twice: invalid value`,
		`{"name":"a","count":"5"}`:                       `count: "5": invalid value (want an integer)`,
		`{"name":"a","count":5.5}`:                       `count: 5.5: invalid value (want an integer)`,
		`{"name":"a","count":1e30}`:                      `count: 1e30: invalid value (want an integer)`,
		`{"name":"a","big":5.0}`:                         `big: 5.0: invalid value (want an integer within 64 bits)`,
		`{"name":"a","big":9223372036854775808}`:         `big: 9223372036854775808: invalid value (want an integer within 64 bits)`,
		`{"name":"a","share":true}`:                      `share: true: invalid value (want a number)`,
		`{"name":"a","share":1e999}`:                     `share: 1e999: invalid value (want a number within float64)`,
		`{"name":"a","small":[1,1e99]}`:                  `small[1]: 1e99: invalid value (want a number within float32)`,
		`{"name":"a","small":[null]}`:                    `small[0]: null: invalid value (want a number within float32)`,
		`{"name":"a","small":{}}`:                        `small: {}: invalid value (want a list of numbers)`,
		`{"name":"a","on":"yes"}`:                        `on: "yes": invalid value (want true or false)`,
		`{"name":"a","when":"soon"}`:                     `when: "soon": invalid value (want a time in RFC 3339)`,
		`{"name":"a","free":[]}`:                         `free: []: invalid value (want an object)`,
		`{"name":"a","free":{"a":[1e999]}}`:              `free.a[0]: 1e999: invalid value (want a number within float64)`,
		`{"name":"a","free":{"a":99999999999999999999}}`: `free.a: 99999999999999999999: invalid value (want an integer within 64 bits; write it as a string)`,
		`{"name":"a","words":["x",7]}`:                   `words[1]: 7: invalid value (want a string)`,
		`{"name":"a","words":["x",{"a":1}]}`:             `words[1]: {"a":1}: invalid value (want a string)`,
		`{"name":"a","words":["x",null]}`:                `words[1]: null: invalid value (want a string)`,
		`{"name":"a","words":"x"}`:                       `words: "x": invalid value (want a list of strings)`,
		`{"name":"a","tags":{"k":null}}`:                 `tags.k: null: invalid value (want a string)`,
		`{"name":"a","tags":{"k l":1}}`:                  `"tags.k l": 1: invalid value (want a string)`,
		`{"name":"a","inners":[{"n":1},{"m":1}]}`:        `inners[1]: m: unknown key: invalid value (want one of n)`,
		`{"name":"a","inners":[null]}`:                   `inners[0]: null: invalid value (want an object)`,
		`{"name":"a"} {}`:                                `data after the object: invalid value`,
	} {
		var d document
		if err := d.read(doc); err == nil || err.Error() != want || !errors.Is(err, ErrInvalid) {
			t.Errorf("%s\n got %v\nwant %s", doc, err, want)
		}
	}
}

// A value that an error shows can neither act on a terminal nor begin a line.
func TestErrorsAreOneLine(t *testing.T) {
	for doc, want := range map[string]string{
		"{\"name\":\"a\",\"count\":\"\u202egnp\"}":   `count: "\u202egnp": invalid value (want an integer)`,
		"{\"name\":\"a\",\"on\":\"\u009b2J\"}":       `on: "\u009b2J": invalid value (want true or false)`,
		"{\"name\":\"a\",\"words\":[{\n\"b\":\t1}]}": "words[0]: {\\n\"b\":\t1}: invalid value (want a string)",
		"[\n\"\u2028\"]":                   `[\n"\u2028"]: invalid value (want an object)`,
		"{\"name\":\"a\",\"on\":\"\xff\"}": "on: \"\uFFFD\": invalid value (want true or false)",
	} {
		if err := new(document).read(doc); err == nil || err.Error() != want {
			t.Errorf("%q\n got %q\nwant %q", doc, err, want)
		}
	}
}

// What is no JSON is refused with the place.
func TestSyntax(t *testing.T) {
	for doc, want := range map[string]string{
		``: "EOF", `{`: "EOF", `{"name":"a"`: "EOF", `{"name" "a"}`: "byte 8", `{"name":}`: "byte 8", `{"name":"a",}`: "byte 11", `{"free":{"a":x}}`: "free.a: ",
		`{"name":"a"}}`: "data after", `{"free":` + strings.Repeat("[", 20_000) + "}": "depth",
	} {
		if err := new(document).read(doc); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", doc, err, want)
		}
	}
}

func TestOpen(t *testing.T) {
	others := map[string]string{}
	var name string
	err := Open([]byte(`{"a":1,"name":"n","b":[ 2 ]}`), func(name string, value json.RawMessage) error {
		others[name] = string(value)
		return nil
	}, Required("name", &name))
	if err != nil || name != "n" || !reflect.DeepEqual(others, map[string]string{"a": "1", "b": "[ 2 ]"}) {
		t.Errorf("%v, %s, %v", err, name, others)
	}
	err = Open([]byte(`{"a":1}`), func(string, json.RawMessage) error { return ErrInvalid })
	if err == nil || err.Error() != "a: invalid value" {
		t.Errorf("got %v", err)
	}
}

// What is accepted is JSON that encoding/json reads the same; the input is never changed.
func FuzzObject(f *testing.F) {
	f.Add([]byte(`{"name":"a","count":5.0,"free":{"a":[1,2.5,null,"\ud800"]},"words":["x"],"inners":[{"n":1}],"when":"2026-01-02T03:04:05Z"}`))
	f.Add([]byte("{\"name\":\"\xff\",\"free\":{\"\xff\":1,\"\xfe\":2}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := string(data)
		var d document
		err := d.readBytes(data)
		if string(data) != before {
			t.Fatal("the input was changed")
		}
		if err != nil {
			return
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(data, &members); err != nil {
			t.Fatalf("%q was read, and is no JSON: %v", data, err)
		}
		var name string
		if err := json.Unmarshal(members["name"], &name); err != nil || name != d.name {
			t.Fatalf("%q: name %q, %v, want %q", data, d.name, err, name)
		}
	})
}

func BenchmarkObject(b *testing.B) {
	data := []byte(`{"name":"a","count":5,"share":0.25,"when":"2026-01-02T03:04:05Z","free":{"a":1,"b":"x"}}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var d document
		if err := Object(data, Required("name", &d.name), Optional("count", &d.count), Optional("share", &d.share), Optional("when", &d.when), Optional("free", &d.free)); err != nil {
			b.Fatal(err)
		}
	}
}
