package format

import (
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// The separators of the chat formats.
const (
	contextSeparator = "\n\n---\n\n"
	blankLine        = "\n\n"
)

// sections are the items of a window, sorted by the part of the output that they belong to.
// Retrieved text never becomes a system part.
type sections struct {
	system  []*core.Item // source system, window order
	turns   []*core.Item // memory and conversation, oldest first
	context contextItems
	query   string // the user's question, unless the last turn asks it already
	whole   bool   // the output is a whole request, because it has the question
	lost    []string
}

// formatted returns an output with the lines of what it left out.
func (s *sections) formatted(output any) any {
	if len(s.lost) == 0 {
		return output
	}
	return core.Formatted{Output: output, Lost: s.lost}
}

// fewTurns is the initial capacity of the list of turns.
const fewTurns = 16

func divide(w *core.Window) sections {
	var s sections
	for i := range w.Items {
		it := &w.Items[i]
		switch it.Source {
		case core.SourceSystem:
			s.system = append(s.system, it)
		case core.SourceMemory, core.SourceConversation:
			if s.turns == nil {
				s.turns = make([]*core.Item, 0, min(len(w.Items)-i, fewTurns))
			}
			s.turns = append(s.turns, it)
		default:
			s.context.add(w.Items, i)
		}
	}
	slices.SortStableFunc(s.turns, core.CompareAge)
	s.whole = w.Query != ""
	if s.query = w.Query; s.asked() {
		s.query = ""
	}
	return s
}

// asked reports whether the last turn of a conversation is the query.
func (s *sections) asked() bool {
	if !s.whole || len(s.turns) == 0 {
		return false
	}
	last := s.turns[len(s.turns)-1]
	return last.Source == core.SourceConversation && last.Turn() == nil && roleOf(last) == core.RoleUser &&
		strings.TrimSpace(last.Content) == strings.TrimSpace(s.query)
}

// contextItems are the items of a window that are neither system prompts nor turns, in
// window order. They are a range of the window, because there may be very many and they
// are mostly neighbors, which need no list of their own.
type contextItems struct {
	from []core.Item // the window, from the first context item on
	span int         // the items of from up to and with the last context item
	n    int         // how many there are
	size int         // bytes of their texts
}

// add adds window[i].
func (c *contextItems) add(window []core.Item, i int) {
	if c.n == 0 {
		c.from = window[i:]
	}
	c.span = len(c.from) - (len(window) - i) + 1
	c.n++
	c.size += len(window[i].Content)
}

// last returns the last item. There must be one.
func (c *contextItems) last() *core.Item { return &c.from[c.span-1] }

// list returns pointers to the items.
func (c *contextItems) list() []*core.Item {
	out := make([]*core.Item, 0, c.n)
	for i := range c.from[:c.span] {
		if it := &c.from[i]; c.n == c.span || it.Source.IsContext() {
			out = append(out, it)
		}
	}
	return out
}

// length returns the bytes of the texts and the separators between them.
func (c *contextItems) length(separator string) int {
	return c.size + max(0, c.n-1)*len(separator)
}

// join joins the texts of the items, in one allocation.
func (c *contextItems) join(prefix, separator string) string {
	var out strings.Builder
	out.Grow(len(prefix) + c.length(separator))
	out.WriteString(prefix)
	chat := separator == contextSeparator
	for i := range c.from[:c.span] {
		it := &c.from[i]
		if c.n < c.span && !it.Source.IsContext() {
			continue
		}
		switch {
		case i == 0:
		case chat:
			out.WriteString(contextSeparator) // the constant avoids a function call
		default:
			out.WriteString(separator)
		}
		out.WriteString(it.Content)
	}
	return out.String()
}

// join joins the contents of items.
func join(prefix string, items []*core.Item, separator string) string {
	size := len(prefix)
	for _, it := range items {
		size += len(it.Content) + len(separator)
	}
	var out strings.Builder
	out.Grow(size)
	out.WriteString(prefix)
	for i, it := range items {
		if i > 0 {
			out.WriteString(separator)
		}
		out.WriteString(it.Content)
	}
	return out.String()
}
