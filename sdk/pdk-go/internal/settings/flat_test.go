package settings

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
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
	twins    struct {
		A int `json:"a"`
		B int `json:"A"`
	}
)

// same fails the test if flat takes a document and reads it differently than
// encoding/json. It returns whether it took it.
func same[T any](t *testing.T, doc []byte) bool {
	t.Helper()
	var got, want T
	if !flat(doc, &got) {
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
		`{"f":-0}`, `{"i":1,"i":2}`, `{"s":""}`, `{"-":"dash"}`,
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
	if same[quoted](t, doc) || same[embedded](t, doc) || same[twins](t, doc) || same[map[string]any](t, doc) || same[upper](t, []byte(`"a"`)) {
		t.Error("a type is read that encoding/json treats in a way of its own")
	}
}

func FuzzFlat(f *testing.F) {
	f.Add([]byte(`{"b":true,"f":0.5,"s":"a","Named":5}`))
	f.Add([]byte(`{"u":1,"u":2.5}`))
	f.Fuzz(func(t *testing.T, doc []byte) { same[every](t, doc) })
}
