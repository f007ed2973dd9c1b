package abi

import (
	"fmt"

	"github.com/anchor-host/anchor-host/abi/internal/inplace"
	"github.com/anchor-host/anchor-host/abi/internal/strictjson"
)

// The members of the documents that guests answer with. The functions that read them refer
// to a member by its index here.
var (
	changesMembers  = []string{"keep", "edits", "scores", "items", "order"}
	editMembers     = []string{"row", "content", "metadata", "priority"}
	scoreMembers    = []string{"row", "score"}
	itemMembers     = []string{"key", "content", "source", "score", "priority", "metadata", "created_at"}
	queryMembers    = []string{"query_str", "embedding", "metadata", "chat_history"}
	turnMembers     = []string{"role", "content", "token_count", "created_at", "sequence", "metadata"}
	messageMembers  = []string{"role", "content", "name", "tool_calls", "tool_call_id", "parts"}
	partMembers     = []string{"index", "type", "text", "id", "name", "arguments", "media", "parts", "is_error"}
	mediaMembers    = []string{"type", "url", "file_id", "title", "detail", "bytes"}
	stateMembers    = []string{"run_id", "messages", "observations", "reflection", "data"}
	extractMembers  = []string{"add", "update", "remove"}
	newFactMembers  = []string{"content", "memory_type", "tags", "relevance_score", "metadata"}
	factEditMembers = []string{"id", "content", "tags"}
	distillMembers  = []string{"replace", "add", "reflection"}
	provideMembers  = []string{"messages", "state"}
	formatMembers   = []string{"format_type", "output"}
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
		one("queries", func() { d.Queries = r.queries() })
	case *ClassifyReply:
		one("label", func() { d.Label = r.Text() })
	case *EnrichReply:
		one("query_str", func() { d.QueryText = r.Text() })
	case *MemoryReply:
		one("items", func() { d.Items = r.items(within) })
	case *CompactReply:
		one("summary", func() { d.Summary = r.Text() })
	case *DistillReply:
		r.Object(distillMembers, func(i int) {
			switch i {
			case 0:
				d.Replace = r.observations()
			case 1:
				d.Add = r.observations()
			case 2:
				text := r.Text()
				d.Reflection = &text
			}
		})
	case *ExtractReply:
		r.Object(extractMembers, func(i int) {
			switch i {
			case 0:
				d.Add = facts(r, r.newFact)
			case 1:
				d.Update = facts(r, r.factEdit)
			case 2:
				d.Remove = facts(r, func(id *string) { *id = r.Text() })
			}
		})
	case *ProvideReply:
		r.Object(provideMembers, func(i int) {
			switch i {
			case 0:
				d.Messages = strictjson.List(r.Reader, r.message)
			case 1:
				d.State = new(StateChange)
				r.state(d.State)
			}
		})
	case *EstimateReply:
		one("tokens", func() { d.Tokens = r.Integer() })
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
	default:
		r.Fail(fmt.Errorf("decode into a %T: %w (want one of the answers)", doc, ErrUnsupported))
	}
}

func (r answerReader) queries() []Query {
	if n := r.Ahead(); n > MaxQueries {
		r.Fail(strictjson.Error(fmt.Sprintf("has %d queries (want 1 to %d)", n, MaxQueries)))
	}
	return strictjson.List(r.Reader, r.query)
}

func (r answerReader) observations() []string {
	if n := r.Ahead(); n > MaxObservations {
		r.Fail(strictjson.Error(fmt.Sprintf("has %d observations (want %d or fewer)", n, MaxObservations)))
	}
	return strictjson.List(r.Reader, func(o *string) { *o = r.Text() })
}

// facts reads a list of an answer to extract.
func facts[T any](r answerReader, read func(*T)) []T {
	if n := r.Ahead(); n > MaxFacts {
		r.Fail(strictjson.Error(fmt.Sprintf("has %d facts in one list (want %d or fewer)", n, MaxFacts)))
	}
	return strictjson.List(r.Reader, read)
}

func (r answerReader) newFact(f *NewFact) {
	r.Object(newFactMembers, func(i int) {
		switch i {
		case 0:
			f.Content = r.Text()
		case 1:
			f.Type = r.Text()
		case 2:
			f.Tags = strictjson.List(r.Reader, func(tag *string) { *tag = r.Text() })
		case 3:
			f.Relevance = r.Float()
		case 4:
			f.Metadata = r.Metadata()
		}
	})
}

func (r answerReader) factEdit(f *FactEdit) {
	r.Object(factEditMembers, func(i int) {
		switch i {
		case 0:
			f.ID = r.Text()
		case 1:
			f.Content = r.Text()
		case 2:
			f.Tags = strictjson.List(r.Reader, func(tag *string) { *tag = r.Text() })
		}
	})
}

func (r answerReader) query(q *Query) {
	r.Object(queryMembers, func(i int) {
		switch i {
		case 0:
			q.Text = r.Text()
		case 1:
			q.Embedding = strictjson.List(r.Reader, func(f *float32) { *f = float32(r.Float()) })
		case 2:
			q.Metadata = r.Metadata()
		case 3:
			q.ChatHistory = strictjson.List(r.Reader, r.turn)
		}
	})
}

func (r answerReader) turn(t *Turn) {
	r.Object(turnMembers, func(i int) {
		switch i {
		case 0:
			t.Role = r.Text()
		case 1:
			t.Content = r.Text()
		case 2:
			t.TokenCount = r.Integer()
		case 3:
			t.CreatedAt = r.Time()
		case 4:
			t.Sequence = int64(r.Integer())
		case 5:
			t.Metadata = r.Metadata()
		}
	})
}

func (r answerReader) message(m *Message) {
	r.Object(messageMembers, func(i int) {
		switch i {
		case 0:
			m.Role = r.Text()
		case 1:
			m.Content = r.Text()
		case 2:
			m.Name = r.Text()
		case 3:
			m.ToolCalls = r.Raw()
		case 4:
			m.ToolCallID = r.Text()
		case 5:
			m.Parts = r.messageParts(1)
		}
	})
}

// messageParts reads a list of parts. depth is how many lists there are, this one included.
func (r answerReader) messageParts(depth int) []MessagePart {
	if depth > MaxPartDepth {
		r.Fail(strictjson.Error(fmt.Sprintf("has parts in more than %d levels", MaxPartDepth)))
	}
	return strictjson.List(r.Reader, func(p *MessagePart) { r.messagePart(p, depth) })
}

func (r answerReader) messagePart(p *MessagePart, depth int) {
	r.Object(partMembers, func(i int) {
		switch i {
		case 0:
			if n := r.Integer(); r.Charge(strictjson.NumberSize) {
				p.Index = &n
			}
		case 1:
			p.Type = r.Text()
		case 2:
			p.Text = r.Text()
		case 3:
			p.ID = r.Text()
		case 4:
			p.Name = r.Text()
		case 5:
			p.Arguments = r.Text()
		case 6:
			p.Media = r.media()
		case 7:
			p.Parts = r.messageParts(depth + 1)
		case 8:
			p.IsError = r.Bool()
		}
	})
}

func (r answerReader) media() *MessageMedia {
	if !r.Charge(inplace.SizeOf[MessageMedia]()) {
		return nil
	}
	m := new(MessageMedia)
	r.Object(mediaMembers, func(i int) {
		switch i {
		case 0:
			m.Type = r.Text()
		case 1:
			m.URL = r.Text()
		case 2:
			m.FileID = r.Text()
		case 3:
			m.Title = r.Text()
		case 4:
			m.Detail = r.Text()
		case 5:
			m.Bytes = r.Integer()
		}
	})
	return m
}

func (r answerReader) state(s *StateChange) {
	r.Object(stateMembers, func(i int) {
		switch i {
		case 0:
			s.RunID = r.Text()
		case 1:
			s.Messages = strictjson.List(r.Reader, r.message)
		case 2:
			s.Observations = strictjson.List(r.Reader, func(o *string) { *o = r.Text() })
		case 3:
			text := r.Text()
			s.Reflection = &text
		case 4:
			s.Data = r.Metadata()
		}
	})
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
