package config

import (
	"strconv"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/strict"
)

// boundWords are the words that a limit may have instead of a value. [host.Limits.Check] and
// [host.Grants.Check] decide which words each key allows.
var boundWords = map[string]int64{"unlimited": host.Unlimited, "none": host.None}

// boundWord returns the word for a value of boundWords.
func boundWord(v int64) (string, bool) {
	for word, is := range boundWords {
		if v == is {
			return word, true
		}
	}
	return "", false
}

// Span is a limit: a [Duration], "unlimited" or "none".
type Span time.Duration

// UnmarshalText parses a span, which must be positive, or a word.
func (s *Span) UnmarshalText(text []byte) error {
	if word, ok := boundWords[string(text)]; ok {
		*s = Span(word)
		return nil
	}
	return (*Duration)(s).UnmarshalText(text)
}

// String returns the span in the form of the file.
func (s Span) String() string {
	if word, ok := boundWord(int64(s)); ok {
		return word
	}
	return Duration(s).String()
}

// Bytes is a limit: a [Size], "unlimited" or "none".
type Bytes int64

// UnmarshalText parses a size, which must be positive, or a word.
func (b *Bytes) UnmarshalText(text []byte) error {
	if word, ok := boundWords[string(text)]; ok {
		*b = Bytes(word)
		return nil
	}
	return (*Size)(b).UnmarshalText(text)
}

// String returns the size in the largest unit that divides it.
func (b Bytes) String() string {
	if word, ok := boundWord(int64(b)); ok {
		return word
	}
	return Size(b).String()
}

// Count is a limit: a whole number, "unlimited" or "none". The number -1 also means unlimited.
type Count int64

// UnmarshalNode decodes a number, which must be positive, or a word.
func (c *Count) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	if n.Kind == strict.String {
		word, ok := boundWords[n.Text]
		if *c = Count(word); !ok {
			d.Fail(n, path, "want a whole number, unlimited or none, got %.100q", n.Text)
		}
		return
	}
	var v int64
	if !d.Into(n, &v, path) {
		return
	}
	if v < 1 && v != host.Unlimited {
		d.Fail(n, path, "want 1 or more, got %d", v)
		return
	}
	*c = Count(v)
}

// JSONSchema describes both forms.
func (Count) JSONSchema() map[string]any {
	return map[string]any{"oneOf": []any{
		map[string]any{"type": "integer", "minimum": 1},
		map[string]any{"enum": []any{"unlimited", "none", host.Unlimited}},
	}}
}

// String returns the number or the word.
func (c Count) String() string {
	if word, ok := boundWord(int64(c)); ok {
		return word
	}
	return strconv.FormatInt(int64(c), 10)
}
