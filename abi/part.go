package abi

import (
	"slices"
	"strings"
)

// Part is a part of a request other than the columns of its items. Manifests name it in reads.
// The meaning of a part depends on the operation: for compact, metadata is the metadata of the
// turns.
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

// The parts of a [ProvideRequest]. A [DistillRequest] also has four of them. Messages are read
// completely or not at all, because a guest that returns them must return all of them.
// PartStateMessages are the messages of the state, as they were before the providers that ran
// earlier.
const (
	PartMessages      Part = "messages"
	PartStateMessages Part = "state_messages"
	PartRunID         Part = "run_id"
	PartObservations  Part = "observations"
	PartReflection    Part = "reflection"
	PartData          Part = "data"
	// PartMessageParts adds Parts to the messages that the guest reads. Only a list that names it
	// has it: no other list stands for it, because guests are older than it.
	PartMessageParts Part = "message_parts"
)

// PartError is the text of the error of an [Event], which also has [PartQueryText].
const PartError Part = "error"

// PartNone in a list of names stands for no part. A list that names no part at all would stand
// for the whole query or request, so a guest that wants no part names PartNone.
const PartNone Part = "none"

// Parts are all parts, each once, without [PartNone].
var Parts = []Part{
	PartQueryText, PartQueryEmbedding, PartQueryMetadata, PartChatHistory,
	PartRole, PartContent, PartTokenCount, PartCreatedAt, PartSequence, PartMetadata, PartSummary,
	PartMessages, PartStateMessages, PartRunID, PartObservations, PartReflection, PartData,
	PartError, PartFacts, PartMessageParts,
}

// The sets of parts of the requests. They are literals, so that guests run no code for them at
// start.
var (
	queryParts   = []Part{PartQueryText, PartQueryEmbedding, PartQueryMetadata, PartChatHistory}
	compactParts = []Part{PartRole, PartContent, PartTokenCount, PartCreatedAt, PartSequence, PartMetadata, PartSummary}
	extractParts = []Part{PartRole, PartContent, PartTokenCount, PartCreatedAt, PartSequence, PartMetadata, PartFacts}
	distillParts = []Part{PartMessages, PartObservations, PartReflection, PartMessageParts}
	provideParts = []Part{PartMessages, PartStateMessages, PartRunID, PartObservations, PartReflection, PartData, PartMessageParts}
	eventParts   = []Part{PartQueryText, PartError}
	windowParts  = []Part{PartQueryText}
)

// PartSet says which parts of a request a guest receives. The zero value is the whole
// request: the set of a manifest that does not name parts. It lacks [PartMessageParts].
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
func (s PartSet) Has(p Part) bool {
	if !s.named {
		return p != PartMessageParts
	}
	return s.bits&p.bit() != 0
}

// And returns the parts of s that are also in t. s is what the guest reads, and t is what an
// operator allows, so a whole t allows [PartMessageParts] if s has it.
func (s PartSet) And(t PartSet) PartSet {
	switch {
	case s.Whole() && t.named:
		return PartSet{true, t.bits &^ PartMessageParts.bit()}
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

// Query returns q with only the parts that are in the set. It returns q itself if q has no other
// parts.
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
