package pdk

import (
	"slices"

	"github.com/anchor-host/anchor-host/abi"
)

// Row is how a handler may number rows in a list it returns.
type Row interface{ int | uint32 }

// Changes collects what a handler wants done to the rows of its request. The
// host applies them in this order, all or nothing: Keep and Drop, edits, scores,
// new items, Order. What is not mentioned stays as it is.
//
// Rows are named by their number. A row that does not exist, text that is not
// UTF-8 and a score outside 0..1 fail the call, as does a change that the
// manifest does not list under writes.
type Changes struct {
	rows int
	set  abi.Changes
	err  error

	// Storage that outlives Reset.
	keep   []uint32
	order  []uint32
	scores []abi.RowScore
	edits  []abi.Edit
	items  []NewItem
	// editOf is the position in edits, plus 1, of each row's edit.
	editOf []int32
	// gone marks the rows that Drop named.
	gone []bool

	keeps, drops, orders bool
}

// NewChanges returns an empty set for a request of so many rows. Handlers
// receive theirs; this is for tests of plugin logic.
func NewChanges(rows int) *Changes {
	c := new(Changes)
	c.Reset(rows)
	return c
}

// Reset empties c for a request of so many rows and keeps its storage.
func (c *Changes) Reset(rows int) {
	clear(c.edits)
	clear(c.items)
	*c = Changes{
		rows: rows, keep: c.keep[:0], order: c.order[:0], scores: c.scores[:0],
		edits: c.edits[:0], items: c.items[:0], editOf: c.editOf[:0], gone: c.gone[:0],
	}
}

// Grow makes room for keeping, scoring and ordering so many rows, which then takes
// no memory in a call.
func (c *Changes) Grow(rows int) {
	c.keep = slices.Grow(c.keep, rows)
	c.order = slices.Grow(c.order, rows)
	c.scores = slices.Grow(c.scores, rows)
}

// Keep says that only these rows stay, ascending and each once. Further calls
// add rows. Keep without rows drops everything.
func (c *Changes) Keep(rows ...int) {
	KeepRows(c, rows)
}

// KeepRows is [Changes.Keep] for a list of either kind of numbers.
func KeepRows[R Row](c *Changes, rows []R) {
	c.keeps = true
	c.keep = number(c, c.keep, "keep", rows, c.rows)
}

// Drop says that these rows go. A handler uses either Keep or Drop.
func (c *Changes) Drop(rows ...int) {
	c.drops = true
	c.gone = grow(c.gone, c.rows)
	for _, row := range rows {
		if c.valid("drop", row, c.rows) {
			c.gone[row] = true
		}
	}
}

// SetText replaces the text of a row. The host counts its tokens anew.
func (c *Changes) SetText(row int, text string) {
	if e := c.edit("set text", row); e != nil {
		e.Content = &text
	}
}

// SetMetadata replaces the metadata of a row. To change one key, change a copy
// from [Item.Metadata] and set that.
func (c *Changes) SetMetadata(row int, metadata Metadata) {
	if metadata == nil {
		metadata = Metadata{}
	}
	if e := c.edit("set metadata", row); e != nil {
		e.Metadata = metadata
	}
}

// SetPriority replaces the priority of a row, 1 to 10 and not above what the
// step is granted.
func (c *Changes) SetPriority(row, priority int) {
	if e := c.edit("set priority", row); e != nil {
		e.Priority = &priority
	}
}

// SetScore replaces the score of a row, 0 to 1. Once per row.
func (c *Changes) SetScore(row int, score float64) {
	if c.valid("set score", row, c.rows) {
		c.scores = append(c.scores, abi.RowScore{Row: uint32(row), Score: score})
	}
}

// SetScores replaces the scores of the first rows, one after the other.
func (c *Changes) SetScores(scores []float64) {
	if len(scores) > c.rows {
		c.missing("set scores", c.rows, c.rows)
		return
	}
	for row, score := range scores {
		c.scores = append(c.scores, abi.RowScore{Row: uint32(row), Score: score})
	}
}

// Add adds an item and returns its row number, for Order.
func (c *Changes) Add(item NewItem) int {
	c.items = append(c.items, item)
	return c.rows + len(c.items) - 1
}

// Order says in which order the rows that stay come, new ones included, each
// once. Further calls add rows. Without scores, the existing scores are dealt
// out along the order.
func (c *Changes) Order(rows ...int) {
	OrderRows(c, rows)
}

// OrderRows is [Changes.Order] for a list of either kind of numbers.
func OrderRows[R Row](c *Changes, rows []R) {
	c.orders = true
	c.order = number(c, c.order, "order", rows, c.rows+len(c.items))
}

// number appends rows to dst if they are all below limit.
func number[R Row](c *Changes, dst []uint32, what string, rows []R, limit int) []uint32 {
	if len(rows) > 0 && highest(rows) >= uint(limit) {
		first := slices.IndexFunc(rows, func(row R) bool { return uint(row) >= uint(limit) })
		c.missing(what, int(rows[first]), limit)
		return dst
	}
	if numbers, ok := any(rows).([]uint32); ok {
		return append(dst, numbers...)
	}
	n := len(dst)
	dst = slices.Grow(dst, len(rows))[:n+len(rows)]
	for i, row := range rows {
		dst[n+i] = uint32(row)
	}
	return dst
}

// highest is the highest of rows, and of negative ones more than any number of rows. It
// looks at several in a turn: in Wasm, stock Go jumps back through a table.
func highest[R Row](rows []R) (h uint) {
	for ; len(rows) >= 8; rows = rows[8:] {
		h = max(h, uint(rows[0]), uint(rows[1]), uint(rows[2]), uint(rows[3]), uint(rows[4]), uint(rows[5]), uint(rows[6]), uint(rows[7]))
	}
	for _, row := range rows {
		h = max(h, uint(row))
	}
	return h
}

// edit returns the edit of a row, or nil when there is no such row.
func (c *Changes) edit(what string, row int) *abi.Edit {
	if !c.valid(what, row, c.rows) {
		return nil
	}
	c.editOf = grow(c.editOf, c.rows)
	if c.editOf[row] == 0 {
		c.edits = append(c.edits, abi.Edit{Row: uint32(row)})
		c.editOf[row] = int32(len(c.edits))
	}
	return &c.edits[c.editOf[row]-1]
}

// valid reports whether row is below limit, and keeps the first error.
func (c *Changes) valid(what string, row, limit int) bool {
	if uint(row) < uint(limit) {
		return true
	}
	c.missing(what, row, limit)
	return false
}

func (c *Changes) missing(what string, row, limit int) {
	if c.err == nil {
		c.err = Errorf("%s: row %d does not exist (there are %d)", what, row, limit)
	}
}

// grow returns s with n zeroed elements, unless it has them already.
func grow[T any](s []T, n int) []T {
	if len(s) == n {
		return s
	}
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}
