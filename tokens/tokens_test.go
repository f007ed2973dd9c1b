package tokens

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustGet(t testing.TB, name string) *Encoding {
	t.Helper()
	enc, err := Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return enc
}

// The counts were published by OpenAI with the encodings, or made with its library.
func TestKnownCounts(t *testing.T) {
	texts := []string{"", "hello world", "antidisestablishmentarianism", "2 + 2 = 4", "お誕生日おめでとう", "tiktoken is great!"}
	for name, want := range map[string][]int{
		"r50k_base":   {0, 2, 5, 5, 14, 6},
		"p50k_base":   {0, 2, 5, 5, 14, 6},
		"cl100k_base": {0, 2, 6, 7, 9, 6},
		"o200k_base":  {0, 2, 6, 7, 8, 6},
		"words":       {0, 2, 1, 5, 1, 3},
	} {
		count := Words{}.Count
		if name != WordsName {
			count = mustGet(t, name).Count
		}
		for _, pass := range []string{"counted", "remembered"} {
			if got, err := count(t.Context(), texts...); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, %v, want %v", name, pass, got, err, want)
			}
		}
	}
}

func TestSpecialTokensAreText(t *testing.T) {
	const text = "alpha<|endoftext|>beta<|fim_prefix|>gamma<|endofprompt|>"
	for _, name := range Names() {
		enc := mustGet(t, name)
		counts, err := enc.Count(t.Context(), text, "<|endoftext|>")
		if err != nil || counts[0] < 15 || counts[1] < 5 {
			t.Errorf("%s: %v, %v: special tokens are not counted as text", name, counts, err)
		}
		if got, err := enc.Truncate(t.Context(), text, 1000); err != nil || got != text {
			t.Errorf("%s: text came back as %q, %v", name, got, err)
		}
	}
}

func TestGetRefuses(t *testing.T) {
	_, err := Get("cl100k")
	want := `encoding "cl100k": unknown encoding (want one of [cl100k_base o200k_base p50k_base r50k_base])`
	if !errors.Is(err, ErrUnknownEncoding) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestTruncate(t *testing.T) {
	texts := []string{
		"The quick brown fox jumps over the lazy dog. It was 12:30 on 2026-01-01.",
		"お誕生日おめでとう 🎉👩‍👩‍👧 naïve café",
		"tabs\t\tand   runs\n\n\n of  space ", strings.Repeat("=", 50), "\xff\xfe bytes \xc3",
	}
	for _, name := range Names() {
		enc := mustGet(t, name)
		for _, text := range texts {
			clean := string([]rune(text))
			longest := -1
			for limit := range 40 {
				got, err := enc.Truncate(t.Context(), text, limit)
				if err != nil {
					t.Fatal(err)
				}
				counts, err := enc.Count(t.Context(), got, text)
				if err != nil || counts[0] > limit {
					t.Errorf("%s: %q cut to %d tokens has %d", name, text, limit, counts[0])
				}
				repaired := string([]rune(got))
				if !strings.HasPrefix(clean, repaired) || len(repaired) < longest {
					t.Errorf("%s: %q cut to %d tokens is %q", name, text, limit, got)
				}
				if counts[1] <= limit && got != text {
					t.Errorf("%s: %q of %d tokens is cut to %q by a limit of %d", name, text, counts[1], got, limit)
				}
				longest = len(repaired)
			}
		}
	}
}

func TestWordsTruncate(t *testing.T) {
	for _, tc := range []struct {
		text  string
		limit int
		want  string
	}{
		{"one  two\tthree", 2, "one two"}, {"one  two", 2, "one  two"}, {" one", 5, " one"}, {"one", 0, ""}, {"one", -1, ""}, {"", 3, ""},
	} {
		if got, err := (Words{}).Truncate(t.Context(), tc.text, tc.limit); err != nil || got != tc.want {
			t.Errorf("Truncate(%q, %d) = %q, %v, want %q", tc.text, tc.limit, got, err, tc.want)
		}
	}
}

func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tokenizer := range []interface {
		Count(context.Context, ...string) ([]int, error)
		Truncate(context.Context, string, int) (string, error)
	}{Words{}, mustGet(t, "r50k_base")} {
		if _, err := tokenizer.Count(ctx, "never counted before "+t.Name()); !errors.Is(err, context.Canceled) {
			t.Errorf("%T: Count: %v", tokenizer, err)
		}
		for _, limit := range []int{0, 3} {
			if _, err := tokenizer.Truncate(ctx, "text", limit); !errors.Is(err, context.Canceled) {
				t.Errorf("%T: Truncate to %d: %v", tokenizer, limit, err)
			}
		}
	}
}

// A long count is abandoned when its context ends, and abandoned long counts
// do not accumulate.
func TestLongCountsCanBeGivenUp(t *testing.T) {
	enc := mustGet(t, "r50k_base")
	if _, err := enc.Count(t.Context(), "load"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			if _, err := enc.Count(ctx, fmt.Sprint(i)+strings.Repeat("letters", 1500)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("count of a long text: %v", err)
			}
		})
	}
	running.Wait()
	if n := len(longCounts); n > maxLongCounts {
		t.Errorf("%d long counts go on, want at most %d", n, maxLongCounts)
	}
	for range maxLongCounts { // once all places are free, nothing goes on
		longCounts <- struct{}{}
	}
	for range maxLongCounts {
		<-longCounts
	}
	long, err := enc.Count(t.Context(), strings.Repeat("a word ", 1000))
	if err != nil || long[0] != 2001 {
		t.Errorf("count of a long text: %v, %v", long, err)
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := newCountCache(10)
	for i := range 1000 {
		texts, counts := []string{fmt.Sprint(i)}, []int{i}
		c.store(texts, counts, []int{0})
		if n := len(c.young) + len(c.old); n > 20 {
			t.Fatalf("%d entries, want at most 20", n)
		}
		counts[0] = -1
		if misses := c.lookup(texts, counts); len(misses) > 0 || counts[0] != i {
			t.Fatalf("count of the newest text: %v, misses %v", counts, misses)
		}
	}
	if misses := c.lookup([]string{"0", "999"}, make([]int, 2)); !slices.Equal(misses, []int{0}) {
		t.Errorf("misses %v, want [0]", misses)
	}
}

// TestCacheTellsTextsOfOneHashApart puts entries of other texts under the hash of one.
func TestCacheTellsTextsOfOneHashApart(t *testing.T) {
	c, texts := newCountCache(10), []string{"asked"}
	c.store(texts, []int{7}, []int{0})
	hash := maphash.String(c.seedA, texts[0])
	own := c.young[hash]
	for name, e := range map[string]cacheEntry{
		"other check":  {own.check + 1, own.length, own.count},
		"other length": {own.check, own.length + 1, own.count},
	} {
		c.young[hash] = e
		if misses := c.lookup(texts, make([]int, 1)); len(misses) != 1 {
			t.Errorf("%s: taken for the text", name)
		}
	}
	counts := []int{7}
	c.store(texts, counts, []int{0})
	counts[0] = 0
	if misses := c.lookup(texts, counts); len(misses) != 0 || counts[0] != 7 {
		t.Errorf("stored again: count %d, misses %v", counts[0], misses)
	}
}

func TestCountsUnderConcurrency(t *testing.T) {
	enc := mustGet(t, "r50k_base")
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for i := range 50 {
				if got, err := enc.Count(t.Context(), strings.Repeat("a b ", i%7+1)); err != nil || got[0] == 0 {
					t.Error(got, err)
				}
			}
		})
	}
	running.Wait()
}

func FuzzCount(f *testing.F) {
	for _, text := range []string{"", "hello", "\xff\xfe", "a\u0300", "<|endoftext|>", " \n \t\r\n", "don't 12345 ÀÈ漢字🎉"} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if len(text) > 4096 {
			return
		}
		for _, name := range Names() {
			enc := mustGet(t, name)
			counts, err := enc.Count(t.Context(), text)
			if err != nil || (counts[0] == 0) != (text == "") || counts[0] > 3*len(text) {
				t.Fatalf("%s: %v, %v", name, counts, err)
			}
			cut, err := enc.Truncate(t.Context(), text, limit)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := enc.Count(t.Context(), cut); err != nil || again[0] > max(0, limit) {
				t.Fatalf("%s: cut to %d: %q of %v tokens, %v", name, limit, cut, again, err)
			}
		}
		if n := countWords(text); n != len(strings.Fields(text)) {
			t.Fatalf("%d words, want %d", n, len(strings.Fields(text)))
		}
	})
}

func BenchmarkCount(b *testing.B) {
	enc := mustGet(b, "cl100k_base")
	counter, err := enc.load()
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 23) // 1 KB
	b.Run("cold", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := counter.Count(context.Background(), text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("remembered", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := enc.Count(context.Background(), text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
