package request

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/strict"
)

// attacks are documents that cost far more than their bytes if nobody counts. Each has n bytes.
var attacks = map[string]func(n int) string{
	"numbers":                    around(`{"query":{"query_str":"x","metadata":{"a":[`, "1", `]}}}`),
	"longer numbers":             around(`{"query":{"query_str":"x","metadata":{"a":[`, "12345", `]}}}`),
	"vector":                     around(`{"query":{"query_str":"x","embedding":[`, "0.1", `]}}`),
	"texts":                      around(`{"query":{"query_str":"x","metadata":{"a":[`, `""`, `]}}}`),
	"empty lists":                around(`{"query":{"query_str":"x","metadata":{"a":[`, "[]", `]}}}`),
	"empty maps":                 around(`{"query":{"query_str":"x","metadata":{"a":[`, "{}", `]}}}`),
	"small maps":                 around(`{"query":{"query_str":"x","metadata":{"a":[`, `{"a":1}`, `]}}}`),
	"empty items":                around(`{"query":"x","items":[`, "{}", `]}`),
	"numbers as items":           around(`{"query":"x","items":[`, "1", `]}`),
	"small items":                around(`{"query":"x","items":[`, `{"content":"","source":"user"}`, `]}`),
	"items with maps":            around(`{"query":"x","items":[`, `{"content":"","source":"user","metadata":{"a":1}}`, `]}`),
	"empty turns":                around(`{"query":"x","conversation":[`, "{}", `]}`),
	"small turns":                around(`{"query":"x","conversation":[`, `{"role":"user","content":""}`, `]}`),
	"turns of an API":            around(`{"query":"x","conversation":[`, `{"role":"model","parts":[{"text":""}]}`, `]}`),
	"empty steps":                around(`{"query":"x","steps":[`, "{}", `]}`),
	"steps":                      around(`{"query":"x","steps":[`, `{"name":"a","builtin":"sort"}`, `]}`),
	"steps of missing instances": around(`{"query":"x","steps":[`, `{"name":"a","instance":"b"}`, `]}`),
	"empty members":              around(`{"query":"x","steps":[{"name":"a","retrievers":[`, `{}`, `]}]}`),
	"system prompts":             around(`{"query":"x","system_prompts":[`, `{"content":"x"}`, `]}`),
	"sources":                    around(`{"query":"x","steps":[{"name":"a","plugin":"p","scope":[`, `"user"`, `]}]}`),
	"keywords":                   around(`{"query":"x","steps":[{"name":"a","classifier":{"keywords":{"a":[`, `"x"`, `]}}}]}`),
	"keys":                       numbered(`{"query":{"query_str":"x","metadata":{`, `"%07d":0`, `}}}`),
	"the same key":               around(`{"query":{"query_str":"x","metadata":{`, `"a":0`, `}}}`),
	"unknown keys":               numbered(`{"query":"x",`, `"%07d":0`, `}`),
	"labels":                     numbered(`{"query":"x","steps":[{"name":"a","classifier":{"keywords":{`, `"label-%040d":["x"]`, `}}}]}`),
	"labels and routes": func(n int) string {
		half := numbered(`{"query":"x","steps":[{"name":"a","classifier":{"keywords":{`, `"label-%040d":["x"]`, `}},`)(n / 2)
		return half + numbered(`"routes":{`, `"route-%040d":{"plugin":"p"}`, `}}]}`)(n/2)
	},
	"routes to missing retrievers": numbered(`{"query":"x","steps":[{"name":"a","classifier":{"keywords":{"a":["b"]}},"routes":{`, `"%07d":"r%[1]d"`, `}}]}`),
	"below a long key": func(n int) string {
		return around(`{"query":{"query_str":"x","metadata":{"`+strings.Repeat("k", n/2)+`":[`, "{}", `,1e999]}}}`)(n / 2)
	},
	"lists below a long key": func(n int) string {
		return around(`{"query":{"query_str":"x","metadata":{"`+strings.Repeat("k", n/2)+`":[`, "[1]", `,1e999]}}}`)(n / 2)
	},
	"no UTF-8":    func(n int) string { return `{"query":"` + strings.Repeat("\xff", n-12) + `"}` },
	"escapes":     func(n int) string { return `{"query":"` + strings.Repeat(`\u0041`, (n-12)/6) + `"}` },
	"long query":  func(n int) string { return `{"query":"` + strings.Repeat("a b ", (n-12)/4) + `"}` },
	"long number": func(n int) string { return `{"query":"x","max_tokens":` + strings.Repeat("1", n-30) + `}` },
	"long name": func(n int) string {
		return `{"query":"x","steps":[{"name":"a","instance":"` + strings.Repeat("i", n-60) + `"}]}`
	},
	"long time": func(n int) string {
		return `{"query":"x","items":[{"content":"","source":"user","created_at":"` + strings.Repeat("1", n-80) + `"}]}`
	},
	"deep":   func(n int) string { return `{"query":"x","items":` + strings.Repeat("[", n-30) },
	"commas": func(n int) string { return `{"query":"x","items":[` + strings.Repeat(",", n-30) },
	"quotes": func(n int) string { return `{"query":"` + strings.Repeat(`\"`, (n-30)/2) + `"}` },
	"blanks": func(n int) string { return `{"query":"x"` + strings.Repeat("\n", n-30) + `,"itemz":1}` },
}

// around repeats an element, with commas, to n bytes.
func around(before, element, after string) func(int) string {
	return func(n int) string {
		times := max(1, (n-len(before)-len(after))/(len(element)+1))
		return before + strings.Repeat(element+",", times-1) + element + after
	}
}

// numbered is around for elements that differ by a number.
func numbered(before, element, after string) func(int) string {
	return func(n int) string {
		var b strings.Builder
		b.WriteString(before)
		for i := 0; i == 0 || b.Len() < n-len(after); i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, element, i)
		}
		return b.String() + after
	}
}

// cost returns the bytes that f allocates.
func cost(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// Whatever the shape of a document, reading it takes at most three times its bytes and what the
// largest number of values takes. A document of many bytes and too many values takes less.
func TestAttacksAreCheap(t *testing.T) {
	const values, turns = 48 << 20, 80 << 20
	for name, of := range attacks {
		t.Run(name, func(t *testing.T) {
			base := int64(values)
			if name == "turns of an API" { // whose decoder leaves much garbage
				base = turns
			}
			for _, size := range []int{1 << 20, 8 << 20} {
				doc := []byte(of(size))
				var err error
				took := cost(func() { _, _, err = Read(t.Context(), "r", doc, config.Default()) })
				if most := base + 3*int64(len(doc)); took > most {
					t.Errorf("%d KiB took %d KiB (at most %d)", len(doc)>>10, took>>10, most>>10)
				}
				if err != nil && len(err.Error()) > 8000 {
					t.Errorf("%d KiB: an error of %d bytes", len(doc)>>10, len(err.Error()))
				}
				if errors.Is(err, strict.ErrTooMany) && took > 4<<20 {
					t.Errorf("%d KiB: refused after %d KiB were taken", len(doc)>>10, took>>10)
				}
			}
		})
	}
}

// An error lists the first mistakes, each with few candidates, and the number of the others.
func TestManyLabels(t *testing.T) {
	_, _, err := Read(t.Context(), "r", []byte(attacks["labels and routes"](2<<20)), config.Default())
	var problems strict.Problems
	if !errors.As(err, &problems) || len(problems) != strict.MaxProblems+1 {
		t.Fatalf("%d problems: %.500v", len(problems), err)
	}
	if last := problems[strict.MaxProblems].Error(); !strings.HasPrefix(last, "r: and ") || !strings.HasSuffix(last, " more (mend these first)") {
		t.Errorf("the last problem: %s", last)
	}
}

// counted is a context that ends when it was asked often enough.
type counted struct {
	context.Context
	asked, most int
}

func (c *counted) Err() error {
	if c.asked++; c.asked > c.most {
		return context.DeadlineExceeded
	}
	return nil
}

// Decoders ask every thousand values whether to go on, and end with the error of the context.
func TestReadingEndsWithTheContext(t *testing.T) {
	for _, name := range []string{"longer numbers", "steps", "items with maps", "small turns", "labels", "keys", "no UTF-8"} {
		doc := []byte(attacks[name](1100 << 10))
		whole := &counted{t.Context(), 0, 1 << 30}
		_, _, first := Read(whole, "r", doc, config.Default())
		if name != "no UTF-8" && whole.asked < 10 {
			t.Errorf("%s: asked %d times", name, whole.asked)
		}
		for _, most := range []int{0, whole.asked / 2, whole.asked - 1} {
			ctx := &counted{t.Context(), 0, most}
			if _, _, err := Read(ctx, "r", doc, config.Default()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: after %d of %d questions: %.100v (else %.100v)", name, most, whole.asked, err, first)
			}
		}
	}
	doc := []byte(`{"messages":[],"state":{"data":{"a":[` + strings.Repeat("1,", 50_000) + `1]}}}`)
	if _, err := ReadMessages(&counted{t.Context(), 0, 3}, "r", doc, 1_000_000); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("messages: %v", err)
	}
	list := []byte("[" + strings.Repeat(`{"role":"user","content":"a"},`, 100) + `{"role":"user","content":"b"}]`)
	if _, err := ReadMessages(&counted{t.Context(), 0, 50}, "r", list, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a list of messages: %v", err)
	}
}

func TestTooManyValues(t *testing.T) {
	base := config.Default()
	base.Server.MaxValues = 10
	for n, want := range map[int]string{6: "", 7: "r: more than 10 values (send fewer, or raise server.max_values)"} {
		doc := `{"query":{"query_str":"x","metadata":{"a":[` + strings.Repeat("1,", n-2) + `1]}}}`
		if _, _, err := Read(t.Context(), "r", []byte(doc), base); fmt.Sprint(err) != want && (err != nil || want != "") {
			t.Errorf("%d numbers: got %v, want %q", n, err, want)
		}
	}
}
