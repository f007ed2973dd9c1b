package abi

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
	"github.com/anchor-host/anchor-host/abi/internal/layout"
)

// DefaultPriority returns the priority of a new item of a source that states none. It is also the
// highest priority that a guest may state unless a higher one is granted.
func DefaultPriority(source string) int {
	switch source {
	case "system":
		return 10
	case "memory":
		return 8
	case "conversation":
		return 7
	case "tool":
		return 6
	}
	return 5
}

// ErrNotGranted says that a change set is well-formed, but makes a change that its step
// may not make. errors.Is finds it in a *[ChangeError].
var ErrNotGranted error = jsontext.ValueError("not granted")

// Grant describes the changes that one step may make. The zero value allows none.
type Grant struct {
	// Writes are the changes granted.
	Writes ChangeSet
	// MaxItems is the largest number of new items.
	MaxItems int
	// MaxPriority is the highest priority that new items and edits may state;
	// above 10 means 10.
	MaxPriority int
	// Sources are the sources that new items may state. An item that states none gets the source
	// of the step. The source system is never allowed.
	Sources []string
	// MaxTextBytes bounds the text of edits and new items together, in bytes; 0 means
	// that only the output limit bounds it.
	MaxTextBytes int64
	// Decoded says that the change set has not been modified since [DecodeChanges] or
	// [DecodeChangesJSON] returned it. Its texts and metadata are not checked again.
	Decoded bool
}

// ChangeError describes the first mistake found in a change set.
type ChangeError struct {
	// Part is keep, edits, scores, items or order; empty when the error
	// concerns the whole.
	Part string
	// Index is the position in the part, -1 when the error concerns all of it.
	Index int
	// Row is the row number, -1 when none is named.
	Row int64
	// Msg says what is wrong and what is allowed.
	Msg string
	// Err is a sentinel or the cause, nil when there is none.
	Err error
}

// Unwrap returns Err.
func (e *ChangeError) Unwrap() error { return e.Err }

// Check checks c against the number of rows in the call and the grant of the step. If the
// error is nil, c can be applied without further checks. The error is a *[ChangeError].
func (c *Changes) Check(rows int, g Grant) error {
	k := checker{c: c, rows: rows, g: g}
	for _, f := range []func() *ChangeError{
		k.granted, k.keep, k.edits, k.scores, k.items, k.order,
	} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// checker is the state of one Check.
type checker struct {
	c       *Changes
	rows    int
	g       Grant
	dropped layout.RowSet
	left    int
	text    int64
}

func wrong(part string, i int, row int64, msg string) *ChangeError {
	return &ChangeError{Part: part, Index: i, Row: row, Msg: msg}
}

func denied(part string, i int, row int64, msg string) *ChangeError {
	return &ChangeError{Part: part, Index: i, Row: row, Msg: msg, Err: ErrNotGranted}
}

// notGranted is the error about a kind of change that the step may not make.
func notGranted(part string, change Change, writes ChangeSet) *ChangeError {
	allowed := "nothing"
	if writes != 0 {
		allowed = strings.Join(writes.Names(), ", ")
	}
	return denied(part, -1, -1, "change "+string(change)+" is not granted (the step may change "+allowed+")")
}

// granted checks that each kind of change is allowed.
func (k *checker) granted() *ChangeError {
	c := k.c
	var text, meta, priority bool
	for _, e := range c.Edits {
		text, meta, priority = text || e.Content != nil, meta || e.Metadata != nil, priority || e.Priority != nil
	}
	for _, u := range [...]struct {
		used   bool
		change Change
		part   string
	}{
		{c.Keep != nil, ChangeKeep, "keep"},
		{text, ChangeText, "edits"},
		{meta, ChangeMetadata, "edits"},
		{priority, ChangePriority, "edits"},
		{len(c.Scores) > 0, ChangeScore, "scores"},
		{len(c.Items) > 0, ChangeItems, "items"},
		{c.Order != nil, ChangeOrder, "order"},
	} {
		if u.used && !k.g.Writes.Has(u.change) {
			return notGranted(u.part, u.change, k.g.Writes)
		}
	}
	return nil
}

// exists checks that r is an input row that is kept.
func (k *checker) exists(part string, i int, r uint32) *ChangeError {
	if int64(r) >= int64(k.rows) {
		return wrong(part, i, int64(r), "does not exist (the call has "+rowCount(k.rows)+")")
	}
	if k.dropped.Has(r) {
		return wrong(part, i, int64(r), "is changed and dropped (list it in keep, or leave it alone)")
	}
	return nil
}

func rowCount(n int) string {
	switch n {
	case 0:
		return "no rows"
	case 1:
		return "1 row, number 0"
	}
	return strconv.Itoa(n) + " rows, 0 to " + strconv.Itoa(n-1)
}

func (k *checker) keep() *ChangeError {
	k.left = k.rows
	if k.c.Keep == nil {
		return nil
	}
	if !layout.Ascending(k.c.Keep, k.rows) {
		return k.unsound()
	}
	k.left = len(k.c.Keep)
	if len(k.c.Edits)+len(k.c.Scores)+len(k.c.Order) > 0 { // otherwise the set is not used
		k.dropped = layout.RowsWithout(k.rows, k.c.Keep)
	}
	return nil
}

// unsound names the first row of keep that is out of range or out of order.
func (k *checker) unsound() *ChangeError {
	last := int64(-1)
	for i, r := range k.c.Keep {
		if err := k.exists("keep", i, r); err != nil {
			return err
		}
		if int64(r) == last {
			return wrong("keep", i, last, "is listed twice (list each row once)")
		}
		if int64(r) < last {
			return wrong("keep", i, int64(r), "comes after row "+strconv.FormatInt(last, 10)+" (list rows ascending; use order to move them)")
		}
		last = int64(r)
	}
	return nil
}

func (k *checker) edits() *ChangeError {
	seen := layout.RowSet(nil)
	if len(k.c.Edits) > 0 {
		seen = layout.NewRowSet(k.rows)
	}
	for i := range k.c.Edits {
		e := &k.c.Edits[i]
		if err := k.exists("edits", i, e.Row); err != nil {
			return err
		}
		if !seen.Add(e.Row) {
			return wrong("edits", i, int64(e.Row), "is edited twice (make one edit of it)")
		}
		if e.Content != nil {
			if err := k.content("edits", i, int64(e.Row), *e.Content); err != nil {
				return err
			}
		}
		if err := k.metadata(e.Metadata); err != nil {
			return wrong("edits", i, int64(e.Row), "metadata "+err.Error())
		}
		if e.Priority != nil {
			if err := k.priority("edits", i, int64(e.Row), *e.Priority); err != nil {
				return err
			}
		}
	}
	return nil
}

const notUTF8 = "is not valid UTF-8"

// content checks text that edits and new items carry.
func (k *checker) content(part string, i int, row int64, s string) *ChangeError {
	if !k.g.Decoded && !utf8.ValidString(s) {
		return wrong(part, i, row, "content "+notUTF8)
	}
	k.text += int64(len(s))
	if k.g.MaxTextBytes > 0 && k.text > k.g.MaxTextBytes {
		return denied(part, i, row, "content brings the new text to "+strconv.FormatInt(k.text, 10)+" bytes (the step may add "+strconv.FormatInt(k.g.MaxTextBytes, 10)+")")
	}
	return nil
}

// metadata checks metadata of change sets that no decoder has checked.
func (k *checker) metadata(m Metadata) error {
	if k.g.Decoded {
		return nil
	}
	return jsontext.Check(m)
}

// unprintable reports whether a character of an id could disturb a terminal or a log: it
// ends a line, moves the cursor or changes the direction of writing.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

func (k *checker) priority(part string, i int, row int64, p int) *ChangeError {
	if p < 1 || p > MaxPriority {
		return wrong(part, i, row, "priority "+strconv.Itoa(p)+" is out of range (want 1 to "+strconv.Itoa(MaxPriority)+")")
	}
	if p > k.g.MaxPriority {
		return denied(part, i, row, "priority "+strconv.Itoa(p)+" is not granted (the step may state at most "+strconv.Itoa(k.g.MaxPriority)+")")
	}
	return nil
}

func checkScore(part string, i int, row int64, f float64) *ChangeError {
	if f >= 0 && f <= 1 {
		return nil
	}
	return wrong(part, i, row, "score "+strconv.FormatFloat(f, 'g', -1, 64)+" is out of range (want 0 to 1)")
}

func (k *checker) scores() *ChangeError {
	seen := layout.RowSet(nil)
	if len(k.c.Scores) > 0 {
		seen = layout.NewRowSet(k.rows)
	}
	for i, s := range k.c.Scores {
		if err := k.exists("scores", i, s.Row); err != nil {
			return err
		}
		if !seen.Add(s.Row) {
			return wrong("scores", i, int64(s.Row), "is scored twice (score each row once)")
		}
		if err := checkScore("scores", i, int64(s.Row), s.Score); err != nil {
			return err
		}
	}
	return nil
}

func (k *checker) items() *ChangeError {
	if n := len(k.c.Items); n > k.g.MaxItems {
		return denied("items", -1, -1, strconv.Itoa(n)+" new items are not granted (the step may add "+strconv.Itoa(k.g.MaxItems)+")")
	}
	for i := range k.c.Items {
		if err := k.item(i, &k.c.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (k *checker) item(i int, it *NewItem) *ChangeError {
	if it.Content == "" {
		return wrong("items", i, -1, "content is empty (want text)")
	}
	if err := k.content("items", i, -1, it.Content); err != nil {
		return err
	}
	if !utf8.ValidString(it.Key) {
		return wrong("items", i, -1, "key "+notUTF8)
	}
	if strings.ContainsFunc(it.Key, unprintable) {
		return wrong("items", i, -1, "key "+jsontext.Quote(it.Key)+" has a control character (want text that can be shown on one line)")
	}
	if err := checkScore("items", i, -1, it.Score); err != nil {
		return err
	}
	if it.Priority != 0 {
		if err := k.priority("items", i, -1, it.Priority); err != nil {
			return err
		}
	}
	if it.Source != "" && (it.Source == "system" || !slices.Contains(k.g.Sources, it.Source)) {
		return denied("items", i, -1, "source "+jsontext.Quote(it.Source)+" is not granted"+sourceHint(k.g.Sources))
	}
	if err := k.metadata(it.Metadata); err != nil {
		return wrong("items", i, -1, "metadata "+err.Error())
	}
	if _, err := jsontext.Nanoseconds(it.CreatedAt); err != nil {
		return wrong("items", i, -1, "created_at "+err.Error())
	}
	return nil
}

func sourceHint(sources []string) string {
	if len(sources) == 0 {
		return " (state none)"
	}
	return " (state none, or one of " + strings.Join(sources, ", ") + ")"
}

// order checks that Order is a permutation of the kept rows and the new ones. The new
// rows have the numbers after the last input row.
func (k *checker) order() *ChangeError {
	if k.c.Order == nil {
		return nil
	}
	all, want := k.rows+len(k.c.Items), k.left+len(k.c.Items)
	seen := layout.NewRowSet(all)
	for i, r := range k.c.Order {
		switch {
		case int64(r) >= int64(all):
			return wrong("order", i, int64(r), "does not exist (the call has "+rowCount(k.rows)+", and "+strconv.Itoa(len(k.c.Items))+" new)")
		case int64(r) < int64(k.rows) && k.dropped.Has(r):
			return wrong("order", i, int64(r), "is ordered and dropped (list it in keep, or leave it out of order)")
		case !seen.Add(r):
			return wrong("order", i, int64(r), "is listed twice (list each surviving row once)")
		}
	}
	if len(k.c.Order) != want {
		return wrong("order", -1, -1, "lists "+strconv.Itoa(len(k.c.Order))+" of "+strconv.Itoa(want)+" surviving rows (list each once)")
	}
	return nil
}
