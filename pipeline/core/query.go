package core

import "time"

// Turn is one utterance of a conversation.
type Turn struct {
	Role Role `json:"role"`
	// Content is the text. That of a turn with Whole is [Message.Text] of it.
	Content    string         `json:"content"`
	TokenCount int            `json:"token_count,omitempty"`
	CreatedAt  time.Time      `json:"created_at,omitzero"`
	Sequence   int64          `json:"sequence,omitempty"`
	Metadata   map[string]any `json:"metadata,omitempty"`
	// Whole is the message from which the turn was made, with its images, calls, results and
	// reasoning. It is nil for a turn of text; see [TurnOf]. It must not be changed.
	Whole *Message `json:"message,omitempty"`
}

// ValidRole reports whether the turn has one of the roles of turns: user, assistant, system
// or tool.
func (t *Turn) ValidRole() bool { return t.Role.Valid() && t.Role != RoleDeveloper }

// Query is the question that a build collects context for.
type Query struct {
	// Text is the question. A query enricher may replace it.
	Text string `json:"query_str"`
	// Embedding is an optional dense vector of Text.
	Embedding   []float32      `json:"embedding,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
	ChatHistory []Turn         `json:"chat_history,omitempty"`
}
