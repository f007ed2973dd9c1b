// Package answer checks what a valid answer of a guest must hold beyond its form: that changes
// and new items are within what is granted, and that documents say what the contract asks for.
// Package abi has decoded the answers before.
package answer

import (
	"cmp"
	"errors"
	"slices"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/fault"
	"github.com/anchor-host/anchor-host/host/spec"
)

// Grant is what the answers of an operation may add and change.
type Grant struct {
	abi.Grant
	// source is the source of new items that state none.
	source string
	// ceiling is the highest priority that the operator grants, 0 for the default of the
	// item's source. wish is the highest that the manifest asks for, 0 for any.
	ceiling, wish int
	// tokens is how many tokens an answer may add.
	tokens int
}

// Terms are what an operator says of the answers of an operation.
type Terms struct {
	// Source is the source of all new items, "" for that of the operation.
	Source string
	// MaxPriority is the highest priority of an item, 0 for the default of its source.
	MaxPriority int
	// Items and Tokens are the most of each that an answer may add.
	Items, Tokens int
}

// NewGrant returns the grant of an operation.
func NewGrant(op abi.Operation, s *spec.Operation, t Terms) Grant {
	g := Grant{
		ceiling: t.MaxPriority, wish: s.MaxPriority, tokens: t.Tokens,
		// The priority allowed depends on the item, so settleItems and checkEdits check it.
		Grant: abi.Grant{Writes: s.Writes, MaxItems: t.Items, MaxPriority: abi.MaxPriority, Decoded: true},
	}
	switch {
	case t.Source != "":
		g.Sources = []string{t.Source}
	case op == abi.OpMemory:
		g.Sources = []string{"memory", "conversation"}
	default:
		g.Sources = []string{"retrieval"}
	}
	g.source = g.Sources[0]
	return g
}

// highest is the highest priority that an item of a source may get.
func (g *Grant) highest(source string) int {
	p := g.ceiling
	if p == 0 {
		p = abi.DefaultPriority(source)
	}
	if g.wish > 0 {
		p = min(p, g.wish)
	}
	return p
}

// Check holds changes to rows to the grant, and sets source and priority of new items where the
// guest states none. rows may be nil. Only the number of tokens is left to [Grant.Counted]. Errors are
// a *[fault.Fault].
func (g *Grant) Check(c *abi.Changes, rows abi.Rows) error {
	if n := len(c.Items); n > g.MaxItems && g.Writes.Has(abi.ChangeItems) {
		return fault.New(abi.ReasonOutputTooLarge, "adds %d items, allowed %d", n, g.MaxItems)
	}
	n := 0
	if rows != nil {
		n = rows.Len()
	}
	err := c.Check(n, g.Grant)
	switch {
	case errors.Is(err, abi.ErrNotGranted):
		return &fault.Fault{Reason: abi.ReasonDenied, Err: err}
	case err != nil:
		return &fault.Fault{Reason: abi.ReasonInvalidOutput, Err: err}
	}
	if err := g.checkEdits(c.Edits, rows); err != nil {
		return err
	}
	return g.settleItems(c.Items)
}

// checkEdits checks the priorities of edits against the grant. A row may keep the one it
// has.
func (g *Grant) checkEdits(edits []abi.Edit, rows abi.Rows) error {
	for i := range edits {
		e := &edits[i]
		if e.Priority == nil {
			continue
		}
		row := int(e.Row)
		if highest := max(g.highest(rows.Source(row)), rows.Priority(row)); *e.Priority > highest {
			return fault.New(abi.ReasonDenied, "edits[%d]: row %d: priority %d is not granted (the step may state at most %d)",
				i, row, *e.Priority, highest)
		}
	}
	return nil
}

// settleItems checks the priorities of new items against the grant, and sets source and
// priority where the guest states none.
func (g *Grant) settleItems(items []abi.NewItem) error {
	for i := range items {
		it := &items[i]
		it.Source = cmp.Or(it.Source, g.source)
		highest := g.highest(it.Source)
		if it.Priority > highest {
			return fault.New(abi.ReasonDenied, "items[%d]: priority %d is not granted (the step may state at most %d)", i, it.Priority, highest)
		}
		it.Priority = cmp.Or(it.Priority, min(abi.DefaultPriority(it.Source), highest))
	}
	return nil
}

// Texts are the texts that changes bring, those of edits first.
type Texts struct {
	// Texts are the texts to count.
	Texts []string
	// before is how many tokens the row of each text had. at is the place of its count among
	// those of all edits and then of all new items.
	before, at []int
}

// NewTexts lists the new texts in changes to rows. An edit that repeats the text of its row
// brings none.
func NewTexts(c *abi.Changes, rows abi.Rows) *Texts {
	n := &Texts{}
	for i := range c.Edits {
		e := &c.Edits[i]
		if row := int(e.Row); e.Content != nil && *e.Content != rows.Text(row) {
			n.add(*e.Content, rows.TokenCount(row), i)
		}
	}
	n.Texts = slices.Grow(n.Texts, len(c.Items))
	for i := range c.Items {
		n.add(c.Items[i].Content, 0, len(c.Edits)+i)
	}
	return n
}

func (n *Texts) add(text string, before, at int) {
	n.Texts, n.before, n.at = append(n.Texts, text), append(n.before, before), append(n.at, at)
}

// Counted puts the counts of new texts into tokens, which has a place for each edit and each
// new item. It refuses more tokens than the grant allows with a *[fault.Fault].
func (g *Grant) Counted(n *Texts, counts, tokens []int) error {
	added := 0
	for i, count := range counts {
		tokens[n.at[i]] = count
		added += max(0, count-n.before[i])
	}
	if added > g.tokens {
		return fault.New(abi.ReasonOutputTooLarge, "adds %d tokens, allowed %d", added, g.tokens)
	}
	return nil
}
