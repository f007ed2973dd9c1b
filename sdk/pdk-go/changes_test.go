package pdk_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/mem"
)

func ExampleChanges() {
	c := pdk.NewChanges(3)
	c.Drop(1)
	c.SetText(0, "shorter")
	row := c.Add(pdk.NewItem{Content: "new", Score: 1})
	c.Order(row, 0, 2)
	set, err := c.Result()
	fmt.Println(set.Keep, *set.Edits[0].Content, set.Order, err)
	// Output: [0 2] shorter [3 0 2] <nil>
}

func TestChanges(t *testing.T) {
	for _, tt := range []struct {
		name, want, err string
		make            func(c *pdk.Changes)
	}{
		{name: "nothing", want: `null`, make: func(*pdk.Changes) {}},
		{name: "keep some", want: `{"keep":[0,2]}`, make: func(c *pdk.Changes) { c.Keep(0); c.Keep(2) }},
		{name: "keep all is no change", want: `null`, make: func(c *pdk.Changes) { c.Keep(0, 1, 2) }},
		{name: "keep none", want: `{"keep":[]}`, make: func(c *pdk.Changes) { c.Keep() }},
		{name: "keep what is not ascending goes to the host", want: `{"keep":[2,1,0]}`, make: func(c *pdk.Changes) { c.Keep(2, 1, 0) }},
		{name: "drop", want: `{"keep":[0,2]}`, make: func(c *pdk.Changes) { c.Drop(1); c.Drop(1) }},
		{name: "drop all", want: `{"keep":[]}`, make: func(c *pdk.Changes) { c.Drop(0, 1, 2) }},
		{name: "drop none is no change", want: `null`, make: func(c *pdk.Changes) { c.Drop() }},
		{name: "edits of a row are one", want: `{"edits":[{"row":2,"content":"b","priority":3},{"row":0,"metadata":{}}]}`,
			make: func(c *pdk.Changes) {
				c.SetText(2, "a")
				c.SetMetadata(0, nil)
				c.SetPriority(2, 3)
				c.SetText(2, "b")
			}},
		{name: "scores", want: `{"scores":[{"row":1,"score":0.5}]}`, make: func(c *pdk.Changes) { c.SetScore(1, 0.5) }},
		{name: "all scores", want: `{"scores":[{"row":0,"score":0},{"row":1,"score":1}]}`, make: func(c *pdk.Changes) { c.SetScores([]float64{0, 1}) }},
		{name: "order", want: `{"order":[2,0,1]}`, make: func(c *pdk.Changes) { c.Order(2); c.Order(0, 1) }},
		{name: "empty order is none", want: `null`, make: func(c *pdk.Changes) { c.Order() }},
		{name: "new items count on", want: `{"items":[{"content":"x","score":0}],"order":[3,0,1,2]}`,
			make: func(c *pdk.Changes) { c.Order(c.Add(pdk.NewItem{Content: "x"}), 0, 1, 2) }},

		{name: "no such row", err: `keep: row 3 does not exist (there are 3)`, make: func(c *pdk.Changes) { c.Keep(0, 3); c.Keep(7) }},
		{name: "negative row", err: `set text: row -1 does not exist (there are 3)`, make: func(c *pdk.Changes) { c.SetText(-1, "") }},
		{name: "order of a row not added", err: `order: row 3 does not exist (there are 3)`, make: func(c *pdk.Changes) { c.Order(3) }},
		{name: "too many scores", err: `set scores: row 3 does not exist (there are 3)`, make: func(c *pdk.Changes) { c.SetScores(make([]float64, 4)) }},
		{name: "keep and drop", err: `keep: cannot be combined with drop (use one of them)`, make: func(c *pdk.Changes) { c.Keep(0); c.Drop(1) }},
		{name: "score above 1", err: `set score: row 2: 1.5 is not within 0..1`, make: func(c *pdk.Changes) { c.SetScore(2, 1.5) }},
		{name: "score not a number", err: `set score: row 0: NaN is not within 0..1`, make: func(c *pdk.Changes) { c.SetScore(0, math.NaN()) }},
		{name: "score of a new item", err: `new item 0: score -1 is not within 0..1`, make: func(c *pdk.Changes) { c.Add(pdk.NewItem{Score: -1}) }},
		{name: "text", err: `set text: row 1: text is not UTF-8 (repair it with strings.ToValidUTF8)`, make: func(c *pdk.Changes) { c.SetText(1, "\xff") }},
		{name: "new text", err: `new item 0: text is not UTF-8 (repair it with strings.ToValidUTF8)`, make: func(c *pdk.Changes) { c.Add(pdk.NewItem{Content: "\xff"}) }},
		{name: "metadata", err: `set metadata: row 1: text is not UTF-8 (repair it with strings.ToValidUTF8)`,
			make: func(c *pdk.Changes) { c.SetMetadata(1, pdk.Metadata{"k": "\xff"}) }},
		{name: "metadata of a new item", err: `new item 0: text is not UTF-8 (repair it with strings.ToValidUTF8)`,
			make: func(c *pdk.Changes) { c.Add(pdk.NewItem{Metadata: pdk.Metadata{"\xff": 1}}) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := pdk.NewChanges(9)
			for range 2 { // storage that is used again must not show
				c.Reset(3)
				tt.make(c)
				set, err := c.Result()
				if err != nil {
					if err.Error() != tt.err || set != nil {
						t.Fatalf("error %q, want %q", err, tt.err)
					}
					continue
				}
				got, _ := json.Marshal(set)
				if string(got) != tt.want || tt.err != "" {
					t.Fatalf("got %s, want %s%s", got, tt.want, tt.err)
				}
			}
		})
	}
}

// Of a text that is cut out of the request only the ends are looked at.
func TestTextOfTheRequest(t *testing.T) {
	const whole = "añ€😀\uFFFDz"
	var w abi.BatchWriter
	size, err := w.Plan(abi.ItemRows{{Content: whole}}, abi.ColumnSet(0).With(abi.ColumnText), nil)
	if err != nil {
		t.Fatal(err)
	}
	addr := mem.Reserve(uint32(size))
	if err := w.Write(mem.Buffer()[:size]); err != nil {
		t.Fatal(err)
	}
	in, err := mem.Input(addr, uint32(size))
	if err != nil {
		t.Fatal(err)
	}
	b, err := abi.OpenBatch(in)
	if err != nil {
		t.Fatal(err)
	}
	c := pdk.NewChanges(1)
	for from := range len(whole) + 1 {
		for to := from; to <= len(whole); to++ {
			text := pdk.NewRequest(b).Items.At(0).Text()[from:to]
			c.Reset(1)
			c.SetText(0, text)
			if _, err := c.Result(); (err == nil) != utf8.ValidString(text) {
				t.Errorf("%q: error %v", text, err)
			}
			if held := mem.Holds(text); held != (text != "") {
				t.Errorf("%q: held %v", text, held)
			}
		}
	}
	if mem.Holds(whole) || mem.Holds(strings.Clone(whole)) {
		t.Error("a text from elsewhere is taken for one of the request")
	}
}

func TestErrorfWraps(t *testing.T) {
	err := pdk.Errorf("open %s: %w", "index", pdk.ErrNotFound)
	var typed *pdk.Error
	if err.Error() != "open index: not found" || !errors.Is(err, pdk.ErrNotFound) || !errors.As(err, &typed) {
		t.Errorf("%v", err)
	}
	panicked := &pdk.PanicError{Value: pdk.ErrQuota}
	if panicked.Error() != "panic: quota exceeded" || !errors.Is(panicked, pdk.ErrQuota) {
		t.Errorf("%v", panicked)
	}
	if (&pdk.PanicError{Value: "text"}).Unwrap() != nil {
		t.Error("a text unwraps to an error")
	}
}
