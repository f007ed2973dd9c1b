package strict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// Problem is one mistake in a document.
type Problem struct {
	File string
	Pos  Pos
	// Path names the value, such as steps[0].priority. It may be empty. Error quotes a path with
	// unusual keys, and cuts a long path.
	Path    string
	Message string
}

// Error returns "file:line:column: path: message", without the parts that are
// not known.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Pos.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Pos.Line)
		if p.Pos.Column > 0 {
			fmt.Fprintf(&b, ":%d", p.Pos.Column)
		}
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(plain.Path(p.Path) + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Problems are all mistakes found in a document, in the order of the document.
type Problems []Problem

// Error returns one line per problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns nil when there is no problem.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if a.Pos.Line != b.Pos.Line {
			return a.Pos.Line - b.Pos.Line
		}
		return a.Pos.Column - b.Pos.Column
	})
	return ps
}
