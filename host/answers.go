package host

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/spec"
)

// grant says what the answers of an operation may add and change.
type grant struct {
	abi.Grant
	// source is the source of new items that state none.
	source string
	// ceiling is the highest priority that the operator grants, 0 for the default of the
	// item's source. wish is the highest that the manifest asks for, 0 for any. tokens is
	// how many tokens an answer may add.
	ceiling, wish int
	tokens        int
}

// newGrant returns the grant of an operation. source is "" if the operator states none.
func newGrant(op abi.Operation, spec *spec.Operation, source string, ceiling int, l *Limits) grant {
	g := grant{
		source: source, ceiling: ceiling, wish: spec.MaxPriority, tokens: l.Tokens,
		// The priority allowed depends on the item, so settleItems and checkEdits check it.
		Grant: abi.Grant{Writes: spec.Writes, MaxItems: l.Items, MaxPriority: abi.MaxPriority, Decoded: true},
	}
	switch {
	case source != "":
		g.Sources = []string{source}
	case op == abi.OpMemory:
		g.Sources = []string{"memory", "conversation"}
	default:
		g.Sources = []string{"retrieval"}
	}
	g.source = g.Sources[0]
	return g
}

// highest returns the highest priority that an item of a source may get.
func (g *grant) highest(source string) int {
	p := g.ceiling
	if p == 0 {
		p = abi.DefaultPriority(source)
	}
	if g.wish > 0 {
		p = min(p, g.wish)
	}
	return p
}

// check checks a change set against the number of rows of the request and against the
// grant.
func (g *grant) check(c *abi.Changes, rows int) error {
	if n := len(c.Items); n > g.MaxItems && g.Writes.Has(abi.ChangeItems) {
		return guest.Faultf(abi.ReasonOutputTooLarge, "adds %d items, allowed %d", n, g.MaxItems)
	}
	err := c.Check(rows, g.Grant)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, abi.ErrNotGranted):
		return &guest.Fault{Reason: abi.ReasonDenied, Err: err}
	}
	return &guest.Fault{Reason: abi.ReasonInvalidOutput, Err: err}
}

// checkEdits checks the priorities of edits against the grant. A row may keep its current
// priority.
func (g *grant) checkEdits(edits []abi.Edit, rows abi.Rows) error {
	for i := range edits {
		e := &edits[i]
		if e.Priority == nil {
			continue
		}
		row := int(e.Row)
		if highest := max(g.highest(rows.Source(row)), rows.Priority(row)); *e.Priority > highest {
			return guest.Faultf(abi.ReasonDenied, "edits[%d]: row %d: priority %d is not granted (the step may state at most %d)",
				i, row, *e.Priority, highest)
		}
	}
	return nil
}

// settleItems checks the priorities of new items against the grant, and sets source and
// priority where the guest states none.
func (g *grant) settleItems(items []abi.NewItem) error {
	for i := range items {
		it := &items[i]
		if it.Source == "" {
			it.Source = g.source
		}
		highest := g.highest(it.Source)
		if it.Priority > highest {
			return guest.Faultf(abi.ReasonDenied, "items[%d]: priority %d is not granted (the step may state at most %d)", i, it.Priority, highest)
		}
		it.Priority = pick(it.Priority, min(abi.DefaultPriority(it.Source), highest))
	}
	return nil
}

// newTexts are the new texts in changes, those of edits first. For each text, before is the
// number of tokens that the row had, and at is the index of the text in [Answer.Tokens].
type newTexts struct {
	texts  []string
	before []int
	at     []int
}

// textsOf lists the new texts in changes to rows. An edit that repeats the text of its row
// does not count.
func textsOf(c *abi.Changes, rows abi.Rows) *newTexts {
	n := &newTexts{}
	for i := range c.Edits {
		e := &c.Edits[i]
		if row := int(e.Row); e.Content != nil && *e.Content != rows.Text(row) {
			n.add(*e.Content, rows.TokenCount(row), i)
		}
	}
	n.texts = slices.Grow(n.texts, len(c.Items))
	for i := range c.Items {
		n.add(c.Items[i].Content, 0, len(c.Edits)+i)
	}
	return n
}

func (n *newTexts) add(text string, before, at int) {
	n.texts, n.before, n.at = append(n.texts, text), append(n.before, before), append(n.at, at)
}

// allow checks changes that have passed check against the part of the grant that depends on
// the item. It then counts the tokens of new texts, within the time that the call has left.
func (o *Operation) allow(ctx context.Context, rows abi.Rows, a *Answer) error {
	c := a.Changes
	if len(c.Edits)+len(c.Items) == 0 {
		return nil
	}
	if err := o.grant.checkEdits(c.Edits, rows); err != nil {
		return err
	}
	if err := o.grant.settleItems(c.Items); err != nil {
		return err
	}
	a.Tokens = make([]int, len(c.Edits)+len(c.Items))
	n := textsOf(c, rows)
	if len(n.texts) == 0 {
		return nil
	}
	ctx, cancel := a.receipt.Context(ctx)
	defer cancel()
	return o.count(ctx, n, a.Tokens)
}

// count counts the tokens of new texts, and refuses too many. Its time is charged to the
// plugin's account, so that a plugin that answers with much text is served later.
func (o *Operation) count(ctx context.Context, n *newTexts, tokens []int) error {
	began := guest.Clock()
	counts, err := o.plugin.host.tokens.Count(ctx, n.texts...)
	o.plugin.account.Charge(guest.Clock() - began)
	if err != nil {
		var late *guest.Fault
		switch {
		case errors.As(context.Cause(ctx), &late):
			return late
		case ctx.Err() != nil:
			return guest.ContextFault(ctx)
		}
		return &guest.Fault{Reason: abi.ReasonInvalidOutput, Err: err}
	}
	added := 0
	for i, count := range counts {
		tokens[n.at[i]] = count
		added += max(0, count-n.before[i])
	}
	if added > o.grant.tokens {
		return guest.Faultf(abi.ReasonOutputTooLarge, "adds %d tokens, allowed %d", added, o.grant.tokens)
	}
	return nil
}

// checkReply checks the rules of the contract about a reply that go beyond its form. texts
// is the number of texts in a request to count.
func (o *Operation) checkReply(changed bool, texts int, reply any) error {
	switch r := reply.(type) { // these two kinds of reply must not state that nothing changes
	case *abi.FormatReply:
		return o.checkFormat(changed, r)
	case *abi.CountReply:
		return o.checkCounts(r.Counts, texts)
	}
	if !changed {
		return nil
	}
	switch r := reply.(type) {
	case *abi.TransformReply:
		if n := len(r.Queries); n == 0 || n > abi.MaxQueries {
			return o.invalid("%d queries (want 1 to %d)", n, abi.MaxQueries)
		}
	case *abi.EnrichReply:
		if r.QueryText == "" {
			return o.invalid("query_str is empty (want the query text to go on with, or status 1 for no change)")
		}
	case *abi.EstimateReply:
		if r.Tokens < 0 {
			return o.invalid("tokens %d (want 0 or more)", r.Tokens)
		}
	case *abi.ExtractReply:
		if err := r.Check(nil); err != nil {
			return o.invalid("%w", err)
		}
	case *abi.DistillReply:
		return o.checkDistilled(r)
	case *abi.ProvideReply:
		return o.checkProvided(r)
	}
	return nil
}

// maxFormatType bounds the name that a guest gives to its format, in bytes.
const maxFormatType = 64

func (o *Operation) checkFormat(changed bool, r *abi.FormatReply) error {
	if !changed || len(r.Output) == 0 {
		return o.invalid("no output (a formatter has no default to leave things at)")
	}
	if t := r.FormatType; !validFormatType(t) {
		return o.invalid("format_type %q (want at most %d bytes without control characters)", guesttext.Line(guesttext.Clip(t, maxFormatType)), maxFormatType)
	}
	return nil
}

func validFormatType(t string) bool { return len(t) <= maxFormatType && guesttext.Line(t) == t }

func (o *Operation) checkCounts(counts []int, texts int) error {
	if len(counts) != texts {
		return o.invalid("%d counts for %d texts", len(counts), texts)
	}
	for i, n := range counts {
		if n < 0 {
			return o.invalid("counts[%d]: %d (want 0 or more)", i, n)
		}
	}
	return nil
}

// checkDistilled refuses blank texts, an answer that has both observations and a
// reflection, an answer that has neither, and one that replaces parts that the guest did
// not receive.
func (o *Operation) checkDistilled(r *abi.DistillReply) error {
	if observed := r.Replace != nil || r.Add != nil; observed == (r.Reflection != nil) {
		return o.invalid("want replace and add, or reflection (or status 1 for no change)")
	}
	for part, replaced := range map[abi.Part]bool{abi.PartObservations: r.Replace != nil, abi.PartReflection: r.Reflection != nil} {
		if replaced && !o.parts.Has(part) {
			return o.invalid("%s: a plugin that does not read them must not replace them (name %[1]s in reads)", part)
		}
	}
	if r.Reflection != nil && strings.TrimSpace(*r.Reflection) == "" {
		return o.invalid("reflection is blank (want a text, or status 1 for no change)")
	}
	for i, list := range [][]string{r.Replace, r.Add} {
		for j, text := range list {
			if strings.TrimSpace(text) == "" {
				return o.invalid("%s[%d]: blank (leave it out)", []string{"replace", "add"}[i], j)
			}
		}
	}
	return nil
}

// checkProvided refuses an answer that replaces parts that the guest did not receive, that
// has messages with unknown roles, or that changes fields of an agent's state that guests
// must not change.
func (o *Operation) checkProvided(r *abi.ProvideReply) error {
	if unread := o.parts.Unread(r); len(unread) > 0 {
		return o.invalid("%s: a provider that does not read them must not replace them (name %[1]s in reads, or leave it out of the answer)", unread[0])
	}
	for i, m := range r.Messages {
		switch m.Role {
		case "user", "assistant", "system", "tool":
		default:
			return o.invalid("messages[%d]: role %q (want user, assistant, system or tool)", i, m.Role)
		}
	}
	if st := r.State; st != nil && (st.RunID != "" || st.Messages != nil) {
		return o.refuse(guest.Faultf(abi.ReasonDenied, "state: run_id and messages are not the guest's to change (it may name observations, reflection, data)"))
	}
	return nil
}
