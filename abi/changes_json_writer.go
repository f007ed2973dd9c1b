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
	w := jsonChanges{Writer: jsontext.Writer{Dst: append(dst, '{')}}
	if c.Keep != nil {
		w.Rows("keep", c.Keep)
	}
	w.edits(c.Edits)
	w.scores(c.Scores)
	w.items(c.Items)
	if c.Order != nil {
		w.Rows("order", c.Order)
	}
	w.Dst = append(w.Dst, '}')
	return w.Dst, w.err
}

// jsonChanges writes a change set document; err is the first error.
type jsonChanges struct {
	jsontext.Writer
	err error
}

func (w *jsonChanges) fail(part string, i int, row int64, msg string) {
	if w.err == nil {
		w.err = &ChangeError{Part: part, Index: i, Row: row, Msg: msg}
	}
}

func (w *jsonChanges) text(name, s, part string, i int, row int64) {
	if !utf8.ValidString(s) {
		w.fail(part, i, row, name+" is not valid UTF-8 (repair it)")
	}
	w.Name(name)
	w.Dst = jsontext.AppendString(w.Dst, s)
}

func (w *jsonChanges) number(name string, n int, part string, i int, row int64) {
	if err := jsontext.CheckNumber(n); err != nil {
		w.fail(part, i, row, name+" "+err.Error())
	}
	w.Name(name)
	w.Dst = strconv.AppendInt(w.Dst, int64(n), 10)
}

func (w *jsonChanges) score(f float64, part string, i int, row int64) {
	w.Name("score")
	if f-f != 0 {
		w.fail(part, i, row, "score "+string(jsontext.ErrFinite))
		f = 0
	}
	w.Dst = jsontext.AppendFloat(w.Dst, f)
}

func (w *jsonChanges) metadata(m Metadata, part string, i int, row int64) {
	if m == nil {
		return
	}
	w.Name("metadata")
	var err error
	if w.Dst, err = jsontext.AppendObject(w.Dst, m, 0); err != nil {
		w.fail(part, i, row, err.Error())
	}
}

func (w *jsonChanges) edits(edits []Edit) {
	w.List("edits", len(edits), func(i int) {
		e, row := &edits[i], int64(edits[i].Row)
		w.Name("row")
		w.Dst = strconv.AppendInt(w.Dst, row, 10)
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
	w.List("scores", len(scores), func(i int) {
		row := int64(scores[i].Row)
		w.Name("row")
		w.Dst = strconv.AppendInt(w.Dst, row, 10)
		w.score(scores[i].Score, "scores", i, row)
	})
}

func (w *jsonChanges) items(items []NewItem) {
	w.List("items", len(items), func(i int) {
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
		if w.Dst, err = appendCreatedAt(w.Dst, it.CreatedAt); err != nil {
			w.fail("items", i, -1, "created_at "+err.Error())
		}
	})
}
