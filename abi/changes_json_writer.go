package abi

import (
	"strconv"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
)

// AppendChangesJSON appends c to dst as a JSON document, with the number rules
// of [Metadata]. It refuses what AppendChanges refuses, and text that is not UTF-8, since
// JSON cannot represent it.
func AppendChangesJSON(dst []byte, c *Changes) ([]byte, error) {
	w := jsonChanges{dst: append(dst, '{')}
	if c.Keep != nil {
		w.rows("keep", c.Keep)
	}
	w.edits(c.Edits)
	w.scores(c.Scores)
	w.items(c.Items)
	if c.Order != nil {
		w.rows("order", c.Order)
	}
	w.dst = append(w.dst, '}')
	return w.dst, w.err
}

// jsonChanges writes a change set document; err is the first error.
type jsonChanges struct {
	dst []byte
	err error
}

func (w *jsonChanges) fail(part string, i int, row int64, msg string) {
	if w.err == nil {
		w.err = &ChangeError{Part: part, Index: i, Row: row, Msg: msg}
	}
}

// open appends the name of a member, after a comma if it is not the first.
func (w *jsonChanges) open(name string) {
	if n := len(w.dst); n > 0 && w.dst[n-1] != '{' {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(append(append(w.dst, '"'), name...), `":`...)
}

func (w *jsonChanges) rows(name string, rows []uint32) {
	w.open(name)
	w.dst = append(w.dst, '[')
	for i, r := range rows {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.dst = strconv.AppendUint(w.dst, uint64(r), 10)
	}
	w.dst = append(w.dst, ']')
}

// list appends a list of objects, each written by f.
func (w *jsonChanges) list(name string, n int, f func(i int)) {
	if n == 0 {
		return
	}
	w.open(name)
	w.dst = append(w.dst, '[')
	for i := range n {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.dst = append(w.dst, '{')
		f(i)
		w.dst = append(w.dst, '}')
	}
	w.dst = append(w.dst, ']')
}

func (w *jsonChanges) text(name, s, part string, i int, row int64) {
	if !utf8.ValidString(s) {
		w.fail(part, i, row, name+" is not valid UTF-8 (repair it)")
	}
	w.open(name)
	w.dst = jsontext.AppendString(w.dst, s)
}

func (w *jsonChanges) number(name string, n int, part string, i int, row int64) {
	if err := checkNumber(n); err != nil {
		w.fail(part, i, row, name+" "+err.Error())
	}
	w.open(name)
	w.dst = strconv.AppendInt(w.dst, int64(n), 10)
}

func (w *jsonChanges) score(f float64, part string, i int, row int64) {
	w.open("score")
	if f-f != 0 {
		w.fail(part, i, row, "score "+string(jsontext.ErrFinite))
		f = 0
	}
	w.dst = jsontext.AppendFloat(w.dst, f)
}

func (w *jsonChanges) metadata(m Metadata, part string, i int, row int64) {
	if m == nil {
		return
	}
	w.open("metadata")
	var err error
	if w.dst, err = jsontext.AppendObject(w.dst, m, 0); err != nil {
		w.fail(part, i, row, err.Error())
	}
}

func (w *jsonChanges) edits(edits []Edit) {
	w.list("edits", len(edits), func(i int) {
		e, row := &edits[i], int64(edits[i].Row)
		w.open("row")
		w.dst = strconv.AppendInt(w.dst, row, 10)
		if e.Content != nil {
			w.text("content", *e.Content, "edits", i, row)
		}
		w.metadata(e.Metadata, "edits", i, row)
		if e.Priority != nil {
			w.number("priority", *e.Priority, "edits", i, row)
		}
	})
}

func (w *jsonChanges) scores(scores []RowScore) {
	w.list("scores", len(scores), func(i int) {
		row := int64(scores[i].Row)
		w.open("row")
		w.dst = strconv.AppendInt(w.dst, row, 10)
		w.score(scores[i].Score, "scores", i, row)
	})
}

func (w *jsonChanges) items(items []NewItem) {
	w.list("items", len(items), func(i int) {
		it := &items[i]
		if it.Key != "" {
			w.text("key", it.Key, "items", i, -1)
		}
		w.text("content", it.Content, "items", i, -1)
		if it.Source != "" {
			w.text("source", it.Source, "items", i, -1)
		}
		w.score(it.Score, "items", i, -1)
		if it.Priority != 0 {
			w.number("priority", it.Priority, "items", i, -1)
		}
		w.metadata(it.Metadata, "items", i, -1)
		var err error
		if w.dst, err = appendCreatedAt(w.dst, it.CreatedAt); err != nil {
			w.fail("items", i, -1, "created_at "+err.Error())
		}
	})
}
