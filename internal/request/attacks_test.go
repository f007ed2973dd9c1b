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
	"github.com/anchor-host/anchor-host/internal/testkit/hostile"
)

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
	for name, of := range hostile.Requests {
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
	_, _, err := Read(t.Context(), "r", []byte(hostile.Requests["labels and routes"](2<<20)), config.Default())
	var problems strict.Problems
	if !errors.As(err, &problems) || len(problems) != strict.MaxProblems+1 {
		t.Fatalf("%d problems: %.500v", len(problems), err)
	}
	if last := problems[strict.MaxProblems].Error(); !strings.HasPrefix(last, "r: and ") || !strings.HasSuffix(last, " more (fix these first)") {
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
		doc := []byte(hostile.Requests[name](1100 << 10))
		whole := &counted{t.Context(), 0, 1 << 30}
		_, _, first := Read(whole, "r", doc, config.Default())
		if name != "no UTF-8" && whole.asked < 10 {
			t.Errorf("%s: asked %d times", name, whole.asked)
		}
		moments := []int{0, whole.asked / 2, whole.asked - 1}
		if name == "no UTF-8" { // it is refused when its bytes are counted, which takes no time
			moments = moments[:1]
		}
		for _, most := range moments {
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
