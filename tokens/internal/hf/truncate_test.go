package hf

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

// joined returns a text of several lines made of the texts of the cases.
func joined(texts []string, n int, random *rand.Rand) string {
	var b strings.Builder
	for range n {
		b.WriteString(texts[random.IntN(len(texts))])
		b.WriteString([]string{"\n", "\n\n", " ", "", "\n/"}[random.IntN(5)])
	}
	return b.String()
}

func TestTruncateReturnsTheLongestPrefix(t *testing.T) {
	texts, list := variants(t)
	for _, v := range list {
		t.Run(v.Base+"/"+v.Name, func(t *testing.T) {
			tokenizer, random := v.tokenizer(t), rand.New(rand.NewPCG(1, 2))
			rounds := 6
			if os.Getenv("ANCHOR_THOROUGH") == "" {
				rounds = 1
			}
			for range rounds {
				text := joined(texts, 8, random)
				limit := random.IntN(count(t, tokenizer, text) + 2)
				got, err := tokenizer.Truncate(context.Background(), text, limit)
				if err != nil {
					t.Fatal(err)
				}
				longest := ""
				for end := range len(text) + 1 {
					if (end == len(text) || utf8.RuneStart(text[end])) && count(t, tokenizer, text[:end]) <= limit {
						longest = text[:end]
					}
				}
				if limit == 0 {
					longest = ""
				}
				if got != longest {
					t.Errorf("limit %d of %q:\n got %d bytes …%q\nwant %d bytes …%q", limit, text, len(got), got[max(0, len(got)-20):],
						len(longest), longest[max(0, len(longest)-20):])
				}
			}
		})
	}
}

func TestTokensOfBothPartsAddUp(t *testing.T) {
	texts, list := variants(t)
	divided := 0
	for _, v := range list {
		tokenizer, random := v.tokenizer(t), rand.New(rand.NewPCG(3, 4))
		for range 10 {
			text := joined(texts, 20, random)
			whole := count(t, tokenizer, text)
			for at := tokenizer.NextSplit(text, 0); at < len(text); at = tokenizer.NextSplit(text, at) {
				divided++
				if a, b := count(t, tokenizer, text[:at]), count(t, tokenizer, text[at:]); a+b != whole {
					t.Fatalf("%s: %q and %q: %d + %d tokens, the whole has %d", v.Name, text[:at], text[at:], a, b, whole)
				}
			}
		}
	}
	if divided < 500 {
		t.Errorf("only %d places", divided)
	}
}

// TestLongTextIsQuick counts long texts without white space, or of nothing else. A time that grows
// with the square of the length would be hours for a mebibyte.
func TestLongTextIsQuick(t *testing.T) {
	t.Parallel()
	size := 1 << 18
	if os.Getenv("ANCHOR_THOROUGH") != "" {
		size = 1 << 20
	}
	_, list := variants(t)
	for _, v := range list {
		if !slices.Contains([]string{"llama3", "llama2", "no-bytes", "bytes", "whole", "deepseek", "charsmap"}, v.Name) {
			continue
		}
		tokenizer := v.tokenizer(t)
		units := []string{"bare", "a", " ", "\n", "中", "\u0301", "1", "\xff", "</s"}
		if testing.Short() {
			units = units[:1]
		}
		for _, unit := range units {
			start := time.Now()
			count(t, tokenizer, strings.Repeat(unit, size/len(unit)))
			if d := time.Since(start); d > await.Patience {
				t.Errorf("%s: %q: %d bytes took %v", v.Name, unit, size, d)
			}
		}
	}
}

func TestTruncateOfLongTextIsQuick(t *testing.T) {
	_, list := variants(t)
	for _, v := range list {
		if v.Name != "llama2" && v.Name != "llama3" && v.Name != "bytes" {
			continue
		}
		tokenizer := v.tokenizer(t)
		for _, unit := range []string{"bare", "\xff", "\x80", "中", "bare ti\n"} {
			text := strings.Repeat(unit, 1<<20/len(unit))
			start := time.Now()
			head, err := tokenizer.Truncate(context.Background(), text, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if n := count(t, tokenizer, head); n > 1000 || n < 990 {
				t.Errorf("%s: %q: %d tokens", v.Name, unit, n)
			}
			if d := time.Since(start); d > await.Patience {
				t.Errorf("%s: %q: %v", v.Name, unit, d)
			}
		}
	}
}

func TestCountEndsWithItsContext(t *testing.T) {
	t.Parallel()
	_, list := variants(t)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, v := range list {
		tokenizer := v.tokenizer(t)
		if _, err := tokenizer.Count(ended, "x"); err == nil {
			t.Errorf("%s: no error", v.Name)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		if _, err := tokenizer.Count(ctx, strings.Repeat("bare中", 1<<18)); err == nil {
			t.Errorf("%s: 2 MiB in a millisecond", v.Name)
		}
		cancel()
	}
}
