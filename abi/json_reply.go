package abi

import "fmt"

// The members of the documents that guests answer with. The functions that read them refer
// to a member by its index here.
var (
	changesMembers  = []string{"keep", "edits", "scores", "items", "order"}
	editMembers     = []string{"row", "content", "metadata", "priority"}
	scoreMembers    = []string{"row", "score"}
	itemMembers     = []string{"key", "content", "source", "score", "priority", "metadata", "created_at"}
	queryMembers    = []string{"query_str", "embedding", "metadata", "chat_history"}
	turnMembers     = []string{"role", "content", "token_count", "created_at", "sequence", "metadata"}
	messageMembers  = []string{"role", "content", "name", "tool_calls", "tool_call_id"}
	stateMembers    = []string{"run_id", "messages", "observations", "reflection", "data"}
	extractMembers  = []string{"add", "update", "remove"}
	newFactMembers  = []string{"content", "memory_type", "tags", "relevance_score", "metadata"}
	factEditMembers = []string{"id", "content", "tags"}
	distillMembers  = []string{"replace", "add", "reflection"}
	provideMembers  = []string{"messages", "state"}
	formatMembers   = []string{"format_type", "output"}
)

// MaxQueries is the largest number of queries in an answer to transform_query.
const MaxQueries = 32

// reply reads the document that doc points to.
func (r *jsonReader) reply(doc any, within *Bounds) {
	one := func(name string, read func()) { r.object([]string{name}, func(int) { read() }) }
	switch d := doc.(type) {
	case *TransformReply:
		one("queries", func() { d.Queries = r.queries() })
	case *ClassifyReply:
		one("label", func() { d.Label = r.text() })
	case *EnrichReply:
		one("query_str", func() { d.QueryText = r.text() })
	case *MemoryReply:
		one("items", func() { d.Items = r.items(within) })
	case *CompactReply:
		one("summary", func() { d.Summary = r.text() })
	case *DistillReply:
		r.object(distillMembers, func(i int) {
			switch i {
			case 0:
				d.Replace = r.observations()
			case 1:
				d.Add = r.observations()
			case 2:
				text := r.text()
				d.Reflection = &text
			}
		})
	case *ExtractReply:
		r.object(extractMembers, func(i int) {
			switch i {
			case 0:
				d.Add = facts(r, r.newFact)
			case 1:
				d.Update = facts(r, r.factEdit)
			case 2:
				d.Remove = facts(r, func(id *string) { *id = r.text() })
			}
		})
	case *ProvideReply:
		r.object(provideMembers, func(i int) {
			switch i {
			case 0:
				d.Messages = elements(r, r.message)
			case 1:
				d.State = new(StateChange)
				r.state(d.State)
			}
		})
	case *EstimateReply:
		one("tokens", func() { d.Tokens = r.integer() })
	case *FormatReply:
		r.object(formatMembers, func(i int) {
			switch i {
			case 0:
				d.FormatType = r.text()
			case 1:
				if d.Output = r.raw(); string(d.Output) == "null" {
					r.wrong("null", "a string or any other value")
				}
			}
		})
	case *CountReply:
		one("counts", func() { d.Counts = r.tokenCounts(within) })
	default:
		r.fail(fmt.Errorf("decode into a %T: %w (want one of the answers)", doc, ErrUnsupported))
	}
}

func (r *jsonReader) queries() []Query {
	if n := r.ahead(); n > MaxQueries {
		r.fail(replyError(fmt.Sprintf("has %d queries (want 1 to %d)", n, MaxQueries)))
	}
	return elements(r, r.query)
}

func (r *jsonReader) observations() []string {
	if n := r.ahead(); n > MaxObservations {
		r.fail(replyError(fmt.Sprintf("has %d observations (want %d or fewer)", n, MaxObservations)))
	}
	return elements(r, func(o *string) { *o = r.text() })
}

// facts reads a list of an answer to extract.
func facts[T any](r *jsonReader, read func(*T)) []T {
	if n := r.ahead(); n > MaxFacts {
		r.fail(replyError(fmt.Sprintf("has %d facts in one list (want %d or fewer)", n, MaxFacts)))
	}
	return elements(r, read)
}

func (r *jsonReader) newFact(f *NewFact) {
	r.object(newFactMembers, func(i int) {
		switch i {
		case 0:
			f.Content = r.text()
		case 1:
			f.Type = r.text()
		case 2:
			f.Tags = elements(r, func(tag *string) { *tag = r.text() })
		case 3:
			f.Relevance = r.float()
		case 4:
			f.Metadata = r.metadata()
		}
	})
}

func (r *jsonReader) factEdit(f *FactEdit) {
	r.object(factEditMembers, func(i int) {
		switch i {
		case 0:
			f.ID = r.text()
		case 1:
			f.Content = r.text()
		case 2:
			f.Tags = elements(r, func(tag *string) { *tag = r.text() })
		}
	})
}

func (r *jsonReader) query(q *Query) {
	r.object(queryMembers, func(i int) {
		switch i {
		case 0:
			q.Text = r.text()
		case 1:
			q.Embedding = elements(r, func(f *float32) { *f = float32(r.float()) })
		case 2:
			q.Metadata = r.metadata()
		case 3:
			q.ChatHistory = elements(r, r.turn)
		}
	})
}

func (r *jsonReader) turn(t *Turn) {
	r.object(turnMembers, func(i int) {
		switch i {
		case 0:
			t.Role = r.text()
		case 1:
			t.Content = r.text()
		case 2:
			t.TokenCount = r.integer()
		case 3:
			t.CreatedAt = r.time()
		case 4:
			t.Sequence = int64(r.integer())
		case 5:
			t.Metadata = r.metadata()
		}
	})
}

func (r *jsonReader) message(m *Message) {
	r.object(messageMembers, func(i int) {
		switch i {
		case 0:
			m.Role = r.text()
		case 1:
			m.Content = r.text()
		case 2:
			m.Name = r.text()
		case 3:
			m.ToolCalls = r.raw()
		case 4:
			m.ToolCallID = r.text()
		}
	})
}

func (r *jsonReader) state(s *StateChange) {
	r.object(stateMembers, func(i int) {
		switch i {
		case 0:
			s.RunID = r.text()
		case 1:
			s.Messages = elements(r, r.message)
		case 2:
			s.Observations = elements(r, func(o *string) { *o = r.text() })
		case 3:
			text := r.text()
			s.Reflection = &text
		case 4:
			s.Data = r.metadata()
		}
	})
}

// tokenCounts reads one count for each text.
func (r *jsonReader) tokenCounts(within *Bounds) []int {
	if n := r.ahead(); n > 2*within.Rows+64 {
		r.fail(replyError(fmt.Sprintf("has %d counts for %d texts", n, within.Rows)))
	}
	return elements(r, func(n *int) { *n = r.integer() })
}

// changes reads a change set.
func (r *jsonReader) changes(c *Changes, within *Bounds) {
	r.object(changesMembers, func(i int) {
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
func (r *jsonReader) admit(err error) {
	if err != nil {
		r.fail(err)
	}
}

// rows reads keep or order.
func (r *jsonReader) rows(part string, change Change, within *Bounds, most int) []uint32 {
	if r.is('[', "a list") {
		r.admit(within.admit(part, change, r.ahead(), most))
	}
	i := 0
	return elements(r, func(row *uint32) {
		if r.err == nil && r.next() == 'n' {
			r.fail(&ChangeError{Part: part, Index: i, Row: -1, Msg: "row is null (want a row number)", Err: ErrMalformed})
			return
		}
		*row = r.row()
		i++
	})
}

// edits reads the edits. It drops those that change nothing, sorts the others by row, and
// joins the edits of a row.
func (r *jsonReader) edits(within *Bounds) []Edit {
	i := 0
	list := elements(r, func(e *Edit) {
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

func (r *jsonReader) edit(e *Edit, index int, within *Bounds) {
	named := false
	r.object(editMembers, func(i int) {
		switch i {
		case 0:
			e.Row, named = r.row(), true
		case 1:
			r.admit(within.admit("edits", ChangeText, 0, 0))
			if s := r.text(); r.charge(elementSize) {
				e.Content = &s
			}
		case 2:
			r.admit(within.admit("edits", ChangeMetadata, 0, 0))
			e.Metadata = r.metadata()
		case 3:
			r.admit(within.admit("edits", ChangePriority, 0, 0))
			if n := r.integer(); r.charge(numberSize) {
				e.Priority = &n
			}
		}
	})
	if !named {
		r.fail(&ChangeError{Part: "edits", Index: index, Row: -1, Msg: "row is missing (want a row number)", Err: ErrMalformed})
	}
}

func (r *jsonReader) scores(within *Bounds) []RowScore {
	if n := r.ahead(); n > 0 {
		r.admit(within.admit("scores", ChangeScore, n, within.Rows))
	}
	i := 0
	list := elements(r, func(s *RowScore) {
		r.score(s, i)
		i++
	})
	if len(list) == 0 {
		return nil
	}
	return list
}

func (r *jsonReader) score(s *RowScore, index int) {
	var row, score bool
	r.object(scoreMembers, func(i int) {
		switch i {
		case 0:
			s.Row, row = r.row(), true
		case 1:
			s.Score, score = r.float(), true
		}
	})
	switch {
	case !row:
		r.fail(&ChangeError{Part: "scores", Index: index, Row: -1, Msg: "row is missing (want a row number)", Err: ErrMalformed})
	case !score:
		r.fail(&ChangeError{Part: "scores", Index: index, Row: int64(s.Row), Msg: "score is missing (want 0 to 1)", Err: ErrMalformed})
	}
}

// items reads new items. The result is nil if there are none.
func (r *jsonReader) items(within *Bounds) []NewItem {
	r.admit(within.admitItems(r.ahead()))
	list := elements(r, r.item)
	if len(list) == 0 {
		return nil
	}
	return list
}

func (r *jsonReader) item(it *NewItem) {
	r.object(itemMembers, func(i int) {
		switch i {
		case 0:
			it.Key = r.text()
		case 1:
			it.Content = r.text()
		case 2:
			it.Source = r.text()
		case 3:
			it.Score = r.float()
		case 4:
			it.Priority = r.integer()
		case 5:
			if it.Metadata = r.metadata(); len(it.Metadata) == 0 {
				it.Metadata = nil
			}
		case 6:
			it.CreatedAt = r.time()
		}
	})
}
