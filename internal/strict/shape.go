package strict

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// MaxValues is how many values a document may have, if it is a file: more than any file
// that a person keeps, few enough for the memory of a small machine.
const MaxValues = 1_000_000

// Limits bound what reading one document takes.
type Limits struct {
	// Values is the largest number of texts, numbers, lists and maps.
	Values int
	// Remedy says in an error what helps against too many of them.
	Remedy string
}

// ValueBytes is about what a value takes in memory at most, however short it is: its node, and what
// is made of it.
const ValueBytes = 250

// holder is the key of the function of [Holding].
type holder struct{}

// Holding returns a context under which reading a document asks for its memory first, in bytes. If
// hold returns an error, the document is not read, and that is the error.
func Holding(ctx context.Context, hold func(bytes int64) error) context.Context {
	return context.WithValue(ctx, holder{}, hold)
}

// held asks for the memory of values.
func held(ctx context.Context, values int) error {
	if hold, ok := ctx.Value(holder{}).(func(int64) error); ok {
		return hold(int64(values) * ValueBytes)
	}
	return nil
}

// severalFiles is what helps against too many values in a file.
const severalFiles = "keep them in several files"

// ErrTooMany is the error of a document that has more values than may be read.
var ErrTooMany = errors.New("too many values")

// tooMany is an ErrTooMany.
type tooMany struct {
	file string
	Limits
}

func (e *tooMany) Error() string {
	return fmt.Sprintf("%s: more than %d values (%s)", e.file, e.Values, e.Remedy)
}

func (e *tooMany) Unwrap() error { return ErrTooMany }

// lookEvery is after how many values, and lookBytes after how many bytes, the context is asked
// whether to go on.
const lookEvery, lookBytes = 1000, 1 << 20

// shape is what the tree of a document needs. It is counted first, so that a document with too
// many values costs nothing but the reading of its bytes, and so that a tree is allocated in one
// piece. What is not JSON is counted up to some place; the parser then ends there or before it.
type shape struct {
	values, members int
	// children are those of each list and map that has any, in the order of the document.
	children []uint32
}

// open is a list or a map that has begun.
type open struct {
	object bool
	at     int // in children, -1 as long as there is no child
}

// shapeOf counts the values of a JSON document. It stops after most of them.
func shapeOf(ctx context.Context, data []byte, most int) (s shape, err error) {
	var stack [maxDepth + 2]open
	depth := 0
	child := func() {
		if top := &stack[depth]; top.at < 0 {
			top.at = len(s.children)
			s.children = append(s.children, 0)
		}
		top := &stack[depth]
		s.children[top.at]++
		s.values++
		if top.object {
			s.members++
		}
	}
	s.values = 1 // the document
	stack[0].at = -1
	fresh := false // a list or a map has begun, and nothing in it
	for i, look := 0, lookBytes; i < len(data) && s.values <= most; i++ {
		if i >= look {
			if err := ctx.Err(); err != nil {
				return s, err
			}
			look = i + lookBytes
		}
		c := data[i]
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			continue
		}
		if fresh && c != ']' && c != '}' {
			child()
		}
		fresh = false
		switch c {
		case '"':
			i += textLength(data[i:]) - 1
		case '[', '{':
			if depth == maxDepth+1 {
				return s, nil // the parser refuses what is as deep
			}
			depth++
			stack[depth] = open{c == '{', -1}
			fresh = true
		case ']', '}':
			if depth--; depth <= 0 {
				return s, nil
			}
		case ',':
			if depth == 0 {
				return s, nil
			}
			child()
		}
	}
	return s, nil
}

// textLength returns the length of the JSON string that data begins with.
func textLength(data []byte) int {
	for i, quote := 1, 0; i < len(data); {
		if data[i] == '\\' {
			i += 2
			continue
		}
		if quote < i {
			n := bytes.IndexByte(data[i:], '"')
			if n < 0 {
				break
			}
			quote = i + n
		}
		n := bytes.IndexByte(data[i:quote], '\\')
		if n < 0 {
			return quote + 1
		}
		i += n + 2
	}
	return len(data)
}
