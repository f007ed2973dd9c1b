package abi

import (
	"fmt"

	"github.com/anchor-host/anchor-host/abi/internal/strictjson"
)

// The members of the documents that guests answer with. The functions that read them refer
// to a member by its index here. [strictjson.Reader.Document] reads those of other documents.
var (
	changesMembers = []string{"keep", "edits", "scores", "items", "order"}
	editMembers    = []string{"row", "content", "metadata", "priority"}
	scoreMembers   = []string{"row", "score"}
	itemMembers    = []string{"key", "content", "source", "score", "priority", "metadata", "created_at"}
	distillMembers = []string{"replace", "add", "reflection"}
	extractMembers = []string{"add", "update", "remove"}
	formatMembers  = []string{"format_type", "output"}
)

// answerReader reads the documents that guests answer with.
type answerReader struct{ *strictjson.Reader }

// MaxQueries is the largest number of queries in an answer to transform_query.
const MaxQueries = 32

// reply reads the document that doc points to.
func (r answerReader) reply(doc any, within *Bounds) {
	one := func(name string, read func()) { r.Object([]string{name}, func(int) { read() }) }
	switch d := doc.(type) {
	case *TransformReply:
		one("queries", func() { d.Queries = most[Query](r, MaxQueries, "queries (want 1 to %d)") })
	case *MemoryReply:
		one("items", func() { d.Items = r.items(within) })
	case *DistillReply:
		const observations = "observations (want %d or fewer)"
		r.Object(distillMembers, func(i int) {
			switch i {
			case 0:
				d.Replace = most[string](r, MaxObservations, observations)
			case 1:
				d.Add = most[string](r, MaxObservations, observations)
			case 2:
				r.Document(&d.Reflection)
			}
		})
	case *ExtractReply:
		const facts = "facts in one list (want %d or fewer)"
		r.Object(extractMembers, func(i int) {
			switch i {
			case 0:
				d.Add = most[NewFact](r, MaxFacts, facts)
			case 1:
				d.Update = most[FactEdit](r, MaxFacts, facts)
			case 2:
				d.Remove = most[string](r, MaxFacts, facts)
			}
		})
	case *FormatReply:
		r.Object(formatMembers, func(i int) {
			switch i {
			case 0:
				d.FormatType = r.Text()
			case 1:
				if d.Output = r.Raw(); string(d.Output) == "null" {
					r.Wrong("null", "a string or any other value")
				}
			}
		})
	case *CountReply:
		one("counts", func() { d.Counts = r.tokenCounts(within) })
	case *ClassifyReply, *EnrichReply, *CompactReply, *ProvideReply, *EstimateReply:
		r.Document(d)
	default:
		r.Fail(fmt.Errorf("decode into a %T: %w (want one of the answers)", doc, ErrUnsupported))
	}
}

// most reads a list of at most so many elements. want follows their number in the error about more.
func most[T any](r answerReader, most int, want string) (list []T) {
	if n := r.Ahead(); n > most {
		r.Fail(strictjson.Error(fmt.Sprintf("has %d "+want, n, most)))
	}
	r.Document(&list)
	return list
}

// tokenCounts reads one count for each text.
func (r answerReader) tokenCounts(within *Bounds) []int {
	if n := r.Ahead(); n > 2*within.Rows+64 {
		r.Fail(strictjson.Error(fmt.Sprintf("has %d counts for %d texts", n, within.Rows)))
	}
	return strictjson.List(r.Reader, func(n *int) { *n = r.Integer() })
}

// changes reads a change set.
func (r answerReader) changes(c *Changes, within *Bounds) {
	r.Object(changesMembers, func(i int) {
		switch i {
		case 0:
			c.Keep = r.rows("keep", ChangeKeep, within, within.Rows)
		case 1:
			c.Edits = r.edits(within)
		case 2:
			c.Scores = r.scores(within)
		case 3:
			c.Items = r.items(within)
		case 4:
			c.Order = r.rows("order", ChangeOrder, within, within.Rows+within.MaxItems)
		}
	})
}

// admit fails if Bounds.admit does.
func (r answerReader) admit(err error) {
	if err != nil {
		r.Fail(err)
	}
}

// rows reads keep or order.
func (r answerReader) rows(part string, change Change, within *Bounds, most int) []uint32 {
	if r.Is('[', "a list") {
		r.admit(within.admit(part, change, r.Ahead(), most))
	}
	i := 0
	return strictjson.List(r.Reader, func(row *uint32) {
		if r.Err == nil && r.Next() == 'n' {
			r.Fail(&ChangeError{Part: part, Index: i, Row: -1, Msg: "row is null (want a row number)", Err: ErrMalformed})
			return
		}
		*row = r.Row()
		i++
	})
}

// edits reads the edits. It drops those that change nothing, sorts the others by row, and
// joins the edits of a row.
func (r answerReader) edits(within *Bounds) []Edit {
	i := 0
	list := strictjson.List(r.Reader, func(e *Edit) {
		r.edit(e, i, within)
		i++
	})
	some := list[:0]
	for _, e := range list {
		if e.Content != nil || e.Metadata != nil || e.Priority != nil {
			some = append(some, e)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return mergeEdits(some)
}

func (r answerReader) edit(e *Edit, index int, within *Bounds) {
	named := false
	r.Object(editMembers, func(i int) {
		switch i {
		case 0:
			e.Row, named = r.Row(), true
		case 1:
			r.admit(within.admit("edits", ChangeText, 0, 0))
			if s := r.Text(); r.Charge(strictjson.ElementSize) {
				e.Content = &s
			}
		case 2:
			r.admit(within.admit("edits", ChangeMetadata, 0, 0))
			e.Metadata = r.Metadata()
		case 3:
			r.admit(within.admit("edits", ChangePriority, 0, 0))
			if n := r.Integer(); r.Charge(strictjson.NumberSize) {
				e.Priority = &n
			}
		}
	})
	if !named {
		r.Fail(&ChangeError{Part: "edits", Index: index, Row: -1, Msg: "row is missing (want a row number)", Err: ErrMalformed})
	}
}

func (r answerReader) scores(within *Bounds) []RowScore {
	if n := r.Ahead(); n > 0 {
		r.admit(within.admit("scores", ChangeScore, n, within.Rows))
	}
	i := 0
	list := strictjson.List(r.Reader, func(s *RowScore) {
		r.score(s, i)
		i++
	})
	if len(list) == 0 {
		return nil
	}
	return list
}

func (r answerReader) score(s *RowScore, index int) {
	var row, score bool
	r.Object(scoreMembers, func(i int) {
		switch i {
		case 0:
			s.Row, row = r.Row(), true
		case 1:
			s.Score, score = r.Float(), true
		}
	})
	switch {
	case !row:
		r.Fail(&ChangeError{Part: "scores", Index: index, Row: -1, Msg: "row is missing (want a row number)", Err: ErrMalformed})
	case !score:
		r.Fail(&ChangeError{Part: "scores", Index: index, Row: int64(s.Row), Msg: "score is missing (want 0 to 1)", Err: ErrMalformed})
	}
}

// items reads new items. The result is nil if there are none.
func (r answerReader) items(within *Bounds) []NewItem {
	r.admit(within.admitItems(r.Ahead()))
	list := strictjson.List(r.Reader, r.item)
	if len(list) == 0 {
		return nil
	}
	return list
}

func (r answerReader) item(it *NewItem) {
	r.Object(itemMembers, func(i int) {
		switch i {
		case 0:
			it.Key = r.Text()
		case 1:
			it.Content = r.Text()
		case 2:
			it.Source = r.Text()
		case 3:
			it.Score = r.Float()
		case 4:
			it.Priority = r.Integer()
		case 5:
			if it.Metadata = r.Metadata(); len(it.Metadata) == 0 {
				it.Metadata = nil
			}
		case 6:
			it.CreatedAt = r.Time()
		}
	})
}
