package appendjson

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"
)

// plain writes a value without escapes for HTML.
func plain(t testing.TB, v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// Each value is written as encoding/json writes it, or refused as encoding/json refuses it.
func FuzzValues(f *testing.F) {
	for _, s := range []string{
		"", "plain", "a\"b\\c\x00\b\f\n\r\t\x1f\x7f", "<b>&amp;", "ü \u2028\u2029\u2027 \U0001F600", "\xff\xc0\xaf half \xe2\x80", "\xed\xa0\x80",
	} {
		f.Add(s, 1.5, int64(3), []byte(`{"a": [1, null, true, "<", {"b": {}}], "": []}`))
	}
	for _, x := range []float64{0, math.Copysign(0, -1), 1e-6, 9.9e-7, 1e-9, 1e21, 9e20, -1e100, 5e-324, math.MaxFloat64, math.Inf(1), math.NaN()} {
		f.Add("x", x, int64(x), []byte(`{}`))
	}
	f.Add("times", 0.0, int64(math.MaxInt64), []byte(`null`))
	f.Add("times", 0.0, int64(-62135596801), []byte(`null`))
	f.Fuzz(func(t *testing.T, s string, x float64, n int64, doc []byte) {
		var b Buffer
		b.Text(s)
		html, err := json.Marshal(s)
		if err != nil || string(b.B) != string(html) {
			t.Fatalf("%q: %s, want %s (%v)", s, b.B, html, err)
		}
		b = Buffer{}
		b.PlainText(s)
		if want := plain(t, s); string(b.B) != want {
			t.Fatalf("%q: %s, want %s", s, b.B, want)
		}
		same(t, x, func(b *Buffer) { b.Float(x) })
		same(t, n, func(b *Buffer) { b.Int(n) })
		at := time.Unix(n, n&0xfffff).In(time.FixedZone("", int(n%200000)))
		same(t, at, func(b *Buffer) { b.Time(at) })
		metadata := map[string]any{}
		if json.Unmarshal(doc, &metadata) == nil {
			if metadata == nil {
				metadata = map[string]any{}
			}
			metadata[s], metadata["float"], metadata["int"], metadata["nil list"], metadata["other"] = s, x, n, []any(nil), []string{s}
			same(t, metadata, func(b *Buffer) { b.Metadata(metadata) })
		}
	})
}

// same compares with json.Marshal.
func same(t *testing.T, v any, write func(*Buffer)) {
	t.Helper()
	b := Buffer{B: []byte("before ")}
	write(&b)
	want, err := json.Marshal(v)
	if err != nil || b.Err != nil {
		if (err != nil) != (b.Err != nil) {
			t.Fatalf("%v: %v, want %v", v, b.Err, err)
		}
		return
	}
	if string(b.B) != "before "+string(want) {
		t.Fatalf("%s, want %s", b.B, want)
	}
}

// Metadata that contain themselves are an error, and those that are deep are not.
func TestDeepMetadata(t *testing.T) {
	loop := map[string]any{}
	loop["list"] = []any{loop}
	b := Buffer{}
	b.Metadata(loop)
	if b.Err == nil {
		t.Error("metadata that contain themselves are written")
	}
	deep := map[string]any{"x": "<"}
	for range 3 * maxDepth {
		deep = map[string]any{"x": []any{deep}}
	}
	same(t, deep, func(b *Buffer) { b.Metadata(deep) })
}
