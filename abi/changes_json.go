package abi

import (
	"strconv"

	"github.com/anchor-host/anchor-host/abi/internal/strictjson"
)

// DecodeChangesJSON reads a change set of the JSON lane. It refuses members that are
// unknown, repeated or of another type. The result is that of DecodeChanges for the same
// changes. The error is a *[ChangeError].
func DecodeChangesJSON(b []byte) (*Changes, error) {
	c := new(Changes)
	if err := c.DecodeJSONWithin(b, WidestBounds()); err != nil {
		return nil, err
	}
	return c, nil
}

// DecodeJSONWithin does what [DecodeChangesJSON] does, within narrower bounds. The result
// replaces what was in c. The error is a *[ChangeError], which may wrap [ErrNotGranted],
// or that of the Meter. After an error c is empty.
func (c *Changes) DecodeJSONWithin(b []byte, within Bounds) error {
	return c.readJSON(b, within, '{', errNoObject, func(r *strictjson.Reader) { answerReader{r}.changes(c, &within) })
}

// DecodeItemsWithin does what DecodeJSONWithin does with a document that is only a list of
// new items.
func (c *Changes) DecodeItemsWithin(b []byte, within Bounds) error {
	return c.readJSON(b, within, '[', errNoList, func(r *strictjson.Reader) { c.Items = answerReader{r}.items(&within) })
}

const errNoList strictjson.Error = "is not a JSON array of items"

func (c *Changes) readJSON(b []byte, within Bounds, first byte, otherwise error, read func(*strictjson.Reader)) error {
	*c = Changes{}
	err := strictjson.Read(b, first, otherwise, within.meter(len(b), within.Rows), read)
	if err != nil {
		*c = Changes{}
		return refused(err)
	}
	return nil
}

// Error returns the message on one line: where in the change set, then what is
// wrong and what is allowed.
func (e *ChangeError) Error() string {
	s := "changes"
	if e.Part != "" {
		s += ": " + e.Part
		if e.Index >= 0 {
			s += "[" + strconv.Itoa(e.Index) + "]"
		}
		if e.Row >= 0 {
			s += ": row " + strconv.FormatInt(e.Row, 10)
		}
		s += ":"
	}
	return s + " " + e.Msg
}
