package conformance

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
)

// judge checks one change set rule by rule, so that the case of each broken rule is known.
type judge struct {
	d   *Description
	op  *Operation
	req *request
	c   *abi.Changes
}

func (j *judge) highest() int {
	if j.op.MaxPriority == 0 {
		return abi.MaxPriority
	}
	return j.op.MaxPriority
}

// grant returns a grant that allows everything that judge has checked before it calls Check.
func (j *judge) grant() abi.Grant {
	return abi.Grant{Writes: j.op.Writes, MaxItems: abi.MaxRows, MaxPriority: abi.MaxPriority, Sources: j.op.Sources}
}

// kinds checks that the operation may make each kind of change, and that the plugin declares
// it.
func (j *judge) kinds() *trouble {
	info, _ := abi.LookupOperation(j.op.Operation)
	possible, _ := abi.ChangesOf(info.Writes) // the table has known changes
	used := j.used()
	for _, c := range abi.AllChanges {
		switch {
		case !used.Has(c):
		case !possible.Has(c):
			return troublef(kindCases[j.op.Operation], "the answer has the change %q, which no %s may make", c, j.op.Operation)
		case !j.op.Writes.Has(c):
			return troublef(caseDeclared, "the answer has the change %q; the manifest writes %s", c, nothing(j.op.Writes.String()))
		}
	}
	return nil
}

func nothing(list string) string {
	if list == "" {
		return "nothing"
	}
	return list
}

// kindCases are the cases for a change that an operation can never make.
var kindCases = map[abi.Operation]string{
	abi.OpFilter: caseFilter, abi.OpRerank: caseRerank, abi.OpRetrieve: caseRetrieve, abi.OpProcess: caseDeclared,
}

func (j *judge) used() (used abi.ChangeSet) {
	c := j.c
	add := func(is bool, change abi.Change) {
		if is {
			used = used.With(change)
		}
	}
	for _, e := range c.Edits {
		add(e.Content != nil, abi.ChangeText)
		add(e.Metadata != nil, abi.ChangeMetadata)
		add(e.Priority != nil, abi.ChangePriority)
	}
	add(c.Keep != nil, abi.ChangeKeep)
	add(len(c.Scores) > 0, abi.ChangeScore)
	add(len(c.Items) > 0, abi.ChangeItems)
	add(c.Order != nil, abi.ChangeOrder)
	return used
}

// exists refuses rows that the request does not have.
func (j *judge) exists(part string, i int, row uint32) *trouble {
	if int64(row) < int64(len(j.req.rows)) {
		return nil
	}
	return troublef(caseRows, "%s[%d]: row %d of a request with %d rows", part, i, row, len(j.req.rows))
}

func (j *judge) keep() *trouble {
	for i, row := range j.c.Keep {
		if t := j.exists("keep", i, row); t != nil {
			return t
		}
		if i > 0 && row <= j.c.Keep[i-1] {
			return troublef(caseOnce, "keep[%d]: row %d comes after row %d", i, row, j.c.Keep[i-1])
		}
	}
	return nil
}

// named refuses rows that do not exist, are dropped, or were named before.
func (j *judge) named(part string, rows func(i int) uint32, n int) *trouble {
	dropped := j.dropped()
	seen := make(map[uint32]bool, n)
	for i := range n {
		row := rows(i)
		if t := j.exists(part, i, row); t != nil {
			return t
		}
		switch {
		case dropped != nil && dropped[row]:
			return troublef(caseOnce, "%s[%d]: row %d is dropped by keep", part, i, row)
		case seen[row]:
			return troublef(caseOnce, "%s[%d]: row %d is named twice", part, i, row)
		}
		seen[row] = true
	}
	return nil
}

// dropped are the rows that keep leaves out, nil for none.
func (j *judge) dropped() []bool {
	if j.c.Keep == nil {
		return nil
	}
	d := make([]bool, len(j.req.rows))
	for i := range d {
		d[i] = true
	}
	for _, row := range j.c.Keep {
		d[row] = false
	}
	return d
}

func (j *judge) edits() *trouble {
	if t := j.named("edits", func(i int) uint32 { return j.c.Edits[i].Row }, len(j.c.Edits)); t != nil {
		return t
	}
	for i, e := range j.c.Edits {
		if e.Content != nil && !utf8.ValidString(*e.Content) {
			return troublef(caseUTF8, "edits[%d]: the text is not UTF-8", i)
		}
		if e.Priority == nil {
			continue
		}
		if p, highest := *e.Priority, max(j.highest(), j.req.rows[e.Row].Priority); p < 1 || p > highest {
			return troublef(casePriority, "edits[%d]: priority %d, allowed are 1 to %d", i, p, highest)
		}
	}
	return nil
}

func (j *judge) scores() *trouble {
	for i, s := range j.c.Scores {
		if !(s.Score >= 0 && s.Score <= 1) {
			return troublef(caseScores, "scores[%d]: row %d has the score %v", i, s.Row, s.Score)
		}
	}
	return j.named("scores", func(i int) uint32 { return j.c.Scores[i].Row }, len(j.c.Scores))
}

func (j *judge) newItems() *trouble {
	for i := range j.c.Items {
		if t := j.newItem(i, &j.c.Items[i]); t != nil {
			return t
		}
	}
	return nil
}

func (j *judge) newItem(i int, it *abi.NewItem) *trouble {
	switch {
	case it.Content == "":
		return troublef(caseContent, "items[%d]: no content", i)
	case !utf8.ValidString(it.Content) || !utf8.ValidString(it.Key):
		return troublef(caseUTF8, "items[%d]: key or content is not UTF-8", i)
	case strings.ContainsFunc(it.Key, unprintable):
		return troublef(caseKey, "items[%d]: key %q", i, clip(it.Key))
	case !(it.Score >= 0 && it.Score <= 1):
		return troublef(caseScores, "items[%d]: score %v", i, it.Score)
	case it.Priority < 0 || it.Priority > j.highest():
		return troublef(casePriority, "items[%d]: priority %d, allowed are 1 to %d", i, it.Priority, j.highest())
	}
	if it.Source == "" {
		return nil
	}
	for _, s := range j.op.Sources {
		if s == it.Source {
			return nil
		}
	}
	return troublef(caseSource, "items[%d]: source %q, allowed is none or one of %s", i, it.Source, nothing(strings.Join(j.op.Sources, ", ")))
}

// unprintable reports whether a character could disturb a terminal or a log.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// order must be a permutation of the survivors.
func (j *judge) order() *trouble {
	if j.c.Order == nil {
		return nil
	}
	id := caseOrder
	if j.op.Operation == abi.OpRerank {
		id = caseRerank
	}
	dropped, rows := j.dropped(), len(j.req.rows)
	left := rows + len(j.c.Items)
	if j.c.Keep != nil {
		left = len(j.c.Keep) + len(j.c.Items)
	}
	seen := make([]bool, rows+len(j.c.Items))
	for i, row := range j.c.Order {
		switch {
		case int64(row) >= int64(len(seen)):
			return troublef(caseRows, "order[%d]: row %d of %d rows and %d new items", i, row, rows, len(j.c.Items))
		case dropped != nil && int(row) < rows && dropped[row]:
			return troublef(id, "order[%d]: row %d is dropped by keep", i, row)
		case seen[row]:
			return troublef(id, "order[%d]: row %d is named twice", i, row)
		}
		seen[row] = true
	}
	if len(j.c.Order) != left {
		return troublef(id, "order names %d of %d surviving rows", len(j.c.Order), left)
	}
	return nil
}

func (j *judge) topK() *trouble {
	if k := j.req.env.TopK; j.op.Operation == abi.OpRetrieve && len(j.c.Items) > k {
		return troublef(caseTopK, "%d items for top_k %d", len(j.c.Items), k)
	}
	return nil
}

// limits checks the added items and text against the bounds of the host.
func (j *judge) limits(ctx context.Context) *trouble {
	if j.d.MaxItems > 0 && len(j.c.Items) > j.d.MaxItems {
		return troublef(caseLimits, "%d new items, allowed are %d", len(j.c.Items), j.d.MaxItems)
	}
	added, bytes := j.added()
	if j.d.MaxTokens == 0 || j.d.CountTokens == nil || bytes <= j.d.MaxTokens { // a token has a byte at least
		return nil
	}
	counts, err := j.d.CountTokens(ctx, added...)
	if err != nil {
		return troublef(caseLimits, "the new text cannot be counted: %s", err)
	}
	total := 0
	for i := 0; i+1 < len(counts); i += 2 {
		total += max(0, counts[i]-counts[i+1])
	}
	if total > j.d.MaxTokens {
		return troublef(caseLimits, "%d tokens of new text, allowed are %d", total, j.d.MaxTokens)
	}
	return nil
}

// added returns the new texts, each followed by the text that it replaces, and by how many
// bytes they are longer.
func (j *judge) added() (texts []string, bytes int) {
	for _, it := range j.c.Items {
		texts, bytes = append(texts, it.Content, ""), bytes+len(it.Content)
	}
	for _, e := range j.c.Edits {
		if e.Content != nil {
			old := j.req.rows[e.Row].Content
			texts, bytes = append(texts, *e.Content, old), bytes+max(0, len(*e.Content)-len(old))
		}
	}
	return texts, bytes
}
