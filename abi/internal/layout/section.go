package layout

import "strconv"

// Section is the id of a section. Ids below 256 are per-row columns and equal to a Column of
// package abi; the others are fields of a request or parts of a change set.
type Section uint16

// The columns.
const (
	SectionID Section = 1 + iota
	SectionScore
	SectionText
	SectionMetadata
	SectionSource
	SectionPriority
	SectionTokenCount
	SectionCreatedAt
	SectionEmbedding
)

// The fields of a request.
const (
	SectionQueryText     Section = 256 + iota
	SectionQueryMetadata         // an object
	SectionChatHistory           // a list of Turn
	SectionQueryEmbedding
	SectionSettings
	SectionTopK
	SectionTokensLeft
)

// The parts of a change set other than the columns of its new items. In each pair the rows
// come first, and the values have as many elements as the rows.
const (
	SectionKeep Section = 512 + iota
	SectionTextRows
	SectionTextValues
	SectionMetadataRows
	SectionMetadataValues
	SectionPriorityRows
	SectionPriorityValues
	SectionScoreRows
	SectionScoreValues
	SectionOrder
)

// SectionType says how the bytes of a section are read.
type SectionType uint16

// The types.
const (
	TypeText     SectionType = iota + 1 // UTF-8
	TypeJSON                            // UTF-8, one JSON value
	TypeU32                             // u32 each
	TypeI64                             // i64 each
	TypeF32                             // f32 each
	TypeF64                             // f64 each
	TypeStrings                         // u32 offsets[n+1], then the bytes
	TypeMetadata                        // a dictionary of keys and typed values
	TypeVectors                         // u32 dimension, u32 0, then f32 of each row
)

// SectionInfo is a row of the table [Sections].
type SectionInfo struct {
	ID   Section
	Name string
	Type SectionType
	// Batch and Changes say whether the section may be in a batch and in a change set.
	Batch, Changes bool
}

// Sections is every section of layout 1.0. In a change set the columns are
// those of the new items: id is the key.
var Sections = [...]SectionInfo{
	{SectionID, "id", TypeStrings, true, true},
	{SectionScore, "score", TypeF64, true, true},
	{SectionText, "text", TypeStrings, true, true},
	{SectionMetadata, "metadata", TypeMetadata, true, true},
	{SectionSource, "source", TypeStrings, true, true},
	{SectionPriority, "priority", TypeU32, true, true},
	{SectionTokenCount, "token_count", TypeU32, true, false},
	{SectionCreatedAt, "created_at", TypeI64, true, true},
	{SectionEmbedding, "embedding", TypeVectors, true, false},
	{SectionQueryText, "query_text", TypeText, true, false},
	{SectionQueryMetadata, "query_metadata", TypeJSON, true, false},
	{SectionChatHistory, "chat_history", TypeJSON, true, false},
	{SectionQueryEmbedding, "query_embedding", TypeF32, true, false},
	{SectionSettings, "settings", TypeJSON, true, false},
	{SectionTopK, "top_k", TypeU32, true, false},
	{SectionTokensLeft, "tokens_left", TypeU32, true, false},
	{SectionKeep, "keep", TypeU32, false, true},
	{SectionTextRows, "text_rows", TypeU32, false, true},
	{SectionTextValues, "text_values", TypeStrings, false, true},
	{SectionMetadataRows, "metadata_rows", TypeU32, false, true},
	{SectionMetadataValues, "metadata_values", TypeMetadata, false, true},
	{SectionPriorityRows, "priority_rows", TypeU32, false, true},
	{SectionPriorityValues, "priority_values", TypeU32, false, true},
	{SectionScoreRows, "score_rows", TypeU32, false, true},
	{SectionScoreValues, "score_values", TypeF64, false, true},
	{SectionOrder, "order", TypeU32, false, true},
}

func (s Section) info() *SectionInfo {
	for i := range Sections {
		if Sections[i].ID == s {
			return &Sections[i]
		}
	}
	return nil
}

// Type returns the type of the section, 0 when the id is unknown.
func (s Section) Type() SectionType {
	if info := s.info(); info != nil {
		return info.Type
	}
	return 0
}

// String returns the name of the section.
func (s Section) String() string {
	if info := s.info(); info != nil {
		return info.Name
	}
	return strconv.Itoa(int(s))
}

// String returns the name of the type.
func (t SectionType) String() string {
	switch t {
	case TypeText:
		return "text"
	case TypeJSON:
		return "json"
	case TypeU32:
		return "u32[]"
	case TypeI64:
		return "i64[]"
	case TypeF32:
		return "f32[]"
	case TypeF64:
		return "f64[]"
	case TypeStrings:
		return "strings"
	case TypeMetadata:
		return "metadata"
	case TypeVectors:
		return "vectors"
	}
	return strconv.Itoa(int(t))
}
