package wasmbin

import "slices"

// maxTerms is how many symbols a sum may have.
const maxTerms = 4

// sum is an affine expression over symbols: a constant and terms, modulo 2^64 or,
// if it is narrow, 2^32. Terms are in the order of their symbols, none is zero, and
// what is not used is zero, so that equal sums are equal values.
type sum struct {
	narrow bool
	c      uint64
	terms  [maxTerms]term
}

// term is a multiple of a symbol.
type term struct {
	symbol int16 // in symbols, from 1 on; 0 is no term
	by     uint64
}

// symbolKind is where the value of a symbol comes from.
type symbolKind uint8

const (
	inLocal  symbolKind = iota // a local
	inGlobal                   // a global
	inSlot                     // the memory, at a constant distance from the base
	extended                   // a narrow sum, extended to 64 bits
)

// symbol is a value that is known at the head of a loop.
type symbol struct {
	kind   symbolKind
	narrow bool   // has 32 bits
	signed bool   // of extended: by its sign
	index  uint32 // of the local or global
	at     int64  // of a slot, from the base
	of     sum    // of extended
}

// symbols are those that a trace has met. A symbol is its place in them plus one.
type symbols []symbol

// find returns the sum that is one symbol, which it adds if it is new.
func (ss *symbols) find(s symbol) sum {
	i := slices.Index(*ss, s)
	if i < 0 {
		i = len(*ss)
		*ss = append(*ss, s)
	}
	return sum{narrow: s.narrow, terms: [maxTerms]term{{int16(i + 1), 1}}}
}

func (ss symbols) of(t term) symbol { return ss[t.symbol-1] }

// constantSum is a sum without terms.
func constantSum(c uint64, narrow bool) sum { return sum{narrow: narrow, c: c}.reduced() }

// reduced keeps the bits that count.
func (s sum) reduced() sum {
	if s.narrow {
		s.c = uint64(uint32(s.c))
		for i := range s.terms {
			s.terms[i].by = uint64(uint32(s.terms[i].by))
		}
	}
	n := 0
	for _, t := range s.terms {
		if t.by != 0 {
			s.terms[n] = t
			n++
		}
	}
	clear(s.terms[n:])
	return s
}

// constant returns the value of a sum without terms.
func (s sum) constant() (uint64, bool) { return s.c, s.terms[0].symbol == 0 }

// times is a multiple of the sum.
func (s sum) times(by uint64) sum {
	s.c *= by
	for i := range s.terms {
		s.terms[i].by *= by
	}
	return s.reduced()
}

// plus adds a sum of the same width. It fails if there are too many terms.
func (s sum) plus(o sum) (sum, bool) {
	out := sum{narrow: s.narrow, c: s.c + o.c}
	n, i, j := 0, 0, 0
	for {
		var a, b term
		if i < maxTerms {
			a = s.terms[i]
		}
		if j < maxTerms {
			b = o.terms[j]
		}
		var next term
		switch {
		case a.symbol == 0 && b.symbol == 0:
			return out.reduced(), true
		case b.symbol == 0 || a.symbol != 0 && a.symbol < b.symbol:
			next, i = a, i+1
		case a.symbol == 0 || b.symbol < a.symbol:
			next, j = b, j+1
		default:
			next, i, j = term{a.symbol, a.by + b.by}, i+1, j+1
		}
		if next.by == 0 || s.narrow && uint32(next.by) == 0 {
			continue
		}
		if n == maxTerms {
			return sum{}, false
		}
		out.terms[n] = next
		n++
	}
}

// minus subtracts a sum of the same width.
func (s sum) minus(o sum) (sum, bool) { return s.plus(o.times(^uint64(0))) }

// wrap is the low half of a wide sum. What was extended loses its extension.
func (ss symbols) wrap(s sum) (sum, bool) {
	out, ok := sum{narrow: true, c: s.c}.reduced(), true
	for _, t := range s.terms {
		if t.symbol == 0 || !ok {
			break
		}
		part := sum{narrow: true, terms: [maxTerms]term{t}}.reduced()
		if sym := ss.of(t); sym.kind == extended {
			part = sym.of.times(t.by)
		}
		out, ok = out.plus(part)
	}
	return out, ok
}

// extend is a narrow sum as a wide one.
func (ss *symbols) extend(s sum, signed bool) sum {
	if c, ok := s.constant(); ok {
		if signed {
			c = uint64(int64(int32(uint32(c))))
		}
		return constantSum(c, false)
	}
	return ss.find(symbol{kind: extended, signed: signed, of: s})
}
