package abi

import (
	"bytes"
	"encoding/json"
	"slices"
)

// ReadsOf returns the columns of items and the other parts of the request that an operation
// receives, given the list of names in a manifest. A list that names no part, such as an empty
// one, stands for all parts. [PartNone] stands for no part. The error wraps [ErrUnknownName] and
// names the first name that the operation does not have.
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
			return 0, PartSet{}, unknownName{"column", n, info.Readable()}
		}
	}
	return cols, parts, nil
}

// NarrowedReads returns what the operation may receive, given the list of an operator, who
// narrows the reads of a manifest. It is [ReadsOf] with one difference: an empty list allows
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

// Missing returns the parts that an answer of the operation replaces and that are not in the
// set. A guest that does not read them must not answer. A summary replaces turns and the summary
// before, and notes replace messages, observations and the reflection.
func (s PartSet) Missing(op Operation) (missing []Part) {
	var needed []Part
	switch op {
	case OpCompact:
		needed = []Part{PartContent, PartSummary}
	case OpDistill:
		needed = []Part{PartMessages, PartObservations, PartReflection}
	}
	for _, p := range needed {
		if !s.Has(p) {
			missing = append(missing, p)
		}
	}
	return missing
}

// Unread returns the parts that a reply of provide would replace although the guest does not read
// them. Messages, observations, the reflection and data are replaced as a whole, so a guest must
// not replace a part that it has not read.
func (s PartSet) Unread(r *ProvideReply) []Part {
	named := map[Part]bool{
		PartMessages:     r.Messages != nil,
		PartMessageParts: slices.ContainsFunc(r.Messages, func(m Message) bool { return m.Parts != nil }),
	}
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

// Readable returns the names that reads of the operation may have: columns, parts and [PartNone].
func (info OperationInfo) Readable() []string {
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

// Request returns the request document of op with only the parts that are in the set. Members
// that a document always has remain but are empty. request may be the document or a pointer to
// it, and is not changed. A value of any other type is encoded as JSON and decoded as the
// document, unless the set is the whole request.
func (s PartSet) Request(op Operation, request any) (any, error) {
	if s.Whole() {
		return withoutParts(request), nil
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
	case FormatRequest:
		if !s.Has(PartQueryText) {
			r.Query = ""
		}
		return r, nil
	case *FormatRequest:
		return s.Request(op, *r)
	case *QueryRequest:
		return s.Request(op, *r)
	case *ItemsRequest:
		return s.Request(op, *r)
	case *CompactRequest:
		return s.Request(op, *r)
	case *DistillRequest:
		return s.Request(op, *r)
	case *ExtractRequest:
		return s.Request(op, *r)
	case *ProvideRequest:
		return s.Request(op, *r)
	case *Event:
		return s.Request(op, *r)
	}
	return s.decoded(op, request)
}

// withoutParts returns a request whose messages have no parts. It returns request itself if they
// have none.
func withoutParts(request any) any {
	switch r := request.(type) {
	case *ProvideRequest:
		bare := withoutParts(*r).(ProvideRequest)
		return &bare
	case *DistillRequest:
		bare := withoutParts(*r).(DistillRequest)
		return &bare
	case ProvideRequest:
		r.Messages, r.State.Messages = plainMessages(r.Messages), plainMessages(r.State.Messages)
		return r
	case DistillRequest:
		r.Messages = plainMessages(r.Messages)
		return r
	}
	return request
}

// plainMessages returns messages without parts.
func plainMessages(messages []Message) []Message {
	if !slices.ContainsFunc(messages, func(m Message) bool { return m.Parts != nil }) {
		return messages
	}
	out := slices.Clone(messages)
	for i := range out {
		out[i].Parts = nil
	}
	return out
}

// decoded is Request for a value whose JSON is the document.
func (s PartSet) decoded(op Operation, request any) (any, error) {
	doc, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	info, _ := LookupOperation(op)
	if len(info.Parts) == 0 {
		return request, nil
	}
	r := NewDocument(info.Request)
	if err := json.Unmarshal(doc, r); err != nil {
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

// turns returns turns with only the parts that a guest receives.
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
	if !s.Has(PartMessageParts) {
		r.Messages = plainMessages(r.Messages)
	}
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
	if !s.Has(PartMessageParts) {
		r.Messages, r.State.Messages = plainMessages(r.Messages), plainMessages(r.State.Messages)
	}
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
			bytes.Equal(x.ToolCalls, y.ToolCalls) && sameParts(x.Parts, y.Parts)
	})
}
