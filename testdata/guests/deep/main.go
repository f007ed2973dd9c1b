// Command deep is a foreign module whose functions recurse deeply and return.
package main

import (
	"encoding/json"
	"strings"
)

func main() {}

// values reads and writes JSON that is nested as deep as encoding/json allows.
//
//go:wasmexport values
func values() int32 {
	const depth = 10_000
	text := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return 1
	}
	if b, err := json.Marshal(v); err != nil || string(b) != text {
		return 2
	}
	return 0
}

// list is a linked list.
type list struct{ next *list }

// length counts the elements, by recursion.
func (l *list) length() int {
	if l == nil {
		return 0
	}
	return l.next.length() + 1
}

// links walks a list of 100,000 by recursion.
//
//go:wasmexport links
func links() int32 {
	var l *list
	for range 100_000 {
		l = &list{l}
	}
	if l.length() != 100_000 {
		return 1
	}
	return 0
}
