package conformance

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// shape describes a request of any operation.
type shape struct {
	// n is the number of rows, turns, messages or texts. For retrieve it is the number of
	// items asked for.
	n int
	// query replaces the ordinary query.
	query *string
	// text makes the text of row i; nil means ordinary texts.
	text func(r *rand.Rand, i int) string
	// bare leaves out every value that a row may lack. Vectors stay: without any, a guest that
	// compares them may refuse.
	bare bool
	// metadata replaces the metadata of every row.
	metadata abi.Metadata
	// alike gives all rows the same id and text.
	alike bool
	// tokens is how many more tokens fit into the window. 0 means 4000.
	tokens int
	// later adds members and sections that a later version might have.
	later bool
	// variant distinguishes ordinary requests.
	variant int
}

const defaultTokens = 4000

var epoch = time.Date(2021, 11, 5, 9, 30, 0, 0, time.UTC)

// request is a request of one operation, before it is encoded.
type request struct {
	op abi.Operation
	// doc is the document of an operation that has no rows; it is nil for those
	// that take an ItemsRequest, which have rows, columns and env.
	doc  any
	rows abi.ItemRows
	cols abi.ColumnSet
	// items says that the operation receives rows, possibly none.
	items bool
	env   abi.Envelope
	later bool
}

// build makes the request of the given shape. The same seed and shape make the
// same request.
func build(op *Operation, s shape, seed uint64, settings json.RawMessage) *request {
	r := rand.New(rand.NewPCG(seed, uint64(s.n)<<8|uint64(s.variant)))
	q := s.makeQuery(r)
	req := &request{op: op.Operation, later: s.later}
	info, _ := abi.LookupOperation(op.Operation)
	switch info.Request {
	case "QueryRequest":
		req.doc = abi.QueryRequest{Query: *q, Settings: settings}
	case "CompactRequest":
		req.doc = abi.CompactRequest{Turns: s.turns(r), Summary: "They talked about a fox.", Settings: settings}
	case "DistillRequest":
		req.doc = s.distill(r, settings)
	case "ExtractRequest":
		req.doc = s.extract(r, settings)
	case "ProvideRequest":
		req.doc = s.provide(r, settings)
	case "FormatRequest":
		req.doc = abi.FormatRequest{Items: narrowed(s.items(r), op.Reads), MaxTokens: 8192, UsedTokens: 100, Settings: settings}
	case "CountRequest":
		texts := make([]string, s.n)
		for i := range texts {
			texts[i] = s.rowText(r, i)
		}
		req.doc = abi.CountRequest{Texts: texts, Settings: settings}
	case "Event":
		req.doc = s.event(r, settings)
	default:
		s.itemsRequest(req, op, r, q, settings)
	}
	if req.doc != nil {
		req.doc, _ = op.Parts.Request(op.Operation, req.doc) // these documents always encode
	}
	return req
}

// itemsRequest fills in a request of retrieve, process, filter, rerank, enrich_query or
// memory.
func (s shape) itemsRequest(req *request, op *Operation, r *rand.Rand, q *abi.Query, settings json.RawMessage) {
	info, _ := abi.LookupOperation(op.Operation)
	req.env = abi.Envelope{Query: op.Parts.Query(q), TokensLeft: s.room(), Settings: settings}
	if op.Operation != abi.OpRetrieve && op.Operation != abi.OpMemory {
		req.rows, req.cols, req.items = s.items(r), op.Reads, true
	}
	if info.TopK {
		req.env.TopK = max(s.n, 1)
	}
}

func (s shape) room() int {
	if s.tokens == 0 {
		return defaultTokens
	}
	return s.tokens
}

func (s shape) rowText(r *rand.Rand, i int) string {
	if s.text == nil {
		return ordinary(r, i)
	}
	return s.text(r, i)
}

func (s shape) makeQuery(r *rand.Rand) *abi.Query {
	q := &abi.Query{Text: "which fox jumps over the " + words[(s.variant*7)%len(words)] + "?"}
	if s.query != nil {
		q.Text = *s.query
	}
	q.Embedding = vector(r)
	if s.bare {
		return q
	}
	q.Metadata = abi.Metadata{"user": "u1", "limit": int64(3)}
	q.ChatHistory = []abi.Turn{{Role: "user", Content: "hello", TokenCount: 1, CreatedAt: epoch, Sequence: 1},
		{Role: "assistant", Content: s.rowText(r, 0), TokenCount: 4, CreatedAt: epoch.Add(time.Minute), Sequence: 2}}
	return q
}

func (s shape) items(r *rand.Rand) []abi.Item {
	sources := []string{"retrieval", "retrieval", "tool", "retrieval", "user"}
	items := make([]abi.Item, s.n)
	for i := range items {
		it := &items[i]
		it.Content, it.Source, it.Priority = s.rowText(r, i), sources[i%len(sources)], 5
		if i%4 != 3 {
			it.Embedding = vector(r)
		}
		if s.bare {
			continue
		}
		it.ID, it.Score, it.TokenCount = fmt.Sprintf("doc-%d", i), float64(r.IntN(1001))/1000, len(it.Content)/4+1
		it.CreatedAt = epoch.Add(-time.Duration(i) * 7 * time.Hour)
		it.Metadata = abi.Metadata{"title": words[i%len(words)], "page": int64(i), "draft": i%3 == 0, "ratio": 0.25}
		if s.metadata != nil {
			it.Metadata = s.metadata
		}
		if s.alike {
			it.ID, it.Content = "same", "the same text"
		}
	}
	return items
}

// vector makes the vector of a row or of a query.
func vector(r *rand.Rand) []float32 {
	v := make([]float32, 8)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// narrowed removes from items the columns that are not read.
func narrowed(items []abi.Item, reads abi.ColumnSet) []abi.Item {
	for i, it := range items {
		var out abi.Item
		for _, c := range abi.Columns {
			if !reads.Has(c) {
				continue
			}
			switch c {
			case abi.ColumnID:
				out.ID = it.ID
			case abi.ColumnScore:
				out.Score = it.Score
			case abi.ColumnText:
				out.Content = it.Content
			case abi.ColumnMetadata:
				out.Metadata = it.Metadata
			case abi.ColumnSource:
				out.Source = it.Source
			case abi.ColumnPriority:
				out.Priority = it.Priority
			case abi.ColumnTokenCount:
				out.TokenCount = it.TokenCount
			case abi.ColumnCreatedAt:
				out.CreatedAt = it.CreatedAt
			case abi.ColumnEmbedding:
				out.Embedding = it.Embedding
			}
		}
		items[i] = out
	}
	return items
}

func (s shape) turns(r *rand.Rand) []abi.Turn {
	roles := []string{"user", "assistant", "tool"}
	turns := make([]abi.Turn, s.n)
	for i := range turns {
		turns[i] = abi.Turn{Role: roles[i%len(roles)], Content: s.rowText(r, i)}
		if !s.bare {
			turns[i].TokenCount, turns[i].Sequence, turns[i].CreatedAt = 5, int64(i+1), epoch.Add(time.Duration(i)*time.Minute)
			turns[i].Metadata = s.metadata
		}
	}
	return turns
}

// extract makes a request to extract facts from n turns. Every second request asks to tidy up n
// facts instead.
func (s shape) extract(r *rand.Rand, settings json.RawMessage) abi.ExtractRequest {
	req := abi.ExtractRequest{Turns: s.turns(r), Settings: settings}
	known := min(s.n, 2)
	if s.variant%2 == 1 {
		req.Turns, known = []abi.Turn{}, s.n
	}
	for i := range known {
		f := abi.Fact{ID: fmt.Sprintf("fact-%d", i), Content: s.rowText(r, i)}
		if !s.bare {
			f.Type, f.Tags, f.Relevance, f.CreatedAt, f.UpdatedAt = "semantic", []string{"fox"}, 0.5, epoch, epoch
			f.Metadata = s.metadata
		}
		req.Facts = append(req.Facts, f)
	}
	return req
}

func (s shape) messages(r *rand.Rand) []abi.Message {
	roles := []string{"user", "assistant", "user", "tool"}
	msgs := make([]abi.Message, s.n)
	for i := range msgs {
		msgs[i] = abi.Message{Role: roles[i%len(roles)], Content: s.rowText(r, i)}
		if msgs[i].Role == "tool" {
			msgs[i].ToolCallID = fmt.Sprintf("call-%d", i)
		}
		msgs[i].Parts = partsOf(&msgs[i])
	}
	return msgs
}

// partsOf are the parts of a message, which only a guest that reads them receives.
func partsOf(m *abi.Message) []abi.MessagePart {
	at := [2]int{0, 1}
	text := []abi.MessagePart{{Index: &at[0], Type: "text", Text: m.Content}}
	switch m.Role {
	case "tool":
		return []abi.MessagePart{{Index: &at[0], Type: "tool_result", ID: m.ToolCallID, Parts: text}}
	case "assistant":
		text[0].Index = &at[1]
		return append([]abi.MessagePart{{Index: &at[0], Type: "thinking"}}, text...)
	}
	return text
}

// distill makes a request to observe n messages. Every second request asks for a reflection that
// replaces n observations instead.
func (s shape) distill(r *rand.Rand, settings json.RawMessage) abi.DistillRequest {
	req := abi.DistillRequest{Mode: abi.DistillObserve, Messages: s.messages(r), MaxTokens: s.room(), Settings: settings}
	if s.variant%2 == 1 {
		req.Mode, req.Messages = abi.DistillReflect, []abi.Message{}
		for i := range s.n {
			req.Observations = append(req.Observations, s.rowText(r, i))
		}
	}
	if !s.bare {
		req.Observations, req.Reflection = append(req.Observations, "they met a fox"), "look closer"
	}
	return req
}

func (s shape) provide(r *rand.Rand, settings json.RawMessage) abi.ProvideRequest {
	msgs := s.messages(r)
	req := abi.ProvideRequest{Messages: msgs, Settings: settings,
		Budget: abi.ProviderBudget{MaxTokens: s.room(), MaxMessages: 50, Phase: "llm"}}
	if s.variant%2 == 1 {
		req.Budget.Phase = "synthesize"
	}
	if !s.bare {
		req.State = abi.AgentState{RunID: "run-1", Messages: msgs, Observations: []string{s.rowText(r, 0)},
			Reflection: "look closer", Data: abi.Metadata{"n": int64(1)}}
		if s.metadata != nil {
			req.State.Data = s.metadata
		}
	}
	return req
}

// eventTypes are the events that observe receives.
var eventTypes = []string{"pipeline_start", "step_start", "step_end", "step_error", "pipeline_end"}

func (s shape) event(r *rand.Rand, settings json.RawMessage) abi.Event {
	e := abi.Event{Type: eventTypes[s.variant%len(eventTypes)], Items: s.n, Settings: settings}
	if s.bare {
		return e
	}
	text := s.rowText(r, 0)
	switch e.Type {
	case "pipeline_start":
		e.Query = text
	case "step_error":
		e.Step, e.Error = "fresh", text
	case "pipeline_end":
		e.TimeMS = 1.5
	default:
		e.Step, e.TimeMS = text, 1.5
	}
	return e
}
