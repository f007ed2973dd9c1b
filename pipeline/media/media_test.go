package media

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
	"time"
)

func TestImagesByPublishedRules(t *testing.T) {
	for _, c := range []struct {
		model, detail       string
		width, height, want int
	}{
		// The examples of OpenAI's guide.
		{"gpt-4o", "high", 1024, 1024, 765}, {"gpt-4o", "", 2048, 4096, 1105}, {"gpt-4o", "low", 4096, 8192, 85},
		{"openai/gpt-4o-2024-08-06", "", 1024, 1024, 765}, {"gpt-4.1", "", 1024, 1024, 765},
		{"gpt-4o-mini", "", 1024, 1024, 2833 + 4*5667}, {"o1", "", 1024, 1024, 675}, {"gpt-5", "", 1024, 1024, 630},
		{"gpt-4.1-mini", "", 1024, 1024, 1659}, {"gpt-4.1-mini", "", 1800, 2400, 2353}, {"o4-mini", "", 1024, 1024, 1762},
		{"gpt-5-nano", "", 512, 512, 630}, {"gpt-4o", "", 1, 100_000, 85 + 170*4},
		// Measured with the API.
		{"gpt-5.5", "", 1920, 1080, 2448}, {"gpt-5.5", "", 4032, 3024, 11_868}, {"gpt-6", "high", 2560, 1440, 2931},
		{"gpt-6-mini", "high", 4032, 3024, 2942}, {"gpt-6", "auto", 4032, 3024, 14_364},
		{"gemini-2.5-pro", "", 384, 384, 258},
	} {
		e := Count(c.model, Part{Kind: Image, Width: c.width, Height: c.height, Detail: c.detail})
		if e.Low != c.want || e.High != c.want || e.Source == "" {
			t.Errorf("%s %s %dx%d: %+v, want %d", c.model, c.detail, c.width, c.height, e, c.want)
		}
	}
}

// The numbers are those that the API reported, without the text of the request.
func TestIntervalsContainWhatWasMeasured(t *testing.T) {
	for _, c := range []struct {
		model               string
		width, height, seen int
	}{
		{"claude-haiku-4-5", 256, 256, 100}, {"claude-haiku-4-5", 1024, 1024, 1369}, {"claude-haiku-4-5", 1920, 1080, 1560},
		{"claude-haiku-4-5", 2560, 1440, 1592}, {"claude-haiku-4-5", 4032, 3024, 1596},
		{"claude-opus-5-5", 512, 512, 361}, {"claude-opus-5-5", 1920, 1080, 2691}, {"claude-opus-5-5", 2560, 1440, 2992},
		{"claude-opus-5-5", 4032, 3024, 3928}, {"gemini-3.5-flash", 256, 256, 1090}, {"gemini-3.5-flash", 4032, 3024, 1065},
		{"gemini-2.5-flash", 960, 540, 1548}, {"my-own-model", 1024, 1024, 765}, {"my-own-model", 4032, 3024, 11_868},
	} {
		e := Count(c.model, Part{Kind: Image, Width: c.width, Height: c.height})
		if e.Low > c.seen || e.High < c.seen || e.High > 12*e.Low && c.model != "my-own-model" {
			t.Errorf("%s %dx%d: %+v, seen %d", c.model, c.width, c.height, e, c.seen)
		}
		unknown := Count(c.model, Part{Kind: Image})
		if unknown.High < e.High && unknown.High < 12_000 && !strings.HasPrefix(c.model, "gemini") {
			t.Errorf("%s of unknown size: %+v, of %dx%d: %+v", c.model, unknown, c.width, c.height, e)
		}
	}
}

// files returns an image of 640 by 480 pixels in each format.
func files(t testing.TB) map[string][]byte {
	picture := image.NewPaletted(image.Rect(0, 0, 640, 480), color.Palette{color.Black, color.White})
	out := map[string][]byte{}
	var b bytes.Buffer
	for name, encode := range map[string]func() error{
		"png":  func() error { return png.Encode(&b, picture) },
		"gif":  func() error { return gif.Encode(&b, picture, nil) },
		"jpeg": func() error { return jpeg.Encode(&b, picture, nil) },
	} {
		b.Reset()
		if err := encode(); err != nil {
			t.Fatal(err)
		}
		out[name] = bytes.Clone(b.Bytes())
	}
	webp := func(kind string, payload ...byte) []byte {
		head := append([]byte("RIFF\x00\x00\x00\x00WEBP"), kind...)
		return append(append(head, 30, 0, 0, 0), append(payload, make([]byte, 20)...)...)
	}
	out["webp"] = webp("VP8 ", 0, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0xe0, 0x01)
	lossless := binary.LittleEndian.AppendUint32(nil, 639|479<<14)
	out["webp lossless"] = webp("VP8L", append([]byte{0x2f}, lossless...)...)
	out["webp extended"] = webp("VP8X", 0, 0, 0, 0, 0x7f, 0x02, 0, 0xdf, 0x01, 0)
	// A JPEG whose size comes after a long profile.
	profile := append([]byte{0xff, 0xe2, 0xff, 0xff}, make([]byte, 0xfffd)...)
	out["jpeg with profile"] = append(append(bytes.Clone(out["jpeg"][:2]), profile...), out["jpeg"][2:]...)
	return out
}

func TestSizeIsReadFromTheHeader(t *testing.T) {
	want := Count("gpt-4o", Part{Kind: Image, Width: 640, Height: 480})
	for name, file := range files(t) {
		text := base64.StdEncoding.EncodeToString(file)
		cut := text[:min(len(text), 120_000)/4*4-1] // the rest is not needed, and no base64
		for form, p := range map[string]Part{
			"bytes": {Bytes: file}, "base64": {Data: text}, "data URL": {Data: "data:image/x;base64," + text}, "cut": {Data: cut + "!!!"},
		} {
			p.Kind = Image
			if e := Count("gpt-4o", p); e != want {
				t.Errorf("%s as %s: %+v, want %+v", name, form, e, want)
			}
		}
	}
	if e := Count("gpt-4o", Part{Kind: Image, Data: "https://example.com/x.png"}); e.Exact() || e.High < 1445 {
		t.Errorf("unknown size: %+v", e)
	}
}

// TestLargeContentIsNotDecoded counts an image of 20 MB a thousand times.
func TestLargeContentIsNotDecoded(t *testing.T) {
	text := base64.StdEncoding.EncodeToString(append(files(t)["png"], make([]byte, 20<<20)...))
	decoding := time.Now()
	if _, err := base64.StdEncoding.DecodeString(text); err != nil {
		t.Fatal(err)
	}
	decoded := time.Since(decoding)
	start := time.Now()
	for range 1000 {
		Count("claude-opus-4-5", Part{Kind: Image, Data: text})
	}
	if d := time.Since(start); d > 200*decoded { // 1000 times that if each is decoded
		t.Errorf("%v for each, and %v to decode it once", d/1000, decoded)
	}
}

func TestSounds(t *testing.T) {
	wav := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00data")
	wav = append(binary.LittleEndian.AppendUint32(wav, 320_000), make([]byte, 320_000)...)
	flac := make([]byte, 42)
	copy(flac, "fLaC\x00\x00\x00\x22")
	binary.BigEndian.PutUint64(flac[18:], 44_100<<44|441_000)
	for name, p := range map[string]Part{"wav": {Bytes: wav}, "flac": {Bytes: flac}, "seconds": {Seconds: 10}} {
		p.Kind = Audio
		if e := Count("gemini-2.5-pro", p); e.Low != 320 || e.High != 320 {
			t.Errorf("%s: %+v", name, e)
		}
	}
	mp3 := Count("gemini-2.5-pro", Part{Kind: Audio, Bytes: make([]byte, 160_000)}) // 10 s at 128 kbit/s
	if mp3.Low > 320 || mp3.High < 320 || mp3.Exact() {
		t.Errorf("%+v", mp3)
	}
	if e := Count("claude-opus-4-5", Part{Kind: Audio, Seconds: 10}); e.Low > 100 || e.High < 320 {
		t.Errorf("no rule: %+v", e)
	}
}

func TestPagesOfGemini3CountWithoutTheirText(t *testing.T) {
	if e := rulesOf("gemini-3-pro").document(count{3, 3}); e.Low != 774 || e.High != 3360 {
		t.Errorf("%+v", e)
	}
}

func TestDocuments(t *testing.T) {
	small := "%PDF-1.4\n1 0 obj<</Type /Pages /Kids [2 0 R 3 0 R]>>endobj 2 0 obj<</Type /Page >>endobj 3 0 obj<</Type/Page/Parent 1 0 R>>endobj"
	linear := "%PDF-1.7\n1 0 obj\n<</Linearized 1/L 9000/O 3/E 100/N 2/T 80>>\nendobj" + strings.Repeat(" ", 9000)
	for name, p := range map[string]Part{"pages": {Pages: 2}, "small": {Data: base64.StdEncoding.EncodeToString([]byte(small))}, "linear": {Bytes: []byte(linear)}} {
		p.Kind = Document
		if e := Count("gemini-2.5-pro", p); e.Low != 516 || e.High != 516 {
			t.Errorf("%s: %+v", name, e)
		}
		if e := Count("claude-opus-4-5", p); e.Low != 3000 || e.High != 9200 {
			t.Errorf("%s: %+v", name, e)
		}
	}
	compressed := Part{Kind: Document, Bytes: []byte("%PDF-1.5\n/Type /Page /ObjStm" + strings.Repeat(" ", 100_000))}
	if e := Count("gemini-2.5-pro", compressed); e.Low != 258 || e.High < 258*90 {
		t.Errorf("%+v", e)
	}
}

func TestTools(t *testing.T) {
	for model, want := range map[string][2]int{
		"gpt-4o": {50, 132}, "claude-opus-4-5": {259, 630}, "gemini-2.5-pro": {50, 110}, "x": {50, 630},
	} {
		if e := Tools(model, 100, 2); e.Low != want[0] || e.High != want[1] || e.Source == "" {
			t.Errorf("%s: %+v, want %v", model, e, want)
		}
	}
	if e := Tools("gpt-4o", 0, 0); e.High != 0 {
		t.Errorf("%+v", e)
	}
}

func FuzzCount(f *testing.F) {
	for _, file := range files(f) {
		f.Add(file[:min(len(file), 2000)], "gpt-5.5", string(Image), 0, 0, 0.0)
	}
	f.Add([]byte("%PDF-1.4 /Type/Page "), "claude-opus-5", string(Document), -1, 1<<62, -1.0)
	f.Add([]byte("fLaC"), "gemini-3", string(Audio), 1<<20, 1<<20, 1e300)
	f.Add([]byte("RIFF\xff\xff\xff\xffWAVEfmt \xff\xff\xff\xff"), "x", "odd", 1, 1<<20, 0.0)
	f.Fuzz(func(t *testing.T, file []byte, model, kind string, a, b int, seconds float64) {
		for _, p := range []Part{
			{Bytes: file}, {Data: string(file)}, {Data: base64.StdEncoding.EncodeToString(file)}, {Width: a, Height: b, Pages: a, Seconds: seconds},
		} {
			p.Kind, p.Detail = Kind(kind), model
			e := Count(model, p)
			if e.Low < 0 || e.Low > e.High || e.High > maxTokens || e.Source == "" {
				t.Fatalf("%q: %+v", model, e)
			}
		}
		if e := Tools(model, a, b); e.Low < 0 || e.Low > e.High {
			t.Fatalf("%q: %+v", model, e)
		}
	})
}

func ExampleCount() {
	e := Count("gpt-4o", Part{Kind: Image, Width: 1024, Height: 1024})
	fmt.Println(e.Low, e.High, e.Source)
	// Output: 765 765 OpenAI images guide: tiles of 512 px (2025)
}
