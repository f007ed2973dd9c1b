package sourcescmd

import (
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// signs are how the comparisons are written on the command line, the longer ones first.
var signs = []struct {
	text string
	op   retrieve.Op
}{
	{">=", retrieve.OpAtLeast}, {"<=", retrieve.OpAtMost}, {"!=", retrieve.OpNotEqual}, {"^=", retrieve.OpPrefix},
	{"=", retrieve.OpEqual}, {">", retrieve.OpAbove}, {"<", retrieve.OpBelow},
}

// condition reads a condition such as tags=a, year>=2024 or path^=guide/. The first sign counts.
func condition(text string) (retrieve.Condition, bool) {
	for i := range len(text) {
		for _, sign := range signs {
			if value, ok := strings.CutPrefix(text[i:], sign.text); ok {
				field := strings.TrimSpace(text[:i])
				return retrieve.Condition{Field: field, Op: sign.op, Values: []string{strings.TrimSpace(value)}}, field != ""
			}
		}
	}
	return retrieve.Condition{}, false
}
