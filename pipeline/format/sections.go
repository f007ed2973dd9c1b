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

// sections are the items of a window by what they become in the output. Retrieved
// text never becomes a system part.
type sections struct {
	system  []*core.Item // source system, window order
	turns   []*core.Item // memory and conversation, oldest first
	context contextItems
}

// fewTurns is the number of turns that memory is made for at first.
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
	return s
}

// contextItems are the items of a window that are neither system nor turns, in window
// order. There may be very many, which need no list of their own: they mostly are
// neighbors.
type contextItems struct {
	from []core.Item // the window from the first on
	span int         // how far the last one reaches in it
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

// last returns the last item; there is one.
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

// join joins the texts of the items, in one allocation.
func (c *contextItems) join(prefix, separator string) string {
	var out strings.Builder
	out.Grow(len(prefix) + c.size + max(0, c.n-1)*len(separator))
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
			out.WriteString(contextSeparator) // a constant is written without a call
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
