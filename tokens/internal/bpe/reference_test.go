package bpe

import (
	"slices"
	"sync"
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// references are tiktoken-go's encodings, each loaded once.
var references = func() map[string]func() *tiktoken.Tiktoken {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	m := make(map[string]func() *tiktoken.Tiktoken)
	for _, name := range Names() {
		m[name] = sync.OnceValue(func() *tiktoken.Tiktoken {
			t, err := tiktoken.GetEncoding(name)
			if err != nil {
				panic(err)
			}
			return t
		})
	}
	return m
}()

// get loads an encoding.
func get(t testing.TB, name string) *Encoding {
	t.Helper()
	e, err := Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// ids returns the token ids of text, by the steps Count takes.
func (e *Encoding) ids(t testing.TB, text string) []int {
	c := e.counter(t.Context(), text)
	defer e.release(c)
	c.validate(len(text))
	if c.valid < len(text) {
		c.repair()
	}
	ids := []int{}
	for i, j := 0, 0; i < len(c.s); i = j {
		j = c.next(&c.cursor, i)
		p := c.s[i:j]
		if r := c.vocab.rank(p, 0, len(p)); r != none {
			ids = append(ids, int(r))
			continue
		}
		for k := range c.settleAll(p) {
			ids = append(ids, int(c.vocab.rank(p, c.start(k), c.ends[k])))
		}
	}
	return ids
}

// settleAll leaves the ends of all tokens of p in c.ends and returns how many
// there are. It takes the way Count takes for a piece of that length.
func (c *counter) settleAll(p string) int {
	if len(p) > windowLen {
		c.settle(&c.cursor, p, len(p))
		return len(c.ends)
	}
	n := c.merge(&c.cursor, p)
	c.ends = c.ends[:0]
	for _, end := range c.pos[1 : n+1] {
		c.ends = append(c.ends, int(end))
	}
	return n
}

// same fails the test unless text has the tokens tiktoken-go finds, and Count
// and CountTo agree with their number.
func same(t *testing.T, name, text string) {
	t.Helper()
	e := get(t, name)
	want := references[name]().EncodeOrdinary(text)
	if got := e.ids(t, text); !slices.Equal(got, want) {
		t.Fatalf("%s: tokens of %q:\n got %v\nwant %v", name, text, got, want)
	}
	n, err := e.Count(t.Context(), text)
	if n != len(want) || err != nil {
		t.Fatalf("%s: Count(%q) = %d, %v; want %d", name, text, n, err, len(want))
	}
	for _, limit := range []int{-1, 0, 1, n / 2, n - 1, n, n + 1} {
		got, exceeded, err := e.CountTo(t.Context(), text, limit)
		limit = max(limit, 0)
		if got != min(n, limit) || exceeded != (n > limit) || err != nil {
			t.Fatalf("%s: CountTo(%q, %d) = %d, %v, %v; the text has %d tokens", name, text, limit, got, exceeded, err, n)
		}
	}
}
