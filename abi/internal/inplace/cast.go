// Package inplace reads and writes numbers and texts in the bytes of batches without copying
// them where the machine allows it. It is the only package of the contract that uses unsafe.
package inplace

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// Numbers are read and written in place if the
// machine is little-endian and the bytes are aligned; otherwise they are copied one by one.
// Callers have checked that the length of b is a multiple of the element's size.

// LittleEndian reports whether numbers in memory have the byte order of the layout. Tests
// change it, to read and write as a machine of the other byte order does.
var LittleEndian = func() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 1
}()

// aligned reports whether b begins at an address that is a multiple of n.
func aligned(b []byte, n uintptr) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%n == 0
}

// Castable reports whether b can be seen as numbers of n bytes.
func Castable(b []byte, n uintptr) bool { return LittleEndian && aligned(b, n) }

// U32s returns the numbers in b, in place if possible.
func U32s(b []byte) []uint32 {
	if Castable(b, 4) {
		return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
	}
	return copyU32s(b)
}

// U64s returns the numbers in b, in place if possible.
func U64s(b []byte) []uint64 {
	if Castable(b, 8) {
		return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
	}
	return copyU64s(b)
}

// F64s returns the floats in b, in place if possible.
func F64s(b []byte) []float64 {
	v := U64s(b)
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}

// F32s returns the floats in b, in place if possible.
func F32s(b []byte) []float32 {
	v := U32s(b)
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}

// String returns b as a string that aliases it.
func String(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// PutU32s writes v to dst.
func PutU32s(dst []byte, v []uint32) {
	if LittleEndian {
		copy(dst, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v)))
		return
	}
	for i, x := range v {
		binary.LittleEndian.PutUint32(dst[4*i:], x)
	}
}

// PutU64s writes v to dst.
func PutU64s(dst []byte, v []uint64) {
	if LittleEndian {
		copy(dst, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 8*len(v)))
		return
	}
	for i, x := range v {
		binary.LittleEndian.PutUint64(dst[8*i:], x)
	}
}

// PutF32s writes v to dst.
func PutF32s(dst []byte, v []float32) {
	for i, x := range v {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(x))
	}
}

// AlignedBytes allocates n bytes at an address that is a multiple of 8.
func AlignedBytes(n int) []byte {
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))[:n]
}

func copyU32s(b []byte) []uint32 {
	v := make([]uint32, len(b)/4)
	for i := range v {
		v[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return v
}

func copyU64s(b []byte) []uint64 {
	v := make([]uint64, len(b)/8)
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return v
}

// SizeOf is the size of a T in bytes. Memory that it points to does not count.
func SizeOf[T any]() int64 {
	var v T
	return int64(unsafe.Sizeof(v))
}

// Grow makes b n bytes longer. The new bytes have any content.
func Grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b[:len(b)+n]
	}
	bigger := AlignedBytes(len(b) + n)
	copy(bigger, b)
	return bigger
}
