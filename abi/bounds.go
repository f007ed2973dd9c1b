package abi

import (
	"errors"
	"strconv"

	"github.com/anchor-host/anchor-host/abi/internal/layout"
	"github.com/anchor-host/anchor-host/abi/internal/strictjson"
)

// Meter decides whether decoding may take more memory, and whether it may go on.
type Meter interface {
	// Take is called with n before the decoder allocates n bytes, about 64 KiB. It is called with
	// 0 after the decoder has read as many bytes without allocating, so that it can be stopped
	// there as well. The decoder stops at the first error and returns it.
	Take(bytes int64) error
}

// Bounds limit an answer. They are checked by counting, before memory is allocated for
// the answer. An answer is also refused if decoding it would take more than 4 times its
// bytes, plus 1 MiB, plus 512 bytes for each of Rows. For an answer below 17 KiB, 60 times
// its bytes replace the MiB.
type Bounds struct {
	// Rows is the number of rows, messages or texts of the request.
	Rows int
	// Writes are the granted changes.
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

// meter returns the meter of an answer of n bytes to a request with the given number of rows.
func (b *Bounds) meter(n, rows int) strictjson.Meter {
	if rows >= MaxRows { // the caller does not know the number of rows
		rows = 0
	}
	return strictjson.NewMeter(n, rows, b.Meter)
}

// admit refuses n changes of a part if they are not granted, or if there are far more of them
// than rows. A few more are read, so that a later error can name the wrong one.
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
	var format layout.Error
	var reply strictjson.Error
	switch {
	case errors.As(err, &change):
		return change
	case errors.As(err, &format):
		return &ChangeError{Index: -1, Row: -1, Msg: format.Msg, Err: err}
	case errors.As(err, &reply):
		return &ChangeError{Index: -1, Row: -1, Msg: string(reply), Err: err}
	}
	var large strictjson.TooLarge
	if errors.As(err, &large) {
		return &ChangeError{Index: -1, Row: -1, Msg: string(large), Err: err}
	}
	return err
}
