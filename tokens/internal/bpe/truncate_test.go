package bpe

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// boundaries returns the character boundaries of s, 0 and len(s) included.
func boundaries(s string) []int {
	b := []int{0}
	for i := 0; i < len(s); {
		_, w := utf8.DecodeRuneInString(s[i:])
		i += w
		b = append(b, i)
	}
	return b
}

// Truncate must return the longest prefix that fits, found here by counting
// every prefix.
func TestTruncateIsLongest(t *testing.T) {
	for _, name := range Names() {
		e, v := get(t, name), vocabOf(t, name)
		g := newGenerator(6)
		for range 150 {
			text := g.text(v)
			if len(text) > 300 {
				continue
			}
			ends := boundaries(text)
			counts := make([]int, len(ends))
			for i, end := range ends {
				counts[i], _ = e.Count(t.Context(), text[:end])
			}
			for limit := -1; limit <= counts[len(counts)-1]+1; limit++ {
				want := len(ends) - 1
				for want > 0 && counts[want] > limit {
					want--
				}
				got, err := e.Truncate(t.Context(), text, limit)
				if err != nil || got != text[:ends[want]] {
					t.Fatalf("%s: Truncate(%q, %d) = %q, %v; want %q", name, text, limit, got, err, text[:ends[want]])
				}
			}
		}
	}
}

// Within a long piece the prefix must also be the longest.
func TestTruncateLongPieces(t *testing.T) {
	g := newGenerator(7)
	letters := make([]byte, windowLen+500)
	for i := range letters {
		letters[i] = "abcdefghijklmnop"[g.IntN(16)]
	}
	texts := map[string]string{
		"letters":  "x = " + string(letters) + "; done",
		"one":      strings.Repeat("a", windowLen+500),
		"signs":    strings.Repeat("=", windowLen+300) + "\n\nend",
		"spaces":   "x" + strings.Repeat(" ", windowLen+300) + "y",
		"han":      strings.Repeat("清晨六点半渡船离开小岛", 130),
		"rare":     strings.Repeat("𠮷㐀𪚥", 350),
		"emoji":    strings.Repeat("👩‍💻😀", 300),
		"marks":    strings.Repeat("\u0301\u0308", 1100),
		"invalid":  "ok " + strings.Repeat("\xff\xe4\xb8", 500),
		"newlines": strings.Repeat("\n", windowLen) + strings.Repeat(" ", 300),
	}
	for _, name := range Names()[:2] {
		e := get(t, name)
		for kind, text := range texts {
			n, err := e.Count(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			for _, limit := range []int{1, 10, n / 3, n - 1} {
				got, err := e.Truncate(t.Context(), text, limit)
				if err != nil || !strings.HasPrefix(text, got) {
					t.Fatalf("%s/%s: %d tokens: no prefix (%d bytes, %v)", name, kind, limit, len(got), err)
				}
				if used, _ := e.Count(t.Context(), got); used > limit {
					t.Errorf("%s/%s: %d tokens: the prefix of %d bytes has %d", name, kind, limit, len(got), used)
				}
				rest := boundaries(text[len(got):])
				for _, more := range rest[1:min(len(rest), 12)] {
					longer := text[:len(got)+more]
					if used, _ := e.Count(t.Context(), longer); used <= limit {
						t.Errorf("%s/%s: %d tokens: %d bytes, but %d bytes have %d", name, kind, limit, len(got), len(longer), used)
						break
					}
				}
			}
		}
	}
}

// A text that fits comes back as it is, invalid bytes and all.
func TestTruncateKeepsWhatFits(t *testing.T) {
	e := get(t, "cl100k_base")
	for _, text := range []string{"", "a", "a \xff b", "\xe4\xb8", "  "} {
		if got, err := e.Truncate(t.Context(), text, 100); got != text || err != nil {
			t.Errorf("Truncate(%q) = %q, %v", text, got, err)
		}
	}
}

func FuzzTruncate(f *testing.F) {
	for _, group := range atoms {
		f.Add(strings.Join(group, ""), uint(3))
	}
	f.Fuzz(func(t *testing.T, text string, limit uint) {
		limit %= 100
		for _, name := range Names() {
			e := get(t, name)
			got, err := e.Truncate(t.Context(), text, int(limit))
			if err != nil || !strings.HasPrefix(text, got) {
				t.Fatalf("%s: Truncate(%q, %d) = %q, %v", name, text, limit, got, err)
			}
			if n, _ := e.Count(t.Context(), got); n > int(limit) {
				t.Fatalf("%s: Truncate(%q, %d) = %q of %d tokens", name, text, limit, got, n)
			}
			if _, w := utf8.DecodeRuneInString(text[len(got):]); w > 0 {
				if n, _ := e.Count(t.Context(), text[:len(got)+w]); n <= int(limit) && len(text) < 128 {
					t.Fatalf("%s: Truncate(%q, %d) = %q, but one character more has %d tokens", name, text, limit, got, n)
				}
			}
		}
	})
}
