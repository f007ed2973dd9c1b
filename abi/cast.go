package abi

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// This file is the only one that uses unsafe. Numbers are read and written in place if the
// machine is little-endian and the bytes are aligned; otherwise they are copied one by one.
// Callers have checked that the length of b is a multiple of the element's size.

// littleEndian reports whether numbers in memory have the byte order of the layout.
var littleEndian = func() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 1
}()

// aligned reports whether b begins at an address that is a multiple of n.
func aligned(b []byte, n uintptr) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%n == 0
}

// castable reports whether b can be seen as numbers of n bytes.
func castable(b []byte, n uintptr) bool { return littleEndian && aligned(b, n) }

// u32s returns the numbers in b, in place if possible.
func u32s(b []byte) []uint32 {
	if castable(b, 4) {
		return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
	}
	return copyU32s(b)
}

// u64s returns the numbers in b, in place if possible.
func u64s(b []byte) []uint64 {
	if castable(b, 8) {
		return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
	}
	return copyU64s(b)
}

// f64s returns the floats in b, in place if possible.
func f64s(b []byte) []float64 {
	v := u64s(b)
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}

// f32s returns the floats in b, in place if possible.
func f32s(b []byte) []float32 {
	v := u32s(b)
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}

// text returns b as a string that aliases it.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// putU32s writes v to dst.
func putU32s(dst []byte, v []uint32) {
	if littleEndian {
		copy(dst, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v)))
		return
	}
	for i, x := range v {
		binary.LittleEndian.PutUint32(dst[4*i:], x)
	}
}

// putU64s writes v to dst.
func putU64s(dst []byte, v []uint64) {
	if littleEndian {
		copy(dst, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 8*len(v)))
		return
	}
	for i, x := range v {
		binary.LittleEndian.PutUint64(dst[8*i:], x)
	}
}

// putF32s writes v to dst.
func putF32s(dst []byte, v []float32) {
	for i, x := range v {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(x))
	}
}

// alignedBytes allocates n bytes at an address that is a multiple of 8.
func alignedBytes(n int) []byte {
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

// sizeOf is the size of a T in bytes. Memory that it points to does not count.
func sizeOf[T any]() int64 {
	var v T
	return int64(unsafe.Sizeof(v))
}
