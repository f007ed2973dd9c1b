package abi

import (
	"errors"
	"strconv"
)

// These limit the memory that an answer of n bytes may take when it is decoded: 4 times
// its bytes, and a little more for small answers, which are mostly overhead.
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

// Meter decides whether decoding may take more memory, and whether it may go on.
type Meter interface {
	// Take is called with n before the decoder allocates n bytes, about 64 KiB. It is
	// called with 0 after as much has been read without allocating, so that decoding can
	// be stopped there too. An error ends the decoding, which returns it.
	Take(bytes int64) error
}

// Bounds limit an answer. They are checked by counting, before memory is allocated for
// the answer. An answer is also refused if decoding it would take more than 4 times its
// bytes, plus 1 MiB, plus 512 bytes for each of Rows. For an answer below 17 KiB, 60 times
// its bytes replace the MiB.
type Bounds struct {
	// Rows is the number of rows, messages or texts of the request.
	Rows int
	// Writes are the changes that are granted.
	Writes ChangeSet
	// MaxItems is the largest number of new items.
	MaxItems int
	// Meter is asked before memory is allocated; nil allows all of it.
	Meter Meter
}

// WidestBounds are the bounds of the contract itself: every change is granted, and there
// are as many rows as a batch can have.
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
	if rows >= MaxRows { // the caller has not said how many there are
		rows = 0
	}
	size := int64(n)
	most := unfoldFactor*size + min(unfoldFloor, smallFactor*size) + unfoldRow*int64(rows)
	return meter{size: size, most: most, left: most, free: takeSize, work: keyFactor*size + unfoldFloor, host: b.Meter}
}

// meter counts what one answer takes.
type meter struct {
	size, most int64
	// left is how many more bytes the answer may take. free of them may be taken without
	// asking the Meter. work is how many more bytes of keys may be handled.
	left, free, work int64
	host             Meter
}

// charge accounts for n bytes before they are allocated.
func (m *meter) charge(n int64) error {
	m.left -= n
	m.free -= n
	if m.left >= 0 && m.free >= 0 {
		return nil
	}
	return m.take()
}

// take asks the Meter for what charge has used up.
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

// lookAfter is how many elements are read before the Meter is asked whether to go on.
const lookAfter = 1 << 14

// look asks the Meter whether to go on, once for every lookAfter elements; i is the index
// of the current one.
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

// unfolds is the error about an answer that takes too much memory for its length.
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

// admit refuses n changes of a part if they are not granted or far more than there are
// rows. If there are only somewhat more, they are read, so that the error can name the
// wrong one.
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

// refused turns an error of decoding into a *[ChangeError]. An error of a Meter stays as
// it is.
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
