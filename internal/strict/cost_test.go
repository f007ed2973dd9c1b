package strict

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// cost returns the bytes that f allocates.
func cost(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// A tree has what its values need, and no more.
func TestSizeOfATree(t *testing.T) {
	const n = 100_000
	for element, each := range map[string]uintptr{
		"1": 40, "[]": 40, "{}": 40, `""`: 40, "null": 40, "12.5": 40 + 8, `"text"`: 40 + 8, "[1]": 40 + 72 + 40, `{"a":1}`: 40 + 72 + 64,
	} {
		doc := []byte("[" + strings.Repeat(element+",", n-1) + element + "]")
		var tree *Node
		var err error
		took := cost(func() { tree, err = ParseJSON("f", doc) })
		if err != nil || len(tree.Items()) != n {
			t.Fatal(err)
		}
		if most := int64(n*each) + 20*n + 128<<10; took > most {
			t.Errorf("%s: %d bytes for each, want %d", element, took/n, each)
		}
	}
	if size := unsafe.Sizeof(Node{}); size > 40 {
		t.Errorf("a node has %d bytes", size)
	}
}

// What is counted is what the parser finds.
func TestShape(t *testing.T) {
	for doc, want := range map[string]shape{
		`1`:                               {values: 1},
		`[]`:                              {values: 1},
		` [ [ ] , {} ] `:                  {values: 3, children: []uint32{2}},
		`{"a":[1,"],",{"b":2}],"c":null}`: {values: 7, members: 3, children: []uint32{2, 3, 1}},
		`["\\", "\"", "\\\"[,"]`:          {values: 4, children: []uint32{3}},
	} {
		got, err := shapeOf(t.Context(), []byte(doc), 100)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v (%v)", doc, got, want, err)
		}
		if _, err := ParseJSON("f", []byte(doc)); err != nil {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

// A document with too many values is refused before anything is made for them.
func TestTooManyValues(t *testing.T) {
	for _, element := range []string{"1", "[]", "{}", `""`, "[[[[1]]]]", `{"a":{"b":null}}`} {
		doc := []byte("[" + strings.Repeat(element+",", 1<<20) + element + "]")
		var err error
		took := cost(func() { _, err = ParseJSONContext(context.Background(), "f", doc, Limits{10_000, "send fewer"}) })
		if !errors.Is(err, ErrTooMany) || err.Error() != "f: more than 10000 values (send fewer)" || took > 256<<10 {
			t.Errorf("%s: %v, took %d KiB", element, err, took>>10)
		}
	}
}

// The library for YAML makes nodes of 200 bytes for each character of some documents.
func TestAttacksInYAML(t *testing.T) {
	const size = 4 << 20
	for _, element := range []string{"1,", "a,", "a: b, ", "*x,", "[", "{a: ", "- ", "- 1\n", "? ", "? a\n", ":", "x\n ", "&a 1,", "!t 1,", "{},", "\n", "# c\n", "---\n", "\"a\",", " ", "a:\r", "a:\u0085", "-\u2028", "a:\u2029"} {
		for _, begin := range []string{"", "a: [", "a: {", "a: |\n "} {
			doc := []byte("x: &x 1\n" + begin + strings.Repeat(element, size/len(element)))
			var err error
			took := cost(func() { _, err = ParseYAML("f", doc) })
			if took > 96<<20 || err != nil && len(err.Error()) > 4000 {
				t.Errorf("%q in %q: took %d MiB, an error of %d bytes", element, begin, took>>20, len(fmt.Sprint(err)))
			}
		}
	}
}

func TestRepair(t *testing.T) {
	for quoted, want := range map[string]string{
		"\"a\xffb\"": "a\uFFFDb", "\"\xff\xfe\"": "\uFFFD\uFFFD", "\"\xe2\x28\xa1\"": "\uFFFD(\uFFFD", "\"\xe2\x82\xac\"": "€", "\"\\u0041\xff\"": "A\uFFFD",
		`"\ud800"`: "\uFFFD", `""`: "",
	} {
		n, err := ParseJSON("f", []byte(quoted))
		if err != nil || n.Text != want {
			t.Errorf("%q: got %q, want %q (%v)", quoted, n.Text, want, err)
		}
	}
}

// A text that is no UTF-8 would take three times its bytes, so only some bytes are repaired.
func TestTextsThatAreNotUTF8(t *testing.T) {
	bad := strings.Repeat("\xff", MaxRepaired)
	n, err := ParseJSON("a", []byte(`"`+bad+`"`))
	if err != nil || n.Text != strings.Repeat("\uFFFD", MaxRepaired) {
		t.Errorf("%d bytes: %v", MaxRepaired, err)
	}
	if _, err := ParseJSON("a", []byte("[\"x\", \""+bad+"\xff\"]")); err == nil || !strings.Contains(err.Error(), "not UTF-8") {
		t.Errorf("one byte more: %v", err)
	}
}
