package plugincmd

import (
	"regexp"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// A name that is made readable has at most 1<<maxNameBits bytes: names of hostile modules unfold
// without end.
const maxNameBits = 10

// mangled are names of functions as the compilers of Rust and C++ write them.
var mangled = regexp.MustCompile(`\b_[RZ][A-Za-z0-9_$.]+`)

// unnamed are lines of a stack without the name of the function.
var unnamed = regexp.MustCompile(`(?m)^[^(]*\.\$[0-9]+\(`)

// readable is a call stack with the names of functions as their authors wrote them. Without names it
// says how to get them.
func readable(stack string) string {
	out := mangled.ReplaceAllStringFunc(stack, func(name string) string {
		return demangle.Filter(name, demangle.NoParams, demangle.NoTemplateParams, demangle.MaxLength(maxNameBits))
	})
	if unnamed.MatchString(out) {
		out += "\n(for the names of functions: anchor-host plugin build --debug; plugins in JavaScript and Python have none)"
	}
	return strings.ReplaceAll(out, "\n\t\t", "\n    ") // a line of source, under its function
}
