package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/anchor-host/anchor-host/pipeline/internal/decode"
)

var (
	queryKeys = []string{"query_str", "embedding", "metadata", "chat_history"}
	turnKeys  = []string{"role", "content", "token_count", "created_at", "sequence", "metadata"}
)

// UnmarshalJSON decodes a query strictly, from an object or from a string, which
// is its text alone. Unknown and repeated keys and values out of bounds are
// errors; query_str is required. On an error the query is unchanged.
func (q *Query) UnmarshalJSON(data []byte) error {
	var doc Query
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '"' {
		if err := decode.String(data, &doc.Text); err != nil {
			return fmt.Errorf("query: %w", err)
		}
		*q = doc
		return nil
	}
	hasText := false
	err := decode.Object(data, func(key string, raw json.RawMessage) error {
		if decode.IsNull(raw) && key != "query_str" {
			return decode.CheckKey(key, queryKeys, false)
		}
		switch key {
		case "query_str":
			hasText = true
			return decode.String(raw, &doc.Text)
		case "embedding":
			return json.Unmarshal(raw, &doc.Embedding)
		case "metadata":
			return decode.Metadata(raw, &doc.Metadata)
		case "chat_history":
			return json.Unmarshal(raw, &doc.ChatHistory)
		}
		return decode.UnknownKey(queryKeys...)
	})
	switch {
	case err != nil:
		return fmt.Errorf("query: %w", err)
	case !hasText:
		return fmt.Errorf("query: query_str: missing: %w", ErrInvalid)
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
	hasContent := false
	err := decode.Object(data, func(key string, raw json.RawMessage) error {
		if decode.IsNull(raw) && key != "role" && key != "content" {
			return decode.CheckKey(key, turnKeys, false)
		}
		switch key {
		case "role":
			return decode.String(raw, (*string)(&doc.Role))
		case "content":
			hasContent = true
			return decode.String(raw, &doc.Content)
		case "token_count":
			return decode.Int(raw, &doc.TokenCount)
		case "created_at":
			return decode.Time(raw, &doc.CreatedAt)
		case "sequence":
			return decode.Int64(raw, &doc.Sequence)
		case "metadata":
			return decode.Metadata(raw, &doc.Metadata)
		}
		return decode.UnknownKey(turnKeys...)
	})
	switch {
	case err != nil:
		return fmt.Errorf("turn: %w", err)
	case !hasContent:
		return fmt.Errorf("turn: content: missing: %w", ErrInvalid)
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

// Validate checks the role and the token count.
func (t *Turn) Validate() error {
	switch {
	case !t.Role.Valid():
		return fmt.Errorf("turn: role %.100q: %w (want user, assistant, system or tool)", t.Role, ErrInvalid)
	case t.TokenCount < 0:
		return fmt.Errorf("turn: token_count %d: %w (want 0 or more)", t.TokenCount, ErrInvalid)
	}
	return nil
}
