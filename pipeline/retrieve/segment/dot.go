package segment

// dot multiplies vectors of one length. It gives the same on every processor.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	s := lanes8(a, b)
	for i := len(a) &^ 7; i < len(a); i++ {
		s[0] += float32(a[i] * b[i])
	}
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

// lanesGo adds the products of the numbers, but for the last up to seven, in eight sums. The conversions
// keep processors with fused multiplication from rounding differently.
func lanesGo(a, b []float32) [8]float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for len(a) >= 8 && len(b) >= 8 {
		s0 += float32(a[0] * b[0])
		s1 += float32(a[1] * b[1])
		s2 += float32(a[2] * b[2])
		s3 += float32(a[3] * b[3])
		s4 += float32(a[4] * b[4])
		s5 += float32(a[5] * b[5])
		s6 += float32(a[6] * b[6])
		s7 += float32(a[7] * b[7])
		a, b = a[8:], b[8:]
	}
	return [8]float32{s0, s1, s2, s3, s4, s5, s6, s7}
}
