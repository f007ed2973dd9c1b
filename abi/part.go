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

// The parts of a [CompactRequest]. All but the summary are members of its turns.
const (
	PartRole       Part = "role"
	PartContent    Part = "content"
	PartTokenCount Part = "token_count"
	PartCreatedAt  Part = "created_at"
	PartSequence   Part = "sequence"
	PartMetadata   Part = "metadata"
	PartSummary    Part = "summary"
)

// The parts of a [ProvideRequest]. Messages are read whole or not at all, because a guest
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

// PartNone in a list of names stands for no part. It makes a list that names no other part
// say so, because such a list would otherwise stand for the whole query or request.
const PartNone Part = "none"

// Parts are all parts, each once, without [PartNone].
var Parts = []Part{
	PartQueryText, PartQueryEmbedding, PartQueryMetadata, PartChatHistory,
	PartRole, PartContent, PartTokenCount, PartCreatedAt, PartSequence, PartMetadata, PartSummary,
	PartMessages, PartStateMessages, PartRunID, PartObservations, PartReflection, PartData,
	PartError,
}

// The parts of the requests that have some. They are literals so that no guest has to run
// code for them when it starts.
var (
	queryParts   = []Part{PartQueryText, PartQueryEmbedding, PartQueryMetadata, PartChatHistory}
	compactParts = []Part{PartRole, PartContent, PartTokenCount, PartCreatedAt, PartSequence, PartMetadata, PartSummary}
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

// Names returns the names by which [ReadsOf] makes the set: those of the parts in the order of
// [Parts], [PartNone] if there are none, and an empty list for the whole request.
func (s PartSet) Names() []string {
	names := []string{}
	for _, p := range Parts {
		if s.named && s.Has(p) {
			names = append(names, string(p))
		}
	}
	if s.named && len(names) == 0 {
		names = append(names, string(PartNone))
	}
	return names
}

// String returns the names, separated by commas, and "" for the whole request.
func (s PartSet) String() string { return strings.Join(s.Names(), ",") }

// ReadsOf returns what the operation receives by a list of names in a manifest: columns of
// items, and parts of the rest of the request. A list that names no part, and so an empty one,
// stands for all parts; [PartNone] stands for none of them. The error wraps [ErrUnknownName]
// and names the first name that the operation does not have.
func ReadsOf(op Operation, names []string) (ColumnSet, PartSet, error) {
	info, _ := LookupOperation(op)
	var cols ColumnSet
	var parts PartSet
	for _, n := range names {
		c, isColumn := ColumnByName(n)
		switch {
		case len(info.Parts) > 0 && Part(n) == PartNone:
			parts.named = true
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

// NarrowedReads returns what the operation may receive by the list of an operator, who
// narrows what a manifest asks for. It is [ReadsOf], but for an empty list: that allows
// nothing. nil allows everything.
func NarrowedReads(op Operation, names []string) (ColumnSet, PartSet, error) {
	info, _ := LookupOperation(op)
	switch {
	case names == nil:
		return AllColumns, PartSet{}, nil
	case len(names) == 0 && len(info.Parts) > 0:
		return 0, PartsOf(), nil
	}
	return ReadsOf(op, names)
}

// Answerable reports whether a guest that reads the parts can answer the operation at all. The
// answer of compact takes the place of the summary, and so the guest must read that.
func (s PartSet) Answerable(op Operation) bool { return op != OpCompact || s.Has(PartSummary) }

// Unread returns the parts that a reply of provide would replace although the guest does not
// read them. What a guest does not know it must not replace: messages, observations, the
// reflection and data are replaced as a whole.
func (s PartSet) Unread(r *ProvideReply) []Part {
	named := map[Part]bool{PartMessages: r.Messages != nil}
	if st := r.State; st != nil {
		named[PartObservations], named[PartReflection], named[PartData] = st.Observations != nil, st.Reflection != nil, st.Data != nil
	}
	var unread []Part
	for _, p := range provideParts {
		if named[p] && !s.Has(p) {
			unread = append(unread, p)
		}
	}
	return unread
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
	if len(info.Parts) > 0 {
		names = append(names, string(PartNone))
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
	turns := make([]Turn, len(r.Turns))
	for i := range turns {
		from, to := &r.Turns[i], &turns[i]
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
	r.Turns = turns
	if !s.Has(PartSummary) {
		r.Summary = ""
	}
	return r
}

func (s PartSet) provide(r ProvideRequest) ProvideRequest {
	switch {
	case !s.Has(PartStateMessages), s.Has(PartMessages) && sameMessages(r.State.Messages, r.Messages):
		r.State.Messages = nil
	case len(r.State.Messages) == 0: // absent ones equal the messages
		r.State.Messages = []Message{}
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
