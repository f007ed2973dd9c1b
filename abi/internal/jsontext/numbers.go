package jsontext

import (
	"math"
	"strconv"
)

// AppendNumbers appends v as a list.
func AppendNumbers(dst []byte, v []float32) []byte {
	dst = append(dst, '[')
	for i, f := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, float64(f), 'g', -1, 32)
	}
	return append(dst, ']')
}

// Infinite returns the place of the first number that is not finite, or -1. A finite number minus
// itself is 0, and any other number minus itself is NaN. A sum that contains a NaN is NaN, so one
// test covers four numbers.
func Infinite[F float32 | float64](v []F) int {
	rest := v
	for ; len(rest) >= 4; rest = rest[4:] {
		a, b, c, d := rest[0], rest[1], rest[2], rest[3]
		if (a-a)+(b-b)+(c-c)+(d-d) != 0 {
			break
		}
	}
	for i, f := range rest {
		if f-f != 0 {
			return len(v) - len(rest) + i
		}
	}
	return -1
}

// CheckNumber checks a priority or a token count.
func CheckNumber(n int) error {
	if n < 0 || n > math.MaxInt32 {
		return ValueError(strconv.Itoa(n) + " is out of range (want 0 to 2147483647)")
	}
	return nil
}
