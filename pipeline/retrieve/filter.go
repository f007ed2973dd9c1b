package retrieve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Op compares a field with values.
type Op string

// The comparisons.
const (
	// OpEqual holds if the field has one of the values.
	OpEqual Op = "="
	// OpNotEqual holds if the field has none of the values.
	OpNotEqual Op = "!="
	// OpPrefix holds if the field begins with one of the values.
	OpPrefix Op = "prefix"
	// OpAtLeast, OpAtMost, OpAbove and OpBelow compare numbers as numbers, times as times, and
	// everything else as texts. They take one value.
	OpAtLeast Op = ">="
	OpAtMost  Op = "<="
	OpAbove   Op = ">"
	OpBelow   Op = "<"
)

// ops are all comparisons, first those that take several values.
var ops = []Op{OpEqual, OpNotEqual, OpPrefix, OpAtLeast, OpAtMost, OpAbove, OpBelow}

// single reports whether a comparison takes one value.
func (o Op) single() bool { return slices.Index(ops, o) >= slices.Index(ops, OpAtLeast) }

// Condition is a part of a filter.
type Condition struct {
	// Field is id, path, title, hash, time (RFC 3339), heading (the headings, joined by
	// " > "), page, line (the first), or a name in the document's Meta. A field that a
	// chunk does not have is empty: "" for OpEqual, and the comparisons of size never hold. A
	// value in Meta with [ListSeparator] in it is a list, which meets a condition if one of its elements
	// or the whole does; OpNotEqual if none does.
	Field string `json:"field"`
	Op    Op     `json:"op"`
	// Values are one or more.
	Values []string `json:"values"`
}

// Validate returns an error that wraps [ErrInvalid] if the condition has no field, an unknown
// comparison, not the right number of values, or a bound of time, page or line that is none.
func (c *Condition) Validate() error {
	switch {
	case c.Field == "":
		return fmt.Errorf("filter: %w: no field", ErrInvalid)
	case !slices.Contains(ops, c.Op):
		return fmt.Errorf("filter %s: comparison %q: %w (want =, !=, prefix, >=, <=, > or <)", c.Field, c.Op, ErrInvalid)
	case len(c.Values) == 0:
		return fmt.Errorf("filter %s: %w: no value", c.Field, ErrInvalid)
	case c.Op.single() && len(c.Values) > 1:
		return fmt.Errorf("filter %s: %w: %d values for %s (want one)", c.Field, ErrInvalid, len(c.Values), c.Op)
	case c.Op.single():
		return c.checkBound()
	}
	return nil
}

// checkBound refuses bounds that no chunk could meet as they were meant.
func (c *Condition) checkBound() error {
	value := c.Values[0]
	switch c.Field {
	case "time":
		if _, err := parseTime(value); err != nil {
			return fmt.Errorf("filter %s: %w: value %q (want a date or a time, such as 2026-01-31 or 2026-01-31T15:04:05Z)", c.Field, ErrInvalid, value)
		}
	case "page", "line":
		if x, err := strconv.ParseFloat(value, 64); err != nil || math.IsNaN(x) {
			return fmt.Errorf("filter %s: %w: value %q (want a number)", c.Field, ErrInvalid, value)
		}
	}
	return nil
}

// Matches reports whether the condition, which must be valid, holds for the value of its
// field.
func (c *Condition) Matches(value string) bool {
	if c.Op == OpNotEqual {
		equal := Condition{Field: c.Field, Op: OpEqual, Values: c.Values}
		return !equal.Matches(value)
	}
	if c.matches(value) {
		return true
	}
	if !strings.Contains(value, ListSeparator) || slices.Contains(fields, c.Field) {
		return false
	}
	for element := range strings.SplitSeq(value, ListSeparator) {
		if c.matches(element) {
			return true
		}
	}
	return false
}

// ListSeparator stands between the elements of a list in the Meta of a document.
const ListSeparator = ", "

// fields are those of a [Condition] that are no names in Meta.
var fields = []string{"id", "path", "title", "hash", "time", "heading", "page", "line"}

func (c *Condition) matches(value string) bool {
	switch c.Op {
	case OpEqual:
		return slices.Contains(c.Values, value)
	case OpPrefix:
		return slices.ContainsFunc(c.Values, func(p string) bool { return strings.HasPrefix(value, p) })
	case OpAtLeast:
		return value != "" && compareValues(value, c.Values[0]) >= 0
	case OpAtMost:
		return value != "" && compareValues(value, c.Values[0]) <= 0
	case OpAbove:
		return value != "" && compareValues(value, c.Values[0]) > 0
	case OpBelow:
		return value != "" && compareValues(value, c.Values[0]) < 0
	}
	return false
}

// compareValues compares numbers, times or texts.
func compareValues(a, b string) int {
	if x, err := strconv.ParseFloat(a, 64); err == nil {
		if y, err := strconv.ParseFloat(b, 64); err == nil {
			return cmp.Compare(x, y)
		}
	}
	if x, err := parseTime(a); err == nil {
		if y, err := parseTime(b); err == nil {
			return x.Compare(y)
		}
	}
	return strings.Compare(a, b)
}

// parseTime reads a time or a date.
func parseTime(s string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	return time.Parse(time.DateOnly, s)
}
