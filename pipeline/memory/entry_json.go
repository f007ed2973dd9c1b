package memory

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/internal/decode"
)

// wireEntry is the JSON form, its keys in a fixed order.
type wireEntry struct {
	ID           string         `json:"id"`
	Content      string         `json:"content"`
	Relevance    float64        `json:"relevance_score"`
	AccessCount  int            `json:"access_count"`
	LastAccessed time.Time      `json:"last_accessed,omitzero"`
	CreatedAt    time.Time      `json:"created_at,omitzero"`
	Tags         []string       `json:"tags"`
	Metadata     map[string]any `json:"metadata"`
	Type         Type           `json:"memory_type"`
	UserID       *string        `json:"user_id"`
	SessionID    *string        `json:"session_id"`
	ExpiresAt    *time.Time     `json:"expires_at"`
	UpdatedAt    time.Time      `json:"updated_at,omitzero"`
	ContentHash  string         `json:"content_hash"`
	SourceTurns  []string       `json:"source_turns"`
	Links        []string       `json:"links"`
}

// MarshalJSON writes every key: absent lists as [], absent metadata as
// {}, an absent user, session or expiry as null.
func (e Entry) MarshalJSON() ([]byte, error) {
	w := wireEntry{
		ID: e.ID, Content: e.Content, Relevance: e.Relevance, AccessCount: e.AccessCount,
		LastAccessed: e.LastAccessed, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
		Tags: orEmpty(e.Tags), Metadata: e.Metadata, Type: e.Type, ContentHash: e.ContentHash,
		SourceTurns: orEmpty(e.SourceTurns), Links: orEmpty(e.Links),
		UserID: orNull(e.UserID), SessionID: orNull(e.SessionID),
	}
	if w.Metadata == nil {
		w.Metadata = map[string]any{}
	}
	if !e.ExpiresAt.IsZero() {
		w.ExpiresAt = &e.ExpiresAt
	}
	return json.Marshal(w)
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// UnmarshalJSON decodes an entry strictly: unknown and repeated keys, numbers in strings
// and values out of bounds are errors. Content is required; the relevance defaults to
// [DefaultRelevance], the type to [Semantic], and the content hash to that of the content.
// Any other member that is absent or null is zero. On an error the entry is unchanged.
func (e *Entry) UnmarshalJSON(data []byte) error {
	doc := Entry{Relevance: DefaultRelevance, Type: Semantic}
	err := decode.Object(data,
		decode.Optional("id", &doc.ID), decode.Required("content", &doc.Content), decode.Optional("relevance_score", &doc.Relevance),
		decode.Optional("access_count", &doc.AccessCount), decode.Optional("last_accessed", &doc.LastAccessed),
		decode.Optional("created_at", &doc.CreatedAt), decode.Optional("tags", &doc.Tags), decode.Optional("metadata", &doc.Metadata),
		decode.Optional("memory_type", (*string)(&doc.Type)), decode.Optional("user_id", &doc.UserID), decode.Optional("session_id", &doc.SessionID),
		decode.Optional("expires_at", &doc.ExpiresAt), decode.Optional("updated_at", &doc.UpdatedAt), decode.Optional("content_hash", &doc.ContentHash),
		decode.Optional("source_turns", &doc.SourceTurns), decode.Optional("links", &doc.Links))
	if err != nil {
		return fmt.Errorf("fact: %w", err)
	}
	if err := doc.Validate(); err != nil {
		return err
	}
	if doc.ContentHash == "" {
		doc.ContentHash = ContentHash(doc.Content)
	}
	*e = doc
	return nil
}
