package bpe

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	loader "github.com/pkoukk/tiktoken-go-loader"
)

// singles is a vocabulary of the 256 single bytes.
func singles() string {
	var b strings.Builder
	for i := range 256 {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(i)}), i)
	}
	return b.String()
}

func TestParseVocab(t *testing.T) {
	for _, c := range []struct {
		name, more string
		want       error
	}{
		{"singles only", "", nil},
		{"no newline at the end", "YWI= 256", nil},
		{"a gap in the ranks", "YWI= 300\nYWJj 301\n", nil},
		{"nine bytes", "YWJjZGVmZ2hp 256\n", nil},
		{"ends in zero", "YQA= 256\n", nil},
		{"empty line", "\n", errBase64},
		{"no token", " 256\n", errBase64},
		{"no space", "YWI=", errBase64},
		{"not base64", "YW*= 256\n", errBase64},
		{"padding first", "=WI= 256\n", errBase64},
		{"cut short", "YWJ 256\n", errBase64},
		{"no rank", "YWI= \n", errRank},
		{"rank is no number", "YWI= x\n", errRank},
		{"rank with more behind", "YWI= 256 \n", errRank},
		{"rank too large", "YWI= 16777216\n", errRank},
		{"rank far too large", "YWI= 99999999999999999999\n", errRank},
		{"rank not ascending", "YWI= 255\n", errRank},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := parseVocab([]byte(singles() + c.more))
			if !errors.Is(err, c.want) || (v == nil) != (err != nil) {
				t.Fatalf("got %v, %v; want %v", v != nil, err, c.want)
			}
		})
	}
	if _, err := parseVocab([]byte("YQ== 0\n")); !errors.Is(err, errBytes) {
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
	f.Add([]byte(singles()))
	f.Add([]byte("YWI= 256\n"))
	f.Fuzz(func(t *testing.T, more []byte) {
		file := append([]byte(singles()), more...)
		v, err := parseVocab(file)
		if (v == nil) == (err == nil) {
			t.Fatalf("value %v, error %v", v != nil, err)
		}
		if v != nil {
			v.rank("ab", 0, 2)
			v.rank("abcdefghijk", 0, 11)
		}
	})
}
