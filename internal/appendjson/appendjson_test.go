package appendjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"
)

type document struct {
	Text    string          `json:"text"`
	Number  float64         `json:"number"`
	Empty   int             `json:"empty,omitempty"`
	None    *document       `json:"none,omitempty"`
	List    []string        `json:"list"`
	Some    []string        `json:"some,omitempty"`
	Struct  time.Time       `json:"struct,omitempty"`
	Zero    time.Time       `json:"zero,omitzero"`
	Bytes   []byte          `json:"bytes"`
	Raw     json.RawMessage `json:"raw"`
	Any     map[string]any  `json:"any,omitempty"`
	Exact   json.Number     `json:"exact"`
	Span    time.Duration   `json:"span"`
	Array   [3]byte         `json:"array"`
	Error   error           `json:"error"`
	Method  receiver        `json:"method"`
	Inner   *document       `json:"inner,omitempty"`
	private int
}

// receiver has a method that is called where its address can be had.
type receiver struct{ Plain int }

func (*receiver) MarshalJSON() ([]byte, error) { return []byte(`"by its method"`), nil }

// A value is written as encoding/json writes it, or refused as encoding/json refuses it.
func FuzzAppend(f *testing.F) {
	for _, text := range []string{"", "plain", "a\"b\\c\x00\b\f\n\r\t\x1f\x7f", "<b>&amp;", "ü \u2028\u2029\u2027 \U0001F600"} {
		f.Add(text, 1.5, []byte(`{"a": [1, null, true, "\u003c", {"b": {}}], "": []}`))
	}
	for _, x := range []float64{0, math.Copysign(0, -1), 1e-6, 9.9e-7, 1e-9, 1e21, 9e20, -1e100, 5e-324, math.MaxFloat64, math.Inf(1), math.NaN()} {
		f.Add("x", x, []byte(`1e5`))
	}
	f.Fuzz(func(t *testing.T, text string, x float64, raw []byte) {
		text = string(bytes.ToValidUTF8([]byte(text), nil)) // encoding/json writes other text with escapes
		doc := document{Text: text, Number: x, Bytes: []byte(text), Raw: bytes.ToValidUTF8(raw, nil), Span: time.Second, Array: [3]byte{1, 2, 3}, Error: errors.New("e"), Inner: &document{List: []string{text}, private: 1, Raw: []byte("1")}}
		if json.Unmarshal(raw, &doc.Any) == nil && doc.Any != nil {
			doc.Any[text], doc.Any["list"], doc.Any["exact"] = x, []any(nil), json.Number("12345678901234567890.50")
			doc.Any["span"], doc.Any["array"], doc.Any["error"], doc.Any["method"] = time.Second, [2]byte{1}, errors.New("e"), receiver{}
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		err := enc.Encode(doc)
		got, failed := Append([]byte("before "), doc)
		if (err != nil) != (failed != nil) {
			t.Fatalf("%v, want %v", failed, err)
		}
		if err == nil && string(got)+"\n" != "before "+want.String() {
			t.Fatalf("%s, want %s", got, &want)
		}
	})
}

// A json.Number is a number, wherever it stands, and a text that is none is refused.
func TestNumbers(t *testing.T) {
	for _, v := range []any{json.Number("1.50"), json.Number(""), map[string]any{"n": json.Number("9007199254740993")}, []any{json.Number("-0e7")}, json.Number("1;"), json.Number(`"1"`)} {
		want, err := json.Marshal(v)
		if got, failed := Append(nil, v); (err != nil) != (failed != nil) || err == nil && string(got) != string(want) {
			t.Errorf("%v: %s, %v, want %s, %v", v, got, failed, want, err)
		}
	}
}

// A value that contains itself is an error, and one that is deep is not.
func TestDeepValues(t *testing.T) {
	loop := map[string]any{}
	loop["list"] = []any{loop}
	if _, err := Append(nil, loop); err == nil {
		t.Error("metadata that contain themselves are written")
	}
	deep := map[string]any{"x": "<"}
	for range 200 {
		deep = map[string]any{"x": []any{deep}}
	}
	if _, err := Append(nil, deep); err != nil {
		t.Error(err)
	}
}
