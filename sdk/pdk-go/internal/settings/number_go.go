//go:build !tinygo

package settings

import "strconv"

// literal is a JSON number.
type literal struct {
	text []byte
	// short means that the number is digits divided by ten to the power of places, and
	// that floats represent both without rounding.
	short    bool
	negative bool
	digits   uint64
	places   int
}

// powers are the powers of ten that floats represent without rounding.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// number returns the JSON number at the beginning of b. The result has no text if there is
// no number.
func number(b []byte) (n literal) {
	i, count := 0, 0
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			n.digits = 10*n.digits + uint64(b[i]-'0')
			i++
		}
		count += i - from
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		n.negative = true
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return literal{}
	}
	if i < len(b) && b[i] == '.' {
		i++
		whole := count
		if !digits() {
			return literal{}
		}
		n.places = count - whole
	}
	n.short = count < len(powers)
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		n.short = false
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return literal{}
		}
	}
	n.text = b[:i]
	return n
}

// float returns the float nearest to the number. A division of floats rounds only once, so
// for a short number the quotient is the nearest float.
func (n literal) float() (float64, error) {
	if !n.short {
		return strconv.ParseFloat(string(n.text), 64)
	}
	v := float64(n.digits) / powers[n.places]
	if n.negative {
		v = -v
	}
	return v, nil
}

// integer returns the number as an integer of the given number of bits.
func (n literal) integer(bits int) (int64, error) {
	if !n.short || n.places > 0 || bits < 64 {
		return strconv.ParseInt(string(n.text), 10, bits)
	}
	v := int64(n.digits)
	if n.negative {
		v = -v
	}
	return v, nil
}
