package wasmbin

import (
	"errors"
	"math"
	"testing"
)

func TestUnsignedLEB(t *testing.T) {
	for _, c := range []struct {
		in   string
		want uint32
		ok   bool
	}{
		{"\x00", 0, true}, {"\x7f", 127, true}, {"\x80\x01", 128, true}, {"\x80\x00", 0, true},
		{"\xff\xff\xff\xff\x0f", math.MaxUint32, true}, {"\x80\x80\x80\x80\x00", 0, true},
		{"\xff\xff\xff\xff\x1f", 0, false}, {"\x80\x80\x80\x80\x80\x00", 0, false}, {"\x80", 0, false}, {"", 0, false},
	} {
		r := reader{buf: []byte(c.in), end: len(c.in)}
		if got := r.u32("a number"); got != c.want || (r.err == nil) != c.ok {
			t.Errorf("% x: got %d, %v", c.in, got, r.err)
		}
	}
}

func TestSignedLEB(t *testing.T) {
	for _, c := range []struct {
		in   string
		bits int
		want int64
		ok   bool
	}{
		{"\x00", 32, 0, true}, {"\x7f", 32, -1, true}, {"\x3f", 32, 63, true}, {"\x40", 32, -64, true},
		{"\xc0\x00", 32, 64, true}, {"\xff\x7f", 32, -1, true},
		{"\xff\xff\xff\xff\x07", 32, math.MaxInt32, true}, {"\x80\x80\x80\x80\x78", 32, math.MinInt32, true},
		{"\xff\xff\xff\xff\x0f", 32, 0, false}, {"\x80\x80\x80\x80\x70", 32, 0, false},
		{"\xff\xff\xff\xff\x0f", 33, math.MaxUint32, true}, {"\xff\xff\xff\xff\x1f", 33, 0, false},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 64, math.MaxInt64, true},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 64, math.MinInt64, true},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 64, 0, false},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 64, 0, false}, {"\x80", 64, 0, false},
	} {
		r := reader{buf: []byte(c.in), end: len(c.in)}
		if got := r.signed(c.bits, "a number"); got != c.want || (r.err == nil) != c.ok {
			t.Errorf("% x, %d bits: got %d, %v", c.in, c.bits, got, r.err)
		}
	}
}

func TestEncodingsReadBack(t *testing.T) {
	for _, v := range []uint32{0, 1, 127, 128, 1 << 20, math.MaxUint32} {
		b := appendU32(nil, v)
		r := reader{buf: b, end: len(b)}
		if got := r.u32("a number"); got != v || r.finish("it") != nil || len(b) != sizeU32(v) {
			t.Errorf("%d: % x reads %d", v, b, got)
		}
	}
	for _, v := range []int32{0, 63, 64, -64, -65, math.MaxInt32, math.MinInt32} {
		b := appendS32(nil, v)
		r := reader{buf: b, end: len(b)}
		if got := r.signed(32, "a number"); got != int64(v) || r.finish("it") != nil {
			t.Errorf("%d: % x reads %d", v, b, got)
		}
	}
	for _, v := range []int{0, 1, 127, 128, maxCharge} {
		b := make([]byte, 2)
		setCharge(b, 0, v)
		r := reader{buf: b, end: 2}
		if got := r.signed(64, "a charge"); got != int64(v) || r.finish("it") != nil {
			t.Errorf("charge %d: % x reads %d", v, b, got)
		}
	}
}

// TestFirstFailureSticks: reads after an error keep the error and read nothing.
func TestFirstFailureSticks(t *testing.T) {
	r := reader{buf: []byte{0xff, 1, 2}, end: 3}
	if n := r.count(1, "the things"); n != 0 || !errors.Is(r.err, ErrTruncated) || !r.done() {
		t.Fatalf("%d, %v", n, r.err)
	}
	first := r.err
	r.byte("a byte")
	r.fail(ErrMalformed, 0, "other")
	if !errors.Is(r.err, first) {
		t.Errorf("%v replaced %v", r.err, first)
	}
}

// TestChargesFit: the largest charge of a region fits into two bytes.
func TestChargesFit(t *testing.T) {
	const heaviest = max(weightHostCall, 1+2*MaxArity/valuesPerWeight)
	head := max(localsWeight(MaxLocals)+MaxArity/valuesPerWeight, straightWeight-1+heaviest)
	landing := max(landingWeight, windowWeight) - 1 + heaviest
	if most := head + landing + mergeWeight; most > maxCharge {
		t.Errorf("a charge can be %d, at most %d fit", most, maxCharge)
	}
}
