package bpe

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// corpusEnv names a folder of texts that BenchmarkCount measures instead of its
// own.
const corpusEnv = "ANCHOR_BPE_CORPUS"

// benchNames are the encodings worth measuring; the older ones share their code.
var benchNames = []string{"cl100k_base", "o200k_base"}

type benchText struct{ name, text string }

// benchTexts are 128 KiB of each kind: the lines of a sample in random order, or
// the sources of this package.
func benchTexts(b *testing.B) []benchText {
	const size = 128 << 10
	read := func(pattern string) (lines []string) {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			b.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				b.Fatal(err)
			}
			lines = append(lines, strings.SplitAfter(string(text), "\n")...)
		}
		return lines
	}
	if dir := os.Getenv(corpusEnv); dir != "" {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			b.Fatal(err)
		}
		var texts []benchText
		for _, f := range files {
			texts = append(texts, benchText{filepath.Base(f), strings.Join(read(f), "")})
		}
		return texts
	}
	g := newGenerator(9)
	shuffled := func(lines []string, format func(string) string) string {
		var text strings.Builder
		for text.Len() < size {
			text.WriteString(format(lines[g.IntN(len(lines))]))
		}
		return text.String()
	}
	plain := func(line string) string { return line }
	record := func(line string) string {
		j, err := json.Marshal(map[string]any{"id": g.Uint32(), "score": g.Float64(), "text": line, "tags": []string{"a", line[:len(line)/9]}})
		if err != nil {
			b.Fatal(err)
		}
		return string(j) + "\n"
	}
	english := read("testdata/latin.txt")[:6]
	return []benchText{
		{"prose", shuffled(english, plain)},
		{"go", strings.Join(read("*.go"), "")},
		{"json", shuffled(english, record)},
		{"zh", shuffled(read("testdata/han.txt"), plain)},
		{"ja", shuffled(read("testdata/kana.txt"), plain)},
		{"ru", shuffled(read("testdata/cyrillic.txt"), plain)},
		{"emoji", shuffled(read("testdata/emoji.txt"), plain)},
	}
}

// BenchmarkCount answers: how fast is counting, and how many times as fast as
// tiktoken-go, measured side by side?
func BenchmarkCount(b *testing.B) {
	for _, name := range benchNames {
		e := get(b, name)
		for _, t := range benchTexts(b) {
			b.Run(name+"/"+t.name, func(b *testing.B) {
				b.SetBytes(int64(len(t.text)))
				b.ReportAllocs()
				for b.Loop() {
					count(b, e, t.text)
				}
				b.ReportMetric(ratio(b, e, t.text), "x-tiktoken-go")
			})
		}
	}
}

func count(b *testing.B, e *Encoding, text string) {
	if _, err := e.Count(context.Background(), text); err != nil {
		b.Fatal(err)
	}
}

// ratio compares the best of alternating runs over the first 64 KiB, so that a
// busy moment of the machine hits both.
func ratio(b *testing.B, e *Encoding, text string) float64 {
	text = strings.ToValidUTF8(text[:min(len(text), 64<<10)], "")
	reference := references[e.Name()]()
	ours, theirs := time.Hour, time.Hour
	for range 8 {
		start := time.Now()
		reference.EncodeOrdinary(text)
		theirs = min(theirs, time.Since(start))
		for range 4 {
			start = time.Now()
			count(b, e, text)
			ours = min(ours, time.Since(start))
		}
	}
	return float64(theirs) / float64(ours)
}

// BenchmarkUnbroken answers: how long does a hostile megabyte take?
func BenchmarkUnbroken(b *testing.B) {
	for _, name := range benchNames {
		e := get(b, name)
		for kind, text := range unbroken() {
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					count(b, e, text)
				}
			})
		}
	}
}

// BenchmarkUpTo8192 answers: what do the first 8,192 tokens of a megabyte cost,
// counted and cut?
func BenchmarkUpTo8192(b *testing.B) {
	e := get(b, "o200k_base")
	text := strings.Repeat(benchTexts(b)[0].text, 8)
	b.Run("CountTo", func(b *testing.B) {
		for b.Loop() {
			if _, exceeded, err := e.CountTo(context.Background(), text, 8192); !exceeded || err != nil {
				b.Fatal(exceeded, err)
			}
		}
	})
	b.Run("Truncate", func(b *testing.B) {
		for b.Loop() {
			if _, err := e.Truncate(context.Background(), text, 8192); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkLoad answers: what does the first use of an encoding cost?
func BenchmarkLoad(b *testing.B) {
	for _, d := range definitions {
		b.Run(d.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := load(d.name, d.next); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
