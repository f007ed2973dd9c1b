package tokens

import (
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// The encoders are built without the library's own constructor, which uses a global
// loader; this test uses it to compare.
func TestEncodersAreThoseOfTheLibrary(t *testing.T) {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	texts := []string{
		"The year 2026 isn't over; we'LL see  what's\tnext.\r\n\r\n  Indented   text\n\n", "snake_case camelCase HTTPServer αβγ ÀÉÎ ǅ 漢字かな 🎉👩‍👩‍👧",
		"<|endoftext|>", "x = [i**2 for i in range(10)]  # squares\n\n\n", "\xff\xfe\x00 broken \xe2\x82", " \u00a0\u2003 a\u0300\u0301 1234567890 ½ Ⅷ",
	}
	for _, name := range Names() {
		library, err := tiktoken.GetEncoding(name)
		if err != nil {
			t.Fatal(err)
		}
		counts, err := mustGet(t, name).Count(t.Context(), texts...)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			if want := len(library.EncodeOrdinary(text)); counts[i] != want {
				t.Errorf("%s: %q has %d tokens, want %d", name, text, counts[i], want)
			}
		}
	}
}
