package pdk

import (
	"errors"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/mem"
)

// Result returns the change set, or the first mistake in it. If both are nil, there is
// nothing to change. The set is valid until Reset.
//
// Mistakes are found here and not when the set is encoded, so that their messages are the
// same in both lanes.
func (c *Changes) Result() (*abi.Changes, error) {
	if c.err != nil {
		return nil, c.err
	}
	if c.keeps && c.drops {
		return nil, errors.New("keep: cannot be combined with drop (use one of them)")
	}
	c.set = abi.Changes{Edits: c.edits, Scores: c.scores, Items: c.items}
	c.assembleKeep()
	if c.orders && len(c.order) > 0 {
		c.set.Order = c.order
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.set.Keep == nil && c.set.Order == nil && len(c.edits)+len(c.scores)+len(c.items) == 0 {
		return nil, nil
	}
	return &c.set, nil
}

// assembleKeep turns the dropped rows into a list of rows to keep. It leaves Keep nil if
// every row stays.
func (c *Changes) assembleKeep() {
	if c.drops {
		for row, gone := range c.gone {
			if !gone {
				c.keep = append(c.keep, uint32(row))
			}
		}
		c.keeps, c.drops = true, false
	}
	if !c.keeps || everyRow(c.keep, c.rows) {
		return
	}
	if c.keep == nil {
		c.keep = []uint32{}
	}
	c.set.Keep = c.keep
}

// everyRow reports whether keep lists all rows in order.
func everyRow(keep []uint32, rows int) bool {
	if len(keep) != rows {
		return false
	}
	for i, row := range keep {
		if int(row) != i {
			return false
		}
	}
	return true
}

// check refuses values that only one of the lanes could carry: JSON has neither NaN nor
// invalid UTF-8.
func (c *Changes) check() error {
	for i := range c.scores {
		if s := &c.scores[i]; !(s.Score >= 0 && s.Score <= 1) {
			return Errorf("set score: row %d: %v is not within 0..1", s.Row, s.Score)
		}
	}
	for i := range c.edits {
		if err := checkEdit(&c.edits[i]); err != nil {
			return err
		}
	}
	for i := range c.items {
		if err := checkItem(&c.items[i]); err != nil {
			return Errorf("new item %d: %w", i, err)
		}
	}
	return nil
}

func checkEdit(e *abi.Edit) error {
	if e.Content != nil && !validText(*e.Content) {
		return Errorf("set text: row %d: %w", e.Row, errUTF8)
	}
	if err := checkMetadata(e.Metadata); err != nil {
		return Errorf("set metadata: row %d: %w", e.Row, err)
	}
	return nil
}

func checkItem(it *NewItem) error {
	if !(it.Score >= 0 && it.Score <= 1) {
		return Errorf("score %v is not within 0..1", it.Score)
	}
	if !validText(it.Content) || !utf8.ValidString(it.Key) || !utf8.ValidString(it.Source) {
		return errUTF8
	}
	return checkMetadata(it.Metadata)
}

// validText reports whether s is UTF-8. The texts of the request are UTF-8, so it checks
// only the ends of a string that is a part of one. The host also checks every text; this
// check gives the better message.
func validText(s string) bool {
	if !mem.Holds(s) {
		return utf8.ValidString(s)
	}
	last, n := utf8.DecodeLastRuneInString(s)
	return utf8.RuneStart(s[0]) && (last != utf8.RuneError || n > 1)
}

var errUTF8 = errors.New("text is not UTF-8 (repair it with strings.ToValidUTF8)")

// checkMetadata checks names and plain strings. Nested values are JSON in both lanes.
func checkMetadata(m Metadata) error {
	for k, v := range m {
		if s, ok := v.(string); !utf8.ValidString(k) || ok && !utf8.ValidString(s) {
			return errUTF8
		}
	}
	return nil
}
