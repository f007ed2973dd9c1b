package pdk

import (
	"slices"

	"github.com/anchor-host/anchor-host/abi"
)

// Row is a type in which a handler may return row numbers.
type Row interface{ int | uint32 }

// Changes collects the changes that a handler makes to the rows of its request. The host
// applies all of them or none, in this order: Keep and Drop, edits, scores, new items,
// Order. Rows and parts without a change stay as they are.
//
// Rows are named by their number. The call fails if a row does not exist, a text is not
// UTF-8, a score is outside 0..1, or the manifest does not list the change under writes.
type Changes struct {
	rows int
	set  abi.Changes
	err  error

	// Reset keeps this storage.
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

// NewChanges returns an empty set for a request with the given number of rows. Handlers
// receive a set as an argument; NewChanges is for tests of plugin logic.
func NewChanges(rows int) *Changes {
	c := new(Changes)
	c.Reset(rows)
	return c
}

// Reset empties c for a request with the given number of rows and keeps its storage.
func (c *Changes) Reset(rows int) {
	clear(c.edits)
	clear(c.items)
	*c = Changes{
		rows: rows, keep: c.keep[:0], order: c.order[:0], scores: c.scores[:0],
		edits: c.edits[:0], items: c.items[:0], editOf: c.editOf[:0], gone: c.gone[:0],
	}
}

// Grow allocates the memory that keeping, scoring and ordering the given number of rows
// needs. A call then need not allocate it.
func (c *Changes) Grow(rows int) {
	c.keep = slices.Grow(c.keep, rows)
	c.order = slices.Grow(c.order, rows)
	c.scores = slices.Grow(c.scores, rows)
}

// Keep keeps these rows and drops all others. The rows must be ascending, each once.
// Further calls add rows. Keep without rows drops everything.
func (c *Changes) Keep(rows ...int) {
	KeepRows(c, rows)
}

// KeepRows does what [Changes.Keep] does, for a list of int or uint32.
func KeepRows[R Row](c *Changes, rows []R) {
	c.keeps = true
	c.keep = number(c, c.keep, "keep", rows, c.rows)
}

// Drop drops these rows. A handler uses either Keep or Drop.
func (c *Changes) Drop(rows ...int) {
	c.drops = true
	c.gone = grow(c.gone, c.rows)
	for _, row := range rows {
		if c.valid("drop", row, c.rows) {
			c.gone[row] = true
		}
	}
}

// SetText replaces the text of a row. The host counts its tokens again.
func (c *Changes) SetText(row int, text string) {
	if e := c.edit("set text", row); e != nil {
		e.Content = &text
	}
}

// SetMetadata replaces all metadata of a row. To change one key, change the copy that
// [Item.Metadata] returns, and pass that.
func (c *Changes) SetMetadata(row int, metadata Metadata) {
	if metadata == nil {
		metadata = Metadata{}
	}
	if e := c.edit("set metadata", row); e != nil {
		e.Metadata = metadata
	}
}

// SetPriority replaces the priority of a row. It is 1 to 10, and not above the priority
// that the step is granted.
func (c *Changes) SetPriority(row, priority int) {
	if e := c.edit("set priority", row); e != nil {
		e.Priority = &priority
	}
}

// SetScore replaces the score of a row, 0 to 1. It may be called once per row.
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

// Order sets the order of the rows that stay and the new ones, each once. Further calls add
// rows. If no scores are set, the existing scores are redistributed in this order: the
// first row gets the highest.
func (c *Changes) Order(rows ...int) {
	OrderRows(c, rows)
}

// OrderRows does what [Changes.Order] does, for a list of int or uint32.
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

// highest returns the highest of rows. A negative row counts as higher than any valid one.
// Each turn of the loop reads several rows, because stock Go compiles the jump back to a
// slow table lookup in Wasm.
func highest[R Row](rows []R) (h uint) {
	for ; len(rows) >= 8; rows = rows[8:] {
		h = max(h, uint(rows[0]), uint(rows[1]), uint(rows[2]), uint(rows[3]), uint(rows[4]), uint(rows[5]), uint(rows[6]), uint(rows[7]))
	}
	for _, row := range rows {
		h = max(h, uint(row))
	}
	return h
}

// edit returns the edit of a row, or nil if there is no such row.
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

// valid reports whether row is below limit. If it is not, valid keeps the error, unless there
// is one already.
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

// grow returns s if it has n elements, or else n zeroed elements.
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
