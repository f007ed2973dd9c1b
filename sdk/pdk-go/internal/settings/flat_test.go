package settings

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
	"time"
	"unsafe"
)

type every struct {
	B     bool    `json:"b"`
	I     int     `json:"i,omitempty"`
	I8    int8    `json:"i8"`
	U     uint    `json:"u"`
	U16   uint16  `json:"u16"`
	F     float64 `json:"f"`
	F32   float32 `json:"f32"`
	S     string  `json:"s"`
	Named time.Duration
	Skip  string   `json:"-"`
	Dash  string   `json:"-,"`
	List  []string `json:"list"`
	Text  upper    `json:"text"`
}

type upper string

func (u *upper) UnmarshalText(b []byte) error { *u = upper("<" + string(b) + ">"); return nil }

type (
	quoted struct {
		N int `json:"n,string"`
	}
	embedded struct{ every }
	numbered struct {
		N json.Number `json:"n"`
		M int         `json:"m"`
	}
	twins struct {
		A int `json:"a"`
		B int `json:"A"`
	}
)

// same fails the test if flat takes a document and reads it differently than
// encoding/json. It returns whether it took it.
func same[T any](t *testing.T, doc []byte) bool {
	t.Helper()
	var got, want T
	if !flat(doc, unsafe.Pointer(&got), fieldsOf(&got)) {
		return false
	}
	if err := json.Unmarshal(doc, &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%T %q: %+v (want %+v, error %v)", got, doc, got, want, err)
	}
	return true
}

func TestFlatTakesWhatHostsSend(t *testing.T) {
	for _, doc := range []string{
		`{}`, `{"b":true}`, `{"b":false,"i":-3,"i8":-128,"u":7,"u16":65535,"f":0.5,"f32":1e-3,"s":"ein Wört <&>","Named":5}`,
		`{"f":-0}`, `{"i":1,"i":2}`, `{"s":""}`, `{"-":"dash"}`, `{"f":0.1}`, `{"f":-12345.6789012345}`, `{"f":0.0000000000000000001}`,
		`{"f":1234567890123456789012}`, `{"f":3.141592653589793}`, `{"f":1e-7,"i":-9223372036854775808}`, `{"i":9223372036854775807}`,
	} {
		if !same[every](t, []byte(doc)) {
			t.Errorf("%s is not read", doc)
		}
	}
}

func TestFlatLeavesTheRest(t *testing.T) {
	for _, doc := range []string{
		``, `{`, `{"b":true`, `{"b":true}}`, `{"b":tru}`, `{"b":1}`, `{"B":true}`, `{"b": true}`, `{"b":null}`, `{"i":1.0}`, `{"i":1e2}`, `{"i8":128}`,
		`{"u":-1}`, `{"f":01}`, `{"f":.5}`, `{"f":1.}`, `{"f":1e}`, `{"f":1e999}`, `{"f32":1e39}`, `{"f":NaN}`, `{"s":"a\n"}`, "{\"s\":\"\xff\"}",
		"{\"s\":\"a\tb\"}", `{"s":5}`, `{"x":1}`, `{"hidden":1}`, `{"list":[]}`, `{"text":"a"}`, `{"b":true,}`, `{,}`, `null`, `[]`, `{"s"}`, `{"s":}`,
	} {
		if same[every](t, []byte(doc)) {
			t.Errorf("%s is read", doc)
		}
	}
	doc := []byte(`{"n":"1","a":1,"b":true}`)
	if same[numbered](t, []byte(`{"n":"abc"}`)) || plainName("a'b") || !plainName("größe_2.x-y") {
		t.Error("a field is read that encoding/json reads otherwise")
	}
	if same[quoted](t, doc) || same[embedded](t, doc) || same[twins](t, doc) || same[map[string]any](t, doc) || same[upper](t, []byte(`"a"`)) {
		t.Error("a type is read that encoding/json treats in a way of its own")
	}
}

// TestNumbers holds short numbers, which take a way of their own, to strconv.
func TestNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		digits := strconv.FormatUint(1e18+random.Uint64N(8e18), 10)[:1+random.IntN(19)]
		text := digits
		if at := random.IntN(len(digits) + 1); at > 0 && at < len(digits) {
			text = digits[:at] + "." + digits[at:]
		}
		if random.IntN(2) == 0 {
			text = "-" + text
		}
		n := number([]byte(text))
		want, err := strconv.ParseFloat(text, 64)
		if got, _ := n.float(); string(n.text) != text || err != nil || math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%s is %v, want %v (%+v)", text, got, want, n)
		}
	}
	if zero, _ := number([]byte("-0")).float(); !math.Signbit(zero) {
		t.Error("-0 has lost its sign")
	}
}

type checked struct {
	N       int `json:"n"`
	derived int
}

func (c *checked) Defaults() { c.N = 3 }

func (c *checked) Validate() error {
	if c.derived = 2 * c.N; c.N < 0 {
		return errors.New("n: negative")
	}
	return nil
}

// TestCacheIsTheSameWarmAndCold asks for settings one after the other, of a cache that
// was prepared and of one that was not.
func TestCacheIsTheSameWarmAndCold(t *testing.T) {
	var warm, cold Cache[checked]
	warm.Warm()
	var last *checked
	for _, c := range []struct {
		raw  string
		n    int
		fail bool
	}{{`{"n":5}`, 5, false}, {`{"n":5}`, 5, false}, {``, 3, false}, {`{}`, 3, false}, {`{"n":-1}`, 0, true}, {`{"n":"x"}`, 0, true}, {`{"n":5}`, 5, false}} {
		for name, cache := range map[string]*Cache[checked]{"warm": &warm, "cold": &cold} {
			s, err := cache.Get([]byte(c.raw))
			if (err != nil) != c.fail || err == nil && (s.N != c.n || s.derived != 2*c.n) {
				t.Fatalf("%s %s: %+v, %v", name, c.raw, s, err)
			}
		}
		if s, _ := warm.Get([]byte(c.raw)); s != nil && s == last && c.raw != `{"n":5}` {
			t.Errorf("%s: the pointer is that of other settings", c.raw)
		} else {
			last = s
		}
	}
}

func FuzzFlat(f *testing.F) {
	f.Add([]byte(`{"b":true,"f":0.5,"s":"a","Named":5}`))
	f.Add([]byte(`{"u":1,"u":2.5}`))
	f.Fuzz(func(t *testing.T, doc []byte) { same[every](t, doc) })
}
