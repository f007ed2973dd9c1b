package abi

import (
	"errors"
	"strconv"
)

// The most that an answer of n bytes may take when it is decoded: 4 times its bytes,
// and for the small ones, whose parts are mostly overhead, a little more.
const (
	unfoldFactor = 4
	// unfoldFloor is what every answer may take beyond that, within smallFactor
	// times its bytes.
	unfoldFloor = 1 << 20
	smallFactor = 60
	// unfoldRow is what each row of the request may add: an edit of its metadata, with
	// a few keys.
	unfoldRow = 512
	// keyFactor bounds the work with keys of metadata, which the rows of a batch
	// share: written out for each row they have at most as many times the bytes of the
	// answer, and those of the floor.
	keyFactor = 16
	// takeSize is how much is decoded before a Meter is asked, and between two times.
	takeSize = 64 << 10
)

// Meter is asked for the memory of what is decoded.
type Meter interface {
	// Take is called before about 64 KiB are allocated, with the number of bytes, and
	// with 0 where so much is only read: there is time to stop. An error ends the
	// decoding, and is its error.
	Take(bytes int64) error
}

// Bounds are what an answer is held to before anything is allocated for it: what is
// more than they allow is refused by counting. An answer that would take more than
// 4 times its bytes, 1 MiB, and 512 bytes for each of Rows is refused, too. An answer
// of less than 17 KiB has 60 times its bytes in place of the MiB.
type Bounds struct {
	// Rows is the number of rows, messages or texts of the request.
	Rows int
	// Writes are the changes that are granted.
	Writes ChangeSet
	// MaxItems is the most new items.
	MaxItems int
	// Meter is asked for memory as it is needed; nil: nobody is.
	Meter Meter
}

// WidestBounds are those of the contract: every change is granted, and there are as many
// rows as a batch can have.
func WidestBounds() Bounds {
	return Bounds{Rows: MaxRows, Writes: everyChange, MaxItems: MaxRows}
}

var everyChange = func() (all ChangeSet) {
	for _, c := range AllChanges {
		all = all.With(c)
	}
	return all
}()

// meter returns the meter of an answer of n bytes; rows may add to what it may take.
func (b *Bounds) meter(n, rows int) meter {
	if rows >= MaxRows { // nobody has said
		rows = 0
	}
	size := int64(n)
	most := unfoldFactor*size + min(unfoldFloor, smallFactor*size) + unfoldRow*int64(rows)
	return meter{size: size, most: most, left: most, free: takeSize, work: keyFactor*size + unfoldFloor, host: b.Meter}
}

// meter counts what one answer takes.
type meter struct {
	size, most int64
	// left is what the answer may take still, free how much of it the host need not be
	// asked for, work what its keys may come to still.
	left, free, work int64
	host             Meter
}

// charge accounts for n bytes that are about to be allocated.
func (m *meter) charge(n int64) error {
	m.left -= n
	m.free -= n
	if m.left >= 0 && m.free >= 0 {
		return nil
	}
	return m.take()
}

// take asks for what charge has used up.
func (m *meter) take() error {
	if m.left < 0 {
		return unfolds("of " + strconv.FormatInt(m.size, 10) + " bytes takes more than " + strconv.FormatInt(m.most, 10) +
			" when it is decoded (send fewer or longer parts)")
	}
	more := (takeSize - 1 - m.free) &^ (takeSize - 1)
	m.free += more
	if m.host == nil {
		return nil
	}
	return m.host.Take(more)
}

// lookAfter is how many elements are read before a Meter is asked whether to go on.
const lookAfter = 1 << 14

// look asks whether to go on, once for so many elements; i is the number of this one.
func (m *meter) look(i int) error {
	if m == nil || m.host == nil || i%lookAfter != lookAfter-1 {
		return nil
	}
	return m.host.Take(0)
}

// handle accounts for the work with a key of n bytes.
func (m *meter) handle(n int) error {
	if m.work -= int64(n); m.work < 0 {
		return unfolds("of " + strconv.FormatInt(m.size, 10) + " bytes name long metadata keys in too many rows (use shorter keys)")
	}
	return nil
}

// unfolds is the error about an answer that is larger than its bytes.
type unfolds string

func (e unfolds) Error() string { return "answer " + string(e) }
func (e unfolds) Unwrap() error { return ErrTooLarge }

// The sizes of decoded values in bytes, with what the allocator rounds up.
const (
	boxSize     = 16 // a string behind an interface
	numberSize  = 8  // a number behind an interface
	elementSize = 16 // an interface, or the head of a string
	listSize    = 24 // the head of a list
)

// textBytes is the size of a string of n bytes.
func textBytes(n int) int64 {
	if n == 0 {
		return 0
	}
	return int64(n + n/8 + 8)
}

// mapBytes is the size of a map of n keys, without their text: up to 8 lie in one
// group, more in tables that are at least 7/16 full.
func mapBytes(n int) int64 {
	switch {
	case n == 0:
		return 48
	case n <= 8:
		return 48 + 288
	}
	return 48 + 512 + 80*int64(n)
}

// admit refuses changes of a part that are not granted, or are more than there are
// rows for. n is how many there are; far beyond the most they are not worth reading, and
// up to that reading tells which one is wrong.
func (b *Bounds) admit(part string, change Change, n, most int) error {
	if !b.Writes.Has(change) {
		return notGranted(part, change, b.Writes)
	}
	if n > 2*most+64 {
		return &ChangeError{Part: part, Index: -1, Row: -1, Err: ErrMalformed,
			Msg: "lists " + strconv.Itoa(n) + " rows (the call has " + rowCount(b.Rows) + ")"}
	}
	return nil
}

// admitItems refuses new items that are not granted or too many.
func (b *Bounds) admitItems(n int) error {
	switch {
	case n == 0:
		return nil
	case !b.Writes.Has(ChangeItems):
		return notGranted("items", ChangeItems, b.Writes)
	case n > b.MaxItems:
		return &ChangeError{Part: "items", Index: -1, Row: -1, Err: ErrTooLarge,
			Msg: "adds " + strconv.Itoa(n) + " items, allowed " + strconv.Itoa(b.MaxItems)}
	}
	return nil
}

// refused turns an error of decoding into the one type of this package for change
// sets. What a Meter said stays as it is.
func refused(err error) error {
	var change *ChangeError
	var format formatError
	var reply replyError
	switch {
	case errors.As(err, &change):
		return change
	case errors.As(err, &format):
		return &ChangeError{Index: -1, Row: -1, Msg: format.msg, Err: err}
	case errors.As(err, &reply):
		return &ChangeError{Index: -1, Row: -1, Msg: string(reply), Err: err}
	}
	var large unfolds
	if errors.As(err, &large) {
		return &ChangeError{Index: -1, Row: -1, Msg: string(large), Err: err}
	}
	return err
}
