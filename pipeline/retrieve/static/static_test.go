package static

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// words is a tokenizer of whole words.
const words = `{"pre_tokenizer": {"type": "WhitespaceSplit"}, "model": {"type": "WordPiece", "unk_token": "?",
	"vocab": {"?": 0, "red": 1, "green": 2, "blue": 3, "##ish": 4}, "continuing_subword_prefix": "##"}}`

// part is a tensor to write.
type part struct {
	kind  string
	shape []int
	data  []byte
}

func f32(numbers ...float32) (b []byte) {
	for _, x := range numbers {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func i64(numbers ...uint64) (b []byte) {
	for _, x := range numbers {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

// file returns a safetensors file.
func file(parts map[string]part) []byte {
	header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	var data []byte
	for name, p := range parts {
		header[name] = map[string]any{"dtype": p.kind, "shape": p.shape, "data_offsets": []int{len(data), len(data) + len(p.data)}}
		data = append(data, p.data...)
	}
	h, _ := json.Marshal(header)
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(h))), h, data)
}

// colours has a vector of two numbers for each of five tokens.
var colours = part{"F32", []int{5, 2}, f32(9, 9, 1, 0, 0, 1, 3, 4, -1, 1)}

func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, parts map[string]part) (*Embedder, error) {
	t.Helper()
	return Open(Options{Table: write(t, "t.safetensors", file(parts)), Tokenizer: write(t, "tokenizer.json", []byte(words))})
}

func embed(t testing.TB, e *Embedder, texts ...string) [][]float32 {
	t.Helper()
	v, err := retrieve.Embed(t.Context(), e, retrieve.SideDocument, texts)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// near reports whether two vectors differ by no more than rounding.
func near(a, b []float32, most float64) bool {
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > most {
			return false
		}
	}
	return len(a) == len(b)
}

func TestEmbed(t *testing.T) {
	half := float32(math.Sqrt(0.5))
	plain := map[string][]float32{
		"red": {1, 0}, "red green": {half, half}, "green  red red red": {3 / float32(math.Sqrt(10)), 1 / float32(math.Sqrt(10))},
		"blueish": {2 / float32(math.Sqrt(29)), 5 / float32(math.Sqrt(29))}, "blue": {0.6, 0.8}, "blue unheard": {0.6, 0.8}, "": {0, 0}, "unheard": {0, 0},
	}
	for _, tt := range []struct {
		name  string
		parts map[string]part
		want  map[string][]float32
	}{
		{"plain", map[string]part{"embedding.weight": colours}, plain},
		{"weights", map[string]part{"embeddings": colours, "weights": {"F32", []int{5}, f32(1, 1, 7, 1, 0)}}, map[string][]float32{
			"red": {1, 0}, "red green": {1 / float32(math.Sqrt(50)), 7 / float32(math.Sqrt(50))}, "blueish": {0.6, 0.8},
		}},
		{"mapping", map[string]part{"embeddings": {"F32", []int{2, 2}, f32(0, 2, 5, 0)}, "mapping": {"I64", []int{5}, i64(0, 1, 0, 1, 0)}}, map[string][]float32{
			"red": {1, 0}, "blue": {1, 0}, "green": {0, 1},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := open(t, tt.parts)
			if err != nil {
				t.Fatal(err)
			}
			for text, want := range tt.want {
				if have := embed(t, e, text)[0]; !near(have, want, 1e-6) {
					t.Errorf("%q: %v, want %v", text, have, want)
				}
			}
		})
	}
}

// Many texts are shared among processors, and the result is that of one.
func TestManyTexts(t *testing.T) {
	e, err := open(t, map[string]part{"m": colours})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i := range 1000 {
		texts = append(texts, strings.Repeat("red ", i%7)+strings.Repeat("blueish ", i%3))
	}
	have := embed(t, e, texts...)
	for i, text := range texts {
		if !reflect.DeepEqual(have[i], embed(t, e, text)[0]) {
			t.Fatalf("text %d differs", i)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Embed(ctx, retrieve.SideQuery, texts); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The ID is that of the contents: it changes with every number, and not with the path.
func TestModel(t *testing.T) {
	id := func(parts map[string]part) string {
		e, err := open(t, parts)
		if err != nil {
			t.Fatal(err)
		}
		m, err := e.Model(t.Context())
		if err != nil || m.Dimension != 2 || e.Bytes() < 4*10 {
			t.Fatal(m, err, e.Bytes())
		}
		return m.ID
	}
	other := part{"F32", []int{5, 2}, f32(9, 9, 1, 0, 0, 1, 3, 4, -1, 1.5)}
	weights := part{"F32", []int{5}, f32(1, 1, 1, 1, 1)}
	a, b, c, d := id(map[string]part{"m": colours}), id(map[string]part{"m": colours}), id(map[string]part{"m": other}), id(map[string]part{"m": colours, "weights": weights})
	if a != b || a == c || a == d || !strings.HasPrefix(a, "static:") {
		t.Error(a, b, c, d)
	}
}

// Each type gives the numbers that it stands for.
func TestTypes(t *testing.T) {
	numbers := []float32{1, -2, 0.5, 65504, 6.103515625e-05, 5.960464477539063e-08, 0, -0.333251953125}
	halves := []uint16{0x3c00, 0xc000, 0x3800, 0x7bff, 0x0400, 0x0001, 0x0000, 0xb555}
	var f16, bf16, f64 []byte
	for i, h := range halves {
		f16 = binary.LittleEndian.AppendUint16(f16, h)
		bf16 = binary.LittleEndian.AppendUint16(bf16, uint16(math.Float32bits(numbers[i])>>16))
		f64 = binary.LittleEndian.AppendUint64(f64, math.Float64bits(float64(numbers[i])))
	}
	for kind, data := range map[string][]byte{"F16": f16, "F32": f32(numbers...), "F64": f64} {
		if have := appendFloats(nil, kind, data); !reflect.DeepEqual(have, numbers) {
			t.Errorf("%s: %v", kind, have)
		}
	}
	read := appendFloats(nil, "BF16", bf16)
	if len(read) != len(numbers) {
		t.Fatalf("BF16: %d numbers, want %d", len(read), len(numbers))
	}
	for i, x := range read {
		if math.Abs(float64(x-numbers[i])) > math.Abs(float64(numbers[i]))/128 {
			t.Errorf("BF16: %v, want %v", x, numbers[i])
		}
	}
	if x := half(0x7c00); !math.IsInf(float64(x), 1) {
		t.Error(x)
	}
	if x := half(0x7e00); !math.IsNaN(float64(x)) {
		t.Error(x)
	}
}

// A file that is not a table is refused in one line that says why.
func TestRefused(t *testing.T) {
	good := file(map[string]part{"m": colours})
	header := func(s string) []byte {
		return append(binary.LittleEndian.AppendUint64(nil, uint64(len(s))), s...)
	}
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"empty":         {nil, "it is too short"},
		"huge header":   {binary.LittleEndian.AppendUint64(nil, math.MaxUint64), "its header has 18446744073709551615 bytes"},
		"long header":   {binary.LittleEndian.AppendUint64(nil, 100), "its header has 100 bytes"},
		"no JSON":       {header("x\n\x1b"), "its header is not a JSON object"},
		"no tensors":    {header("{}"), "no tensors"},
		"a list":        {header(`{"m": []}`), "want dtype, shape and data_offsets"},
		"cut off":       {good[:len(good)-1], "outside of the file"},
		"backwards":     {header(`{"m": {"dtype": "F32", "shape": [0, 2], "data_offsets": [8, 0]}}`), "outside of the file"},
		"one offset":    {header(`{"m": {"dtype": "F32", "shape": [0, 2], "data_offsets": [0]}}`), "outside of the file"},
		"overflow":      {header(`{"m": {"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 0]}}`), "is too large"},
		"no rows":       {header(`{"m": {"dtype": "F32", "shape": [0, 2], "data_offsets": [0, 0]}}`), "shape [0 2]"},
		"shape":         {file(map[string]part{"m": {"F32", []int{5, 3}, f32(1, 2)}}), "8 bytes of data, the shape [5 3] needs 60"},
		"NaN":           {file(map[string]part{"m": {"F32", []int{5, 1}, f32(1, 2, float32(math.NaN()), 4, 5)}}), "number 2 is not finite"},
		"integers":      {file(map[string]part{"m": {"I32", []int{5, 1}, f32(1, 2, 3, 4, 5)}}), "no matrix of F32, F16 or BF16"},
		"unknown type":  {file(map[string]part{"m": {"U2", []int{5, 1}, nil}}), "no matrix"},
		"two":           {file(map[string]part{"a": colours, "b": colours}), "2 matrices (choose one with tensor"},
		"wide":          {file(map[string]part{"m": {"F32", []int{0, 1 << 20}, nil}}), "1 to 16384 dimensions"},
		"small":         {file(map[string]part{"m": {"F32", []int{4, 1}, f32(1, 2, 3, 4)}}), "it has 4 tokens, the tokenizer needs 5"},
		"weights":       {file(map[string]part{"m": colours, "weights": {"F32", []int{1}, f32(1)}}), "1 numbers for 5 tokens"},
		"far row":       {file(map[string]part{"m": colours, "mapping": {"I64", []int{5}, i64(0, 1, 2, 5, 0)}}), "number 3 is row 5, of 5 rows"},
		"row below":     {file(map[string]part{"m": colours, "mapping": {"I64", []int{1}, i64(math.MaxUint64)}}), "number 0 is row -1"},
		"mapping of F":  {file(map[string]part{"m": colours, "mapping": {"F32", []int{1}, f32(0)}}), "want I64 or I32"},
		"weights of I":  {file(map[string]part{"m": colours, "weights": {"I64", []int{5}, i64(1, 1, 1, 1, 1)}}), "want F32, F16 or BF16"},
		"short mapping": {file(map[string]part{"m": colours, "mapping": {"I64", []int{1}, i64(0)}}), "it has 1 tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, "t.safetensors", tt.data)
			_, err := Open(Options{Table: path, Tokenizer: write(t, "tokenizer.json", []byte(words))})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
	if _, err := Open(Options{Table: t.TempDir(), Tokenizer: write(t, "tokenizer.json", []byte(words))}); err == nil {
		t.Error("a folder is a table")
	}
	if _, err := Open(Options{Table: write(t, "t", good), Tokenizer: write(t, "tokenizer.json", []byte("{}"))}); err == nil || !strings.Contains(err.Error(), "tokenizer") {
		t.Error(err)
	}
	if _, err := Open(Options{Table: write(t, "t", good), Tokenizer: write(t, "tokenizer.json", []byte(words)), Tensor: "n"}); err == nil || !strings.Contains(err.Error(), `no matrix "n" (it has "m" of F32 [5 2])`) {
		t.Error(err)
	}
}

// No file makes the reader panic, or reserve more memory than the file has.
func FuzzTable(f *testing.F) {
	f.Add(file(map[string]part{"m": colours}))
	f.Add(file(map[string]part{"m": colours, "weights": {"F16", []int{5}, make([]byte, 10)}, "mapping": {"I64", []int{1}, i64(4)}}))
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := readHeader(strings.NewReader(string(data)), int64(len(data)))
		if err != nil {
			return
		}
		out, err := in.table("")
		if err != nil {
			return
		}
		if n := 2 * (len(out.vectors) + len(out.weights) + len(out.rows)); n > len(data) || out.dimension < 1 {
			t.Fatalf("%d bytes of numbers in a file of %d", n, len(data))
		}
		w := &work{ids: []uint32{0, uint32(out.tokens() - 1), 0}, seen: make([]uint32, out.tokens())}
		if out.tokens() > 0 {
			out.sum(w, make([]float32, out.dimension))
		}
	})
}

// reference is the folder that testdata/reference.py writes.
func reference(t testing.TB) (*Embedder, string) {
	folder := os.Getenv("ANCHOR_STATIC")
	if folder == "" {
		t.Skip("ANCHOR_STATIC names no folder")
	}
	e, err := Open(Options{Table: filepath.Join(folder, "table.safetensors"), Tokenizer: filepath.Join(folder, "tokenizer.json")})
	if err != nil {
		t.Fatal(err)
	}
	return e, folder
}

// TestReference compares with the vectors of the library that a real table comes from.
func TestReference(t *testing.T) {
	e, folder := reference(t)
	data, err := os.ReadFile(filepath.Join(folder, "reference.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Texts   []string
		Vectors [][]float32
	}
	if err := json.Unmarshal(data, &want); err != nil || len(want.Texts) < 100 {
		t.Fatal(len(want.Texts), err)
	}
	worst := 0.0
	all := embed(t, e, want.Texts...)
	if len(all) != len(want.Texts) {
		t.Fatalf("%d vectors of %d texts", len(all), len(want.Texts))
	}
	for i, have := range all {
		for k := range have {
			worst = max(worst, math.Abs(float64(have[k]-want.Vectors[i][k])))
		}
		if !near(have, want.Vectors[i], 1e-3) {
			t.Errorf("%.60q differs", want.Texts[i])
		}
	}
	t.Logf("%d texts, no number differs by more than %.2g", len(want.Texts), worst)
}

func BenchmarkReference(b *testing.B) {
	e, _ := reference(b)
	data, err := os.ReadFile("embedder.go")
	if err != nil {
		b.Fatal(err)
	}
	var texts []string
	for text := string(data); len(text) > 1500; text = text[1500:] {
		texts = append(texts, text[:1500])
	}
	for _, n := range []int{1, 40} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var in []string
			for len(in) < n {
				in = append(in, texts[:min(n-len(in), len(texts))]...)
			}
			b.SetBytes(int64(1500 * n))
			for b.Loop() {
				embed(b, e, in...)
			}
		})
	}
}
