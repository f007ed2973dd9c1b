package jsontext

import "strconv"

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
// itself is 0, any other one minus itself is NaN.
func Infinite(v []float32) int {
	for i, f := range v {
		if f-f != 0 {
			return i
		}
	}
	return -1
}
