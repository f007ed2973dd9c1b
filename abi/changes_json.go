package abi

import "strconv"

// DecodeChangesJSON reads a change set of the JSON lane, strictly: members are known,
// each there once and of their type. It yields what DecodeChanges yields for the same
// changes. The error is a *[ChangeError].
func DecodeChangesJSON(b []byte) (*Changes, error) {
	c := new(Changes)
	if err := c.DecodeJSONWithin(b, WidestBounds()); err != nil {
		return nil, err
	}
	return c, nil
}

// DecodeJSONWithin is [DecodeChangesJSON] into c, whatever was in it, within narrower
// bounds. The error is a *[ChangeError], which may wrap [ErrNotGranted], or the Meter's;
// then there are no changes in c.
func (c *Changes) DecodeJSONWithin(b []byte, within Bounds) error {
	return c.readJSON(b, within, '{', errNoObject, func(r *jsonReader) { r.changes(c, &within) })
}

// DecodeItemsWithin is DecodeJSONWithin of a list of new items alone.
func (c *Changes) DecodeItemsWithin(b []byte, within Bounds) error {
	return c.readJSON(b, within, '[', errNoList, func(r *jsonReader) { c.Items = r.items(&within) })
}

const errNoList replyError = "is not a JSON array of items"

func (c *Changes) readJSON(b []byte, within Bounds, first byte, otherwise error, read func(*jsonReader)) error {
	*c = Changes{}
	err := readJSON(b, first, otherwise, within.meter(len(b), within.Rows), read)
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
