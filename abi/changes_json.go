package abi

import (
	"errors"
	"strconv"
)

// jsonEdit, jsonScore and jsonDocument are Changes with members that tell
// absent from zero: a row that is not named must not become row 0.
type (
	jsonEdit struct {
		Row      *uint32  `json:"row"`
		Content  *string  `json:"content"`
		Metadata Metadata `json:"metadata"`
		Priority *int     `json:"priority"`
	}
	jsonScore struct {
		Row   *uint32  `json:"row"`
		Score *float64 `json:"score"`
	}
	jsonDocument struct {
		Keep   []*uint32   `json:"keep"`
		Edits  []jsonEdit  `json:"edits"`
		Scores []jsonScore `json:"scores"`
		Items  []NewItem   `json:"items"`
		Order  []*uint32   `json:"order"`
	}
)

// DecodeChangesJSON reads a change set of the JSON lane, strictly: unknown
// members are errors. It yields what DecodeChanges yields for the same changes.
// The error is a *[ChangeError].
func DecodeChangesJSON(b []byte) (*Changes, error) {
	var doc jsonDocument
	if err := DecodeReply(b, &doc); err != nil {
		msg := err.Error()
		var e replyError
		if errors.As(err, &e) {
			msg = string(e)
		}
		return nil, &ChangeError{Index: -1, Row: -1, Msg: msg, Err: err}
	}
	c := new(Changes)
	var err error
	if c.Keep, err = presentRows("keep", doc.Keep); err != nil {
		return nil, err
	}
	if c.Order, err = presentRows("order", doc.Order); err != nil {
		return nil, err
	}
	if c.Edits, err = presentEdits(doc.Edits); err != nil {
		return nil, err
	}
	if c.Scores, err = presentScores(doc.Scores); err != nil {
		return nil, err
	}
	if len(doc.Items) > 0 {
		c.Items = doc.Items
	}
	for i := range c.Items {
		it := &c.Items[i]
		it.CreatedAt = it.CreatedAt.UTC()
		if len(it.Metadata) == 0 {
			it.Metadata = nil
		}
	}
	return c, nil
}

func presentRows(part string, rows []*uint32) ([]uint32, error) {
	if rows == nil {
		return nil, nil
	}
	out := make([]uint32, len(rows))
	for i, r := range rows {
		if r == nil {
			return nil, &ChangeError{Part: part, Index: i, Row: -1, Msg: "row is null (want a row number)", Err: ErrMalformed}
		}
		out[i] = *r
	}
	return out, nil
}

func presentEdits(edits []jsonEdit) ([]Edit, error) {
	var out []Edit
	for i, e := range edits {
		if e.Row == nil {
			return nil, &ChangeError{Part: "edits", Index: i, Row: -1, Msg: "row is missing (want a row number)", Err: ErrMalformed}
		}
		if e.Content != nil || e.Metadata != nil || e.Priority != nil {
			out = append(out, Edit{*e.Row, e.Content, e.Metadata, e.Priority})
		}
	}
	return mergeEdits(out), nil
}

func presentScores(scores []jsonScore) ([]RowScore, error) {
	var out []RowScore
	for i, s := range scores {
		if s.Row == nil {
			return nil, &ChangeError{Part: "scores", Index: i, Row: -1, Msg: "row is missing (want a row number)", Err: ErrMalformed}
		}
		if s.Score == nil {
			return nil, &ChangeError{Part: "scores", Index: i, Row: int64(*s.Row), Msg: "score is missing (want 0 to 1)", Err: ErrMalformed}
		}
		out = append(out, RowScore{*s.Row, *s.Score})
	}
	return out, nil
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
