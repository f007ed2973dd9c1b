package bpe

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// stringsEnv sets how many generated texts TestSameAsTiktokenGo compares for
// each encoding.
const stringsEnv = "ANCHOR_BPE_STRINGS"

// The counter must agree with tiktoken-go token by token.
func TestSameAsTiktokenGo(t *testing.T) {
	texts, seed := 1000, uint64(1)
	if s := os.Getenv(stringsEnv); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("%s: %v", stringsEnv, err)
		}
		texts, seed = n, 2
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			v := vocabOf(t, name)
			g := newGenerator(seed)
			for range texts {
				same(t, name, g.text(v))
			}
		})
	}
}

// vocabOf returns the vocabulary of an encoding.
func vocabOf(t testing.TB, name string) *vocab {
	e := get(t, name)
	c := e.counter(context.Background(), "")
	defer e.release(c)
	return c.vocab
}

// TestSameOnText compares real sentences in many scripts, whole, by the line
// and cut at every byte of the first line.
func TestSameOnText(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("testdata: %d texts, %v", len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		for _, name := range Names() {
			same(t, name, text)
			same(t, name, strings.ReplaceAll(text, "\n", "\r\n"))
			for _, line := range strings.SplitAfter(text, "\n") {
				same(t, name, line)
			}
			for i := range min(len(text), 60) {
				same(t, name, text[:i])
				same(t, name, text[i:60])
			}
		}
	}
}

// A piece longer than a window is counted by other code than a short one.
func TestSameOnLongPieces(t *testing.T) {
	g := newGenerator(3)
	const size = windowLen + windowLen/4 // tiktoken-go is quadratic
	texts := []string{
		strings.Repeat("a", size+1),
		strings.Repeat("=", size),
		strings.Repeat(" ", size) + "x",
		strings.Repeat(" \n", windowLen/2) + strings.Repeat(" ", size-windowLen),
		strings.Repeat("我们的", size/9),
		strings.Repeat("\xff", size/3),
		strings.Repeat("\u0301", size/2),
		strings.Repeat("ab", size/2) + "'LL",
	}
	for range 3 {
		var b strings.Builder
		for alphabet := "abcdefghijklmnopqrstuvwxyz"[:2+g.IntN(25)]; b.Len() < size; {
			b.WriteByte(alphabet[g.IntN(len(alphabet))])
		}
		texts = append(texts, b.String())
	}
	for _, name := range Names() {
		for _, text := range texts {
			e, want := get(t, name), references[name]().EncodeOrdinary(text)
			if got := e.ids(t, text); !slices.Equal(got, want) {
				t.Errorf("%s: tokens of %.20q…: %d, want %d", name, text, len(got), len(want))
			}
		}
	}
}

func FuzzSameAsTiktokenGo(f *testing.F) {
	for _, group := range atoms {
		f.Add(strings.Join(group, ""))
		f.Add(strings.Join(group, " "))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 { // tiktoken-go is quadratic
			return
		}
		for _, name := range Names() {
			same(t, name, text)
		}
	})
}
