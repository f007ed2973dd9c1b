package plainjson

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
)

// Each value is read as encoding/json reads it, or refused.
func FuzzValues(f *testing.F) {
	for _, text := range []string{`"a\n\u00e9\"" `, `"\ud800"`, "\"a\nb\"", "12", "-0", "1e5", "1e400", "[1, -2.5e-3,1e-400 ]", "[]", "[1e39]", "[1,]", "[1,[2]]", "[", `{"a":[1,"]"]}`, "null"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		compare(t, b, (*Reader).Text)
		compare(t, b, (*Reader).Integer)
		compare(t, b, (*Reader).Number)
		compare(t, b, (*Reader).Numbers)
		compare(t, b, func(r *Reader) (v any, ok bool) { return v, r.Other(&v) })
	})
}

func compare[T any](t *testing.T, b []byte, read func(*Reader) (T, bool)) {
	t.Helper()
	var got, want T
	given := bytes.Clone(b)
	ok := Read(given, func(r *Reader) (ok bool) {
		got, ok = read(r)
		return ok
	})
	clear(given)
	if err := json.Unmarshal(b, &want); ok && (err != nil || !reflect.DeepEqual(got, want)) {
		t.Errorf("%.200q: got %#v, want %#v, error %v", b, got, want, err)
	}
}

// The fast way of reading a number rounds as ParseFloat does, also next to the middle of two numbers.
func TestSingle(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	check := func(text string) {
		got, err := single(text)
		want, wantErr := strconv.ParseFloat(text, 32)
		if math.Float32bits(got) != math.Float32bits(float32(want)) || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: got %v, %v, want %v, %v", text, got, err, want, wantErr)
		}
	}
	for _, text := range []string{"", "0", "-0", "-0.0", "16777217", "16777219", "-16777217.0", "16777217.000000001", "9007199254740993", "9007199254740991", "1e5", "0.00000000000000001", "999999999999999999", "3.4028236e38", "1e39"} {
		check(text)
	}
	for range 20_000 {
		f := float64(math.Float32frombits(random.Uint32()&(1<<27-1) | 0x38000000))
		middle := (f + float64(math.Nextafter32(float32(f), 9e9))) / 2
		for _, number := range []float64{f, middle, math.Nextafter(middle, 0), math.Nextafter(middle, 9e9)} {
			check(strconv.FormatFloat(number, 'f', -1, 64))
			check(strconv.FormatFloat(-number, 'f', random.IntN(17), 64))
		}
		check(strconv.FormatFloat(f, 'g', -1, 32))
	}
}

// What the names of members become is for the caller, but each comes once and is followed by a value.
func TestObject(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, ` { "a" : [ "x" , "y" ] , "b" : [] } `: true, `{"a":["x"],"a":[]}`: false, `{"\u0061":[]}`: false, `{"a" []}`: false, `{"a":}`: false,
		`{"a":[],}`: false, `{,"a":[]}`: false, `{"a":[]`: false, `{"a":["x",]}`: false, `{"a":["x" "y"]}`: false, `{"c":[]}`: false, `{}}`: false, `[]`: false, ``: false,
	} {
		got := Read([]byte(text), func(r *Reader) bool {
			return r.Object(func(name string) (int, bool) {
				bit := map[string]int{"a": 1, "b": 2}[name]
				return bit, bit > 0 && r.List(func() bool {
					_, ok := r.Text()
					return ok
				})
			})
		})
		if got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}
