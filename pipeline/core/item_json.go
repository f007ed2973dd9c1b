package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/internal/decode"
)

var itemKeys = []string{"id", "content", "source", "score", "priority", "token_count", "metadata", "created_at", "sequence"}

// UnmarshalJSON decodes an item strictly: unknown and repeated keys, numbers in
// strings and values out of bounds are errors. Content and source are required;
// the priority defaults to [DefaultItemPriority], the id to [ContentID], and what
// else is absent or null to zero. On an error the item is unchanged.
func (it *Item) UnmarshalJSON(data []byte) error {
	var doc Item
	if err := decodeItem(data, &doc, nil); err != nil {
		return err
	}
	*it = doc
	return nil
}

// decodeItem decodes into an empty item; other takes the keys that an item does
// not have.
func decodeItem(data []byte, doc *Item, other func(key string, raw json.RawMessage) error) error {
	doc.Priority = DefaultItemPriority
	hasContent, hasID := false, false
	err := decode.Object(data, func(key string, raw json.RawMessage) error {
		if decode.IsNull(raw) && key != "content" && key != "source" {
			return decode.CheckKey(key, itemKeys, other != nil)
		}
		switch key {
		case "id":
			hasID = true
			return decode.String(raw, &doc.ID)
		case "content":
			hasContent = true
			return decode.String(raw, &doc.Content)
		case "source":
			return decode.String(raw, (*string)(&doc.Source))
		case "score":
			return decode.Float(raw, &doc.Score)
		case "priority":
			return decode.Int(raw, &doc.Priority)
		case "token_count":
			return decode.Int(raw, &doc.TokenCount)
		case "metadata":
			return decode.Metadata(raw, &doc.Metadata)
		case "created_at":
			return decode.Time(raw, &doc.CreatedAt)
		case "sequence":
			return decode.Int64(raw, &doc.Sequence)
		}
		if other != nil {
			return other(key, raw)
		}
		return decode.UnknownKey(itemKeys...)
	})
	switch {
	case err != nil:
		return fmt.Errorf("item: %w", err)
	case !hasContent:
		return fmt.Errorf("item %.100q: content: missing: %w", doc.ID, ErrInvalid)
	}
	if !hasID {
		doc.ID = ContentID(doc.Content)
	}
	return doc.Validate()
}

// ContentID is the id of an item that states none: "item-" and the first 16 hex
// digits of the SHA-256 of its content.
func ContentID(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "item-" + hex.EncodeToString(sum[:8])
}

// MarshalJSON writes absent metadata as an empty object.
func (it Item) MarshalJSON() ([]byte, error) {
	if it.Metadata == nil {
		it.Metadata = map[string]any{}
	}
	return json.Marshal(plainItem(it))
}

// plainItem is an Item without its methods.
type plainItem Item
