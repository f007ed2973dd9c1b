package abi

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Part is a part of a request besides the columns of its items, under the name by which a
// manifest asks to read it in reads. What a part means depends on the operation: metadata
// of compact is that of the turns.
type Part string

// The parts of a query. They have the names of the sections of a batch.
const (
	PartQueryText      Part = "query_text"
	PartQueryEmbedding Part = "query_embedding"
	PartQueryMetadata  Part = "query_metadata"
	PartChatHistory    Part = "chat_history"
)

// The parts of a [CompactRequest]. All but the summary are members of its turns. An
// [ExtractRequest] has [PartFacts] instead of the summary.
const (
	PartRole       Part = "role"
	PartContent    Part = "content"
	PartTokenCount Part = "token_count"
	PartCreatedAt  Part = "created_at"
	PartSequence   Part = "sequence"
	PartMetadata   Part = "metadata"
	PartSummary    Part = "summary"
	PartFacts      Part = "facts"
)

// The parts of a [ProvideRequest], three of which a [DistillRequest] has too. Messages are read whole or not at all, because a guest
// that hands them back must hand back all of them. PartStateMessages are the messages of
// the state, before the providers that ran earlier.
const (
	PartMessages      Part = "messages"
	PartStateMessages Part = "state_messages"
	PartRunID         Part = "run_id"
	PartObservations  Part = "observations"
	PartReflection    Part = "reflection"
	PartData          Part = "data"
)

// PartError is the text of the error of an [Event], which also has [PartQueryText].
const PartError Part = "error"

// Parts are all parts, each once.
var Parts = []Part{
	PartQueryText, PartQueryEmbedding, PartQueryMetadata, PartChatHistory,
	PartRole, PartContent, PartTokenCount, PartCreatedAt, PartSequence, PartMetadata, PartSummary,
	PartMessages, PartStateMessages, PartRunID, PartObservations, PartReflection, PartData,
	PartError, PartFacts,
}

// The parts of the requests that have some. They are literals so that no guest has to run
// code for them when it starts.
var (
	queryParts   = []Part{PartQueryText, PartQueryEmbedding, PartQueryMetadata, PartChatHistory}
	compactParts = []Part{PartRole, PartContent, PartTokenCount, PartCreatedAt, PartSequence, PartMetadata, PartSummary}
	extractParts = []Part{PartRole, PartContent, PartTokenCount, PartCreatedAt, PartSequence, PartMetadata, PartFacts}
	distillParts = []Part{PartMessages, PartObservations, PartReflection}
	provideParts = []Part{PartMessages, PartStateMessages, PartRunID, PartObservations, PartReflection, PartData}
	eventParts   = []Part{PartQueryText, PartError}
)

// PartSet says which parts of a request a guest receives. The zero value is the whole
// request: the set of a manifest that does not name parts.
type PartSet struct {
	named bool
	bits  uint32 // bit i for Parts[i]
}

// PartsOf returns the set that has the given parts and no others.
func PartsOf(parts ...Part) PartSet {
	s := PartSet{named: true}
	for _, p := range parts {
		s.bits |= p.bit()
	}
	return s
}

func (p Part) bit() uint32 {
	if i := slices.Index(Parts, p); i >= 0 {
		return 1 << i
	}
	return 0
}

// Whole reports whether the set is the whole request.
func (s PartSet) Whole() bool { return !s.named }

// Has reports whether p is in the set.
func (s PartSet) Has(p Part) bool { return !s.named || s.bits&p.bit() != 0 }

// And returns the parts that are in both sets.
func (s PartSet) And(t PartSet) PartSet {
	switch {
	case s.Whole():
		return t
	case t.Whole():
		return s
	}
	return PartSet{true, s.bits & t.bits}
}

// Names returns the names of the parts in the order of [Parts], none for the whole request.
func (s PartSet) Names() []string {
	names := []string{}
	for _, p := range Parts {
		if s.named && s.Has(p) {
			names = append(names, string(p))
		}
	}
	return names
}

// String returns the names, separated by commas, and "" for the whole request.
func (s PartSet) String() string { return strings.Join(s.Names(), ",") }

// asksQuery reports whether the request of the operation has a query.
func (info OperationInfo) asksQuery() bool {
	return info.Request == "ItemsRequest" || info.Request == "QueryRequest"
}

// ReadsOf returns what the operation receives by a list of names: columns of items, and
// parts of the rest of the request. A request with a query is whole unless the list names a
// part of it. Any other request is whole only if the list is nil. The error wraps
// [ErrUnknownName] and names the first name that the operation does not have.
func ReadsOf(op Operation, names []string) (ColumnSet, PartSet, error) {
	info, _ := LookupOperation(op)
	var cols ColumnSet
	parts := PartSet{named: names != nil && len(info.Parts) > 0 && !info.asksQuery()}
	for _, n := range names {
		c, isColumn := ColumnByName(n)
		switch {
		case slices.Contains(info.Parts, Part(n)):
			parts = PartSet{true, parts.bits | Part(n).bit()}
		case isColumn && len(info.Reads) > 0:
			cols = cols.With(c)
		default:
			return 0, PartSet{}, unknownName{"column", n, info.readable()}
		}
	}
	return cols, parts, nil
}

// readable are the names that reads of the operation may have.
func (info OperationInfo) readable() []string {
	var names []string
	for _, c := range info.Reads {
		names = append(names, c.String())
	}
	for _, p := range info.Parts {
		names = append(names, string(p))
	}
	return names
}

// Query returns q with the parts that are in the set: q itself if it has no others.
func (s PartSet) Query(q *Query) *Query {
	if q == nil || s.Whole() {
		return q
	}
	var out Query
	if s.Has(PartQueryText) {
		out.Text = q.Text
	}
	if s.Has(PartQueryEmbedding) {
		out.Embedding = q.Embedding
	}
	if s.Has(PartQueryMetadata) {
		out.Metadata = q.Metadata
	}
	if s.Has(PartChatHistory) {
		out.ChatHistory = q.ChatHistory
	}
	return &out
}

// Request returns the request document of op with the parts that are in the set. Members
// that a document always has stay, and are empty. request may be the document or a pointer
// to it, and is not changed. A value of any other type is taken for the document's JSON.
func (s PartSet) Request(op Operation, request any) (any, error) {
	if s.Whole() {
		return request, nil
	}
	switch r := request.(type) {
	case QueryRequest:
		r.Query = *s.Query(&r.Query)
		return r, nil
	case ItemsRequest:
		r.Query = *s.Query(&r.Query)
		return r, nil
	case CompactRequest:
		return s.compact(r), nil
	case DistillRequest:
		return s.distill(r), nil
	case ExtractRequest:
		r.Turns = s.turns(r.Turns)
		if !s.Has(PartFacts) {
			r.Facts = nil
		}
		return r, nil
	case ProvideRequest:
		return s.provide(r), nil
	case Event:
		if !s.Has(PartQueryText) {
			r.Query = ""
		}
		if !s.Has(PartError) {
			r.Error = ""
		}
		return r, nil
	case *QueryRequest:
		return s.Request(op, *r)
	case *ItemsRequest:
		return s.Request(op, *r)
	case *CompactRequest:
		return s.Request(op, *r)
	case *ExtractRequest:
		return s.Request(op, *r)
	case *DistillRequest:
		return s.Request(op, *r)
	case *ProvideRequest:
		return s.Request(op, *r)
	case *Event:
		return s.Request(op, *r)
	}
	return s.decoded(op, request)
}

// decoded is Request for a value whose JSON is the document.
func (s PartSet) decoded(op Operation, request any) (any, error) {
	doc, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	info, _ := LookupOperation(op)
	switch info.Request {
	case "QueryRequest":
		return decodePart[QueryRequest](s, op, doc)
	case "ItemsRequest":
		return decodePart[ItemsRequest](s, op, doc)
	case "CompactRequest":
		return decodePart[CompactRequest](s, op, doc)
	case "ExtractRequest":
		return decodePart[ExtractRequest](s, op, doc)
	case "DistillRequest":
		return decodePart[DistillRequest](s, op, doc)
	case "ProvideRequest":
		return decodePart[ProvideRequest](s, op, doc)
	case "Event":
		return decodePart[Event](s, op, doc)
	}
	return request, nil
}

func decodePart[R any](s PartSet, op Operation, doc []byte) (any, error) {
	var r R
	if err := json.Unmarshal(doc, &r); err != nil {
		return nil, err
	}
	return s.Request(op, r)
}

func (s PartSet) compact(r CompactRequest) CompactRequest {
	r.Turns = s.turns(r.Turns)
	if !s.Has(PartSummary) {
		r.Summary = ""
	}
	return r
}

// turns returns what a guest receives of turns.
func (s PartSet) turns(of []Turn) []Turn {
	turns := make([]Turn, len(of))
	for i := range turns {
		from, to := &of[i], &turns[i]
		if s.Has(PartRole) {
			to.Role = from.Role
		}
		if s.Has(PartContent) {
			to.Content = from.Content
		}
		if s.Has(PartTokenCount) {
			to.TokenCount = from.TokenCount
		}
		if s.Has(PartCreatedAt) {
			to.CreatedAt = from.CreatedAt
		}
		if s.Has(PartSequence) {
			to.Sequence = from.Sequence
		}
		if s.Has(PartMetadata) {
			to.Metadata = from.Metadata
		}
	}
	return turns
}

func (s PartSet) distill(r DistillRequest) DistillRequest {
	if !s.Has(PartMessages) {
		r.Messages = []Message{}
	}
	if !s.Has(PartObservations) {
		r.Observations = nil
	}
	if !s.Has(PartReflection) {
		r.Reflection = ""
	}
	return r
}

func (s PartSet) provide(r ProvideRequest) ProvideRequest {
	if !s.Has(PartStateMessages) || s.Has(PartMessages) && sameMessages(r.State.Messages, r.Messages) {
		r.State.Messages = nil
	}
	if !s.Has(PartMessages) {
		r.Messages = []Message{}
	}
	if !s.Has(PartRunID) {
		r.State.RunID = ""
	}
	if !s.Has(PartObservations) {
		r.State.Observations = nil
	}
	if !s.Has(PartReflection) {
		r.State.Reflection = ""
	}
	if !s.Has(PartData) {
		r.State.Data = nil
	}
	return r
}

func sameMessages(a, b []Message) bool {
	return slices.EqualFunc(a, b, func(x, y Message) bool {
		return x.Role == y.Role && x.Content == y.Content && x.Name == y.Name && x.ToolCallID == y.ToolCallID &&
			bytes.Equal(x.ToolCalls, y.ToolCalls)
	})
}
