package plainjson

import (
	"math"
	"strconv"
)

// single is the value of a number of JSON. For most numbers of vectors it takes a fraction of the
// time of ParseFloat, which dominates in a guest: up to 2^53 and 10^22, both sides of the division
// are exact, so the quotient is the float64 that is nearest to the number. It becomes the nearest
// float32 too, unless it lies in the middle between two.
func single(text string) (float32, error) {
	n, dot, negative := uint64(0), len(text)-1, false
	short := len(text) > 0 && len(text) < 19
	for i := 0; i < len(text) && short; i++ {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			n = n*10 + uint64(c-'0')
		case c == '.':
			dot = i
		case c == '-':
			negative = true
		default:
			short = false
		}
	}
	if short && n < 1<<53 {
		f := float64(n) / powers[len(text)-1-dot]
		if math.Float64bits(f)&(1<<29-1) != 1<<28 {
			if negative {
				f = -f
			}
			return float32(f), nil
		}
	}
	f, err := strconv.ParseFloat(text, 32)
	return float32(f), err
}

// powers are the powers of ten that a short number can have as its denominator.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17}
