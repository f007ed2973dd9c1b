package bpe

import (
	"errors"
	"strings"
	"testing"

	loader "github.com/pkoukk/tiktoken-go-loader"
)

// singles is a vocabulary of the 256 single bytes.
func singles() (lengths, text []byte) {
	for i := range 256 {
		lengths, text = append(lengths, 1), append(text, byte(i))
	}
	return lengths, text
}

func TestParseVocab(t *testing.T) {
	for _, c := range []struct {
		name, lengths, text string
		want                error
	}{
		{"singles only", "", "", nil},
		{"two bytes", "\x02", "ab", nil},
		{"a gap in the ranks", "\x02\x00\x03", "ababc", nil},
		{"nine bytes", "\x09", "abcdefghi", nil},
		{"ends in zero", "\x02", "a\x00", nil},
		{"too short", "\x03", "ab", errShort},
		{"too long", "\x02", "abc", errShort},
	} {
		t.Run(c.name, func(t *testing.T) {
			lengths, text := singles()
			v, err := parseVocab(append(lengths, c.lengths...), append(text, c.text...))
			if !errors.Is(err, c.want) || (v == nil) != (err != nil) {
				t.Fatalf("got %v, %v; want %v", v != nil, err, c.want)
			}
		})
	}
	if _, err := parseVocab([]byte{1}, []byte("a")); !errors.Is(err, errBytes) {
		t.Errorf("one token: %v, want %v", err, errBytes)
	}
}

// Every token of the files must be found with its rank, and nothing else.
func TestVocabHoldsTheFile(t *testing.T) {
	for _, name := range Names() {
		v := vocabOf(t, name)
		ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
		if err != nil {
			t.Fatal(err)
		}
		if v.size != len(ranks) {
			t.Errorf("%s: %d tokens, want %d", name, v.size, len(ranks))
		}
		for token, want := range ranks {
			for _, s := range []string{token, "before" + token + "behind, far enough"} {
				i := strings.Index(s, token)
				if got := v.rank(s, i, i+len(token)); got != uint32(want) {
					t.Fatalf("%s: rank(%q) = %d, want %d", name, token, got, want)
				}
				if got := v.joined(s, i, i+len(token)); got != uint32(want) {
					t.Fatalf("%s: joined(%q) = %d, want %d", name, token, got, want)
				}
			}
			longer := token + "\x00"
			if want, ok := ranks[longer]; !ok && v.rank(longer, 0, len(longer)) != none {
				t.Fatalf("%s: rank(%q) = %d, want none", name, longer, want)
			}
		}
	}
}

func FuzzParseVocab(f *testing.F) {
	f.Add([]byte{}, []byte{})
	f.Add([]byte{2}, []byte("ab"))
	f.Fuzz(func(t *testing.T, moreLengths, moreText []byte) {
		lengths, text := singles()
		v, err := parseVocab(append(lengths, moreLengths...), append(text, moreText...))
		if (v == nil) == (err == nil) {
			t.Fatalf("value %v, error %v", v != nil, err)
		}
		if v != nil {
			v.rank("ab", 0, 2)
			v.rank("abcdefghijk", 0, 11)
		}
	})
}
