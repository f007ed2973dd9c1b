package bpe

import (
	"context"
	"encoding/json"
	"go/build"
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

// benchSize is the size of a text in bytes.
const benchSize = 256 << 10

// benchTexts returns a text of each kind: what the folder named by corpusEnv
// holds, or else English prose and Go code from the Go distribution, JSON records
// made of the prose, and the samples of testdata taken apart and put together
// again, because a processor learns a text that repeats itself.
func benchTexts(b *testing.B) []benchText {
	if dir := os.Getenv(corpusEnv); dir != "" {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			b.Fatal(err)
		}
		var texts []benchText
		for _, f := range files {
			texts = append(texts, benchText{filepath.Base(f), strings.Join(readLines(b, f), "")})
		}
		return texts
	}
	g := newGenerator(9)
	src := filepath.Join(build.Default.GOROOT, "src")
	prose := readLines(b, filepath.Join(src, "testdata", "Isaac.Newton-Opticks.txt"))
	return []benchText{
		{"prose", firstBytes(prose)},
		{"go", firstBytes(readLines(b, filepath.Join(src, "net", "http", "*.go")))},
		{"json", firstBytes(records(b, g, prose))},
		{"zh", g.recombined(readLines(b, "testdata/han.txt"))},
		{"ja", g.recombined(readLines(b, "testdata/kana.txt"))},
		{"ru", g.recombined(readLines(b, "testdata/cyrillic.txt"))},
		{"emoji", g.recombined(readLines(b, "testdata/emoji.txt"))},
	}
}

func readLines(b *testing.B, pattern string) (lines []string) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		b.Fatal(err)
	}
	if len(files) == 0 {
		b.Skipf("no texts at %s", pattern)
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

func firstBytes(lines []string) string {
	text := strings.Join(lines, "")
	return strings.ToValidUTF8(text[:min(len(text), benchSize)], "")
}

// records puts each paragraph of ten lines into a JSON object.
func records(b *testing.B, g generator, lines []string) (records []string) {
	for ; len(lines) >= 10; lines = lines[10:] {
		j, err := json.Marshal(map[string]any{
			"id": g.Uint32(), "score": g.Float64(), "source": "retrieval", "text": strings.Join(lines[:10], ""),
		})
		if err != nil {
			b.Fatal(err)
		}
		records = append(records, string(j)+"\n")
	}
	return records
}

// recombined joins stretches of up to 30 characters from random places.
func (g generator) recombined(lines []string) string {
	all := []rune(strings.Join(lines, ""))
	var text strings.Builder
	for text.Len() < benchSize {
		n := 5 + g.IntN(25)
		start := g.IntN(len(all) - n)
		text.WriteString(string(all[start : start+n]))
	}
	return text.String()
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

// ratio compares the best of a few runs over 64 KiB. On a busy machine it
// flatters: the longer run of the two is interrupted more often.
func ratio(b *testing.B, e *Encoding, text string) float64 {
	text = strings.ToValidUTF8(text[:min(len(text), 64<<10)], "")
	reference := references[e.Name()]()
	theirs := best(20, func() { reference.EncodeOrdinary(text) })
	ours := best(60, func() { count(b, e, text) })
	return float64(theirs) / float64(ours)
}

func best(rounds int, f func()) time.Duration {
	fastest := time.Hour
	for range rounds {
		start := time.Now()
		f()
		fastest = min(fastest, time.Since(start))
	}
	return fastest
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

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
				b.ReportMetric(milliseconds(best(8, func() { count(b, e, text) })), "best-ms")
			})
		}
	}
}

// BenchmarkUpTo8192 answers: what do the first 8,192 tokens of a megabyte of
// prose cost, counted and cut?
func BenchmarkUpTo8192(b *testing.B) {
	e := get(b, "o200k_base")
	text := strings.Repeat(benchTexts(b)[0].text, 4)
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
	for i := range definitions {
		d := &definitions[i]
		b.Run(d.name, func(b *testing.B) {
			b.ReportAllocs()
			once := func() {
				if _, err := load(d); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				once()
			}
			b.ReportMetric(milliseconds(best(8, once)), "best-ms")
		})
	}
}
