package core

import "time"

// Role is the speaker of a turn or message.
type Role string

// The four roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
	RoleTool      Role = "tool"
)

// RoleDeveloper is the name of some APIs for the role of system instructions. Only a
// [Message] has it.
const RoleDeveloper Role = "developer"

// Valid reports whether r is one of the four roles.
func (r Role) Valid() bool {
	return r == RoleUser || r == RoleAssistant || r == RoleSystem || r == RoleTool
}

// Turn is one utterance of a conversation.
type Turn struct {
	Role       Role           `json:"role"`
	Content    string         `json:"content"`
	TokenCount int            `json:"token_count,omitempty"`
	CreatedAt  time.Time      `json:"created_at,omitzero"`
	Sequence   int64          `json:"sequence,omitempty"`
	Metadata   map[string]any `json:"metadata,omitempty"`
}

// Query is the question that a build collects context for.
type Query struct {
	// Text is the question. A query enricher may replace it.
	Text string `json:"query_str"`
	// Embedding is an optional dense vector of Text.
	Embedding   []float32      `json:"embedding,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
	ChatHistory []Turn         `json:"chat_history,omitempty"`
}
