package core

import (
	"bytes"
	"fmt"
	"math"

	"github.com/anchor-host/anchor-host/internal/decode"
)

// UnmarshalJSON decodes a query strictly, from an object or from a string, which
// is its text alone. Unknown and repeated keys and values out of bounds are
// errors; query_str is required. On an error the query is unchanged.
func (q *Query) UnmarshalJSON(data []byte) error {
	var doc Query
	var err error
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '"' {
		err = decode.Value("", data, &doc.Text)
	} else {
		err = decode.Object(data, decode.Required("query_str", &doc.Text), decode.Optional("embedding", &doc.Embedding),
			decode.Optional("metadata", &doc.Metadata), decode.Optional("chat_history", &doc.ChatHistory))
	}
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	if err := doc.Validate(); err != nil {
		return err
	}
	*q = doc
	return nil
}

// UnmarshalJSON decodes a turn strictly; role and content are required. On an
// error the turn is unchanged.
func (t *Turn) UnmarshalJSON(data []byte) error {
	var doc Turn
	err := decode.Object(data, decode.Required("role", (*string)(&doc.Role)), decode.Required("content", &doc.Content),
		decode.Optional("token_count", &doc.TokenCount), decode.Optional("created_at", &doc.CreatedAt),
		decode.Optional("sequence", &doc.Sequence), decode.Optional("metadata", &doc.Metadata), decode.Optional("message", &doc.Whole))
	if err != nil {
		return fmt.Errorf("turn: %w", err)
	}
	if err := doc.Validate(); err != nil {
		return err
	}
	*t = doc
	return nil
}

// Validate checks the embedding and the chat history. An empty text is valid.
func (q *Query) Validate() error {
	for i, x := range q.Embedding {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("query: embedding[%d]: %v: %w (want a finite number)", i, x, ErrInvalid)
		}
	}
	for i := range q.ChatHistory {
		if err := q.ChatHistory[i].Validate(); err != nil {
			return fmt.Errorf("query: chat_history[%d]: %w", i, err)
		}
	}
	return nil
}

// Validate checks the role, the token count, and that Whole says what Content says.
func (t *Turn) Validate() error {
	switch {
	case !t.ValidRole():
		return fmt.Errorf("turn: role %.100q: %w (want user, assistant, system or tool)", t.Role, ErrInvalid)
	case t.TokenCount < 0:
		return fmt.Errorf("turn: token_count %d: %w (want 0 or more)", t.TokenCount, ErrInvalid)
	case t.Whole != nil && !t.Whole.Role.Valid():
		return fmt.Errorf("turn: message: role %.100q: %w (want user, assistant, system, developer or tool)", t.Whole.Role, ErrInvalid)
	case t.Whole != nil && t.Whole.Text() != t.Content:
		return fmt.Errorf("turn: message: its text is not the content: %w (make the turn with TurnOf)", ErrInvalid)
	}
	return nil
}
