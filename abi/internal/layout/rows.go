package layout

import "math"

// RowSet is a set of row numbers; nil is empty.
type RowSet []uint64

// NewRowSet returns an empty set for numbers below n.
func NewRowSet(n int) RowSet { return make(RowSet, (n+63)/64) }

// RowsWithout returns the numbers below n without the given ones, which must be below n.
func RowsWithout(n int, rows []uint32) RowSet {
	s := NewRowSet(n)
	for i := range s {
		s[i] = math.MaxUint64
	}
	for _, r := range rows {
		s[r/64] &^= 1 << (r % 64)
	}
	return s
}

// Has reports whether r is in the set.
func (s RowSet) Has(r uint32) bool { return s != nil && s[r/64]>>(r%64)&1 != 0 }

// Add reports whether r is new.
func (s RowSet) Add(r uint32) bool {
	if s.Has(r) {
		return false
	}
	s[r/64] |= 1 << (r % 64)
	return true
}

// Ascending reports whether keep names rows that exist, each once and in ascending order.
// Since the numbers rise, only the last one is compared with the number of rows.
func Ascending(keep []uint32, rows int) bool {
	next := int64(0)
	for _, r := range keep {
		if int64(r) < next {
			return false
		}
		next = int64(r) + 1
	}
	return next <= int64(rows)
}
