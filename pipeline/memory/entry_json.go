package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/pipeline"
)

// wireEntry is the JSON form, its keys in the order of the seed.
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

// MarshalJSON writes every key of the seed: absent lists as [], absent metadata as
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

const entryKeys = "id, content, relevance_score, access_count, last_accessed, created_at, tags, metadata, memory_type, user_id, session_id, expires_at, updated_at, content_hash, source_turns, links"

// UnmarshalJSON decodes an entry strictly: unknown and repeated keys, numbers in
// strings and values out of bounds are errors. Content is required; the relevance
// defaults to [DefaultRelevance], the type to [Semantic], the content hash to that of
// the content, and what else is absent or null to zero. On an error the entry is
// unchanged.
func (e *Entry) UnmarshalJSON(data []byte) error {
	doc := Entry{Relevance: DefaultRelevance, Type: Semantic}
	hasContent := false
	err := decodeObject(data, func(key string, raw json.RawMessage) error {
		to := doc.field(key)
		switch {
		case to == nil:
			return fmt.Errorf("unknown key: %w (want one of %s)", pipeline.ErrInvalid, entryKeys)
		case key == "content":
			hasContent = true
		case string(raw) == "null":
			return nil
		}
		return decodeField(raw, to)
	})
	switch {
	case err != nil:
		return fmt.Errorf("fact: %w", err)
	case !hasContent:
		return fmt.Errorf("fact %.100q: content: missing: %w", doc.ID, pipeline.ErrInvalid)
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

// field returns where the value of a key goes, nil if the key is none.
func (e *Entry) field(key string) any {
	switch key {
	case "id":
		return &e.ID
	case "content":
		return &e.Content
	case "relevance_score":
		return &e.Relevance
	case "access_count":
		return &e.AccessCount
	case "last_accessed":
		return &e.LastAccessed
	case "created_at":
		return &e.CreatedAt
	case "updated_at":
		return &e.UpdatedAt
	case "expires_at":
		return &e.ExpiresAt
	case "tags":
		return &e.Tags
	case "metadata":
		return &e.Metadata
	case "memory_type":
		return (*string)(&e.Type)
	case "user_id":
		return &e.UserID
	case "session_id":
		return &e.SessionID
	case "content_hash":
		return &e.ContentHash
	case "source_turns":
		return &e.SourceTurns
	case "links":
		return &e.Links
	}
	return nil
}

// decodeObject calls field for each member of the JSON object in data, once per key.
func decodeObject(data []byte, field func(key string, raw json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil {
		return err
	} else if tok != json.Delim('{') {
		return fmt.Errorf("%.20s: %w (want an object)", data, pipeline.ErrInvalid)
	}
	seen := make(map[string]bool)
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		key, _ := tok.(string)
		var raw json.RawMessage
		err = dec.Decode(&raw)
		if err == nil && seen[key] {
			err = fmt.Errorf("given twice: %w", pipeline.ErrInvalid)
		}
		if err == nil {
			err = field(key, raw)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", plain.Name(key), err)
		}
		seen[key] = true
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("data after the object: %w", pipeline.ErrInvalid)
	}
	return nil
}

// decodeField decodes a value into what to points to, without conversions.
func decodeField(raw json.RawMessage, to any) error {
	switch to := to.(type) {
	case *map[string]any:
		return decodeMetadata(raw, to)
	case *[]string:
		return decodeStrings(raw, to)
	case *int:
		var f float64
		if json.Unmarshal(raw, &f) != nil || f < -1<<53 || f > 1<<53 || f != float64(int(f)) {
			return fmt.Errorf("%.20s: %w (want an integer)", raw, pipeline.ErrInvalid)
		}
		*to = int(f)
		return nil
	case *string:
		if raw[0] != '"' {
			return fmt.Errorf("%.20s: %w (want a string)", raw, pipeline.ErrInvalid)
		}
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("%.40s: %w (%w)", raw, pipeline.ErrInvalid, err)
	}
	return nil
}

// decodeStrings decodes a list of strings; null is none.
func decodeStrings(raw json.RawMessage, to *[]string) error {
	var list []*string
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("%.40s: %w (want a list of strings)", raw, pipeline.ErrInvalid)
	}
	*to = make([]string, len(list))
	for i, s := range list {
		if s == nil {
			return fmt.Errorf("%d: null: %w (want a string)", i, pipeline.ErrInvalid)
		}
		(*to)[i] = *s
	}
	return nil
}

// decodeMetadata keeps integers apart from other numbers.
func decodeMetadata(raw json.RawMessage, to *map[string]any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var doc map[string]any
	if err := dec.Decode(&doc); err != nil {
		return fmt.Errorf("%.40s: %w (want an object)", raw, pipeline.ErrInvalid)
	}
	plain, err := plainNumbers(doc)
	if err != nil {
		return err
	}
	*to, _ = plain.(map[string]any)
	return nil
}

func plainNumbers(v any) (_ any, err error) {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			if v[key], err = plainNumbers(v[key]); err != nil {
				return nil, fmt.Errorf("%s: %w", plain.Name(key), err)
			}
		}
	case []any:
		for i := range v {
			if v[i], err = plainNumbers(v[i]); err != nil {
				return nil, fmt.Errorf("%d: %w", i, err)
			}
		}
	case json.Number:
		return plainNumber(string(v))
	}
	return v, nil
}

func plainNumber(s string) (any, error) {
	if !strings.ContainsAny(s, ".eE") {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%.40s: %w (want an integer within 64 bits; write it as a string)", s, pipeline.ErrInvalid)
		}
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("%.40s: %w (want a number within float64)", s, pipeline.ErrInvalid)
	}
	return f, nil
}
