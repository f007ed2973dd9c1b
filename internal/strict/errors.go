package strict

import (
	"cmp"
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
	// others says that the problem stands for this many that are not listed.
	others int
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

// longestMessage is how many bytes a message has, and longestArg a text or an error in it: both may
// repeat what came from outside.
const longestMessage, longestArg = 1000, 600

// Message is fmt.Sprintf for the message of a problem. It cuts long texts.
func Message(format string, args ...any) string {
	for i, arg := range args {
		switch a := arg.(type) {
		case string:
			args[i] = cut(a, longestArg)
		case error:
			args[i] = cut(a.Error(), longestArg)
		}
	}
	return cut(fmt.Sprintf(format, args...), longestMessage)
}

// MaxProblems is how many mistakes of a document an error lists. Who has these mended reads the next.
const MaxProblems = 20

// Problems are mistakes found in a document, in the order of the document.
type Problems []Problem

// Error returns one line per problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// add adds a problem, or counts it if enough are there.
func (ps *Problems) add(p Problem) {
	if len(*ps) < MaxProblems {
		*ps = append(*ps, p)
		return
	}
	if len(*ps) == MaxProblems {
		*ps = append(*ps, Problem{File: p.File})
	}
	(*ps)[MaxProblems].others++
}

// found returns the number of problems, those included that are only counted.
func (ps Problems) found() (n int) {
	for i := range ps {
		n += max(1, ps[i].others)
	}
	return n
}

// full reports whether further problems are only counted.
func (ps Problems) full() bool { return len(ps) >= MaxProblems }

// And adds a number of problems that nobody lists.
func (ps Problems) And(others int) Problems {
	if others <= 0 {
		return ps
	}
	return append(ps, Problem{others: others})
}

// Err returns nil when there is no problem, and otherwise the first [MaxProblems] with the number
// of the others.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	listed := make(Problems, 0, len(ps))
	for _, p := range ps {
		if p.others == 0 {
			listed = append(listed, p)
		}
	}
	others := ps.found() - min(len(listed), MaxProblems)
	slices.SortStableFunc(listed, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	listed = listed[:min(len(listed), MaxProblems)]
	if others > 0 {
		listed = append(listed, Problem{File: ps[0].File, Message: fmt.Sprintf("and %d more (fix these first)", others), others: others})
	}
	return listed
}
