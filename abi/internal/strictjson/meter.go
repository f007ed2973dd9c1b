package strictjson

import (
	"strconv"

	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
)

// These constants limit the memory that decoding an answer of n bytes may take: 4 times its
// bytes, and a little more for small answers, which are mostly overhead.
const (
	unfoldFactor = 4
	// unfoldFloor is added for every answer, as long as the sum stays within smallFactor
	// times its bytes.
	unfoldFloor = 1 << 20
	smallFactor = 60
	// unfoldRow is added for each row of the request. It suffices for an edit of the
	// metadata with a few keys.
	unfoldRow = 512
	// keyFactor bounds the work with keys of metadata, which the rows of a batch share.
	// Written out for each row, the keys may have keyFactor times the bytes of the answer,
	// and the bytes of the floor.
	keyFactor = 16
	// takeSize is how many bytes are decoded between two questions to a Meter.
	takeSize = 64 << 10
)

// Meter counts the memory that decoding one answer takes.
type Meter struct {
	size, most int64
	// left is how many more bytes the answer may take; free of them may be taken without asking
	// the Host. work is how many more bytes of keys may be handled.
	left, free, work int64
	host             Host
}

// Host decides whether memory may be allocated and whether decoding may go on. It is the Meter of
// package abi.
type Host interface {
	Take(bytes int64) error
}

// NewMeter returns the meter of an answer of n bytes to a request of the given number of rows. h
// may be nil.
func NewMeter(n, rows int, h Host) Meter {
	size := int64(n)
	most := unfoldFactor*size + min(unfoldFloor, smallFactor*size) + unfoldRow*int64(rows)
	return Meter{size: size, most: most, left: most, free: takeSize, work: keyFactor*size + unfoldFloor, host: h}
}

// Charge accounts for n bytes before they are allocated.
func (m *Meter) Charge(n int64) error {
	m.left -= n
	m.free -= n
	if m.left >= 0 && m.free >= 0 {
		return nil
	}
	return m.take()
}

// take asks the Host for the bytes that Charge has used up.
func (m *Meter) take() error {
	if m.left < 0 {
		return TooLarge("of " + strconv.FormatInt(m.size, 10) + " bytes takes more than " + strconv.FormatInt(m.most, 10) +
			" when it is decoded (send fewer or longer parts)")
	}
	more := (takeSize - 1 - m.free) &^ (takeSize - 1)
	m.free += more
	if m.host == nil {
		return nil
	}
	return m.host.Take(more)
}

// lookAfter is the number of elements that are read before the Host is asked again whether to go
// on.
const lookAfter = 1 << 14

// look asks the Host whether to go on, once for every lookAfter elements. i is the index of the
// current element.
func (m *Meter) look(i int) error {
	if m == nil || m.host == nil || i%lookAfter != lookAfter-1 {
		return nil
	}
	return m.host.Take(0)
}

// Handle accounts for the work with a key of n bytes.
func (m *Meter) Handle(n int) error {
	if m.work -= int64(n); m.work < 0 {
		return TooLarge("of " + strconv.FormatInt(m.size, 10) + " bytes name long metadata keys in too many rows (use shorter keys)")
	}
	return nil
}

// TooLarge is the error about an answer that takes too much memory for its length.
type TooLarge string

func (e TooLarge) Error() string { return "answer " + string(e) }
func (e TooLarge) Unwrap() error { return jsontext.ErrTooLarge }

// The sizes of decoded values in bytes, with what the allocator rounds up.
const (
	BoxSize     = 16 // a string behind an interface
	NumberSize  = 8  // a number behind an interface
	ElementSize = 16 // an interface, or the head of a string
	listSize    = 24 // the head of a list
)

// TextBytes is the size of a string of n bytes.
func TextBytes(n int) int64 {
	if n == 0 {
		return 0
	}
	return int64(n + n/8 + 8)
}

// MapBytes is the size of a map of n keys, without their text: up to 8 lie in one
// group, more in tables that are at least 7/16 full.
func MapBytes(n int) int64 {
	switch {
	case n == 0:
		return 48
	case n <= 8:
		return 48 + 288
	}
	return 48 + 512 + 80*int64(n)
}
