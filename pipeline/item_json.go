package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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
	err := decodeObject(data, func(key string, raw json.RawMessage) error {
		if isNull(raw) && key != "content" && key != "source" {
			return checkKey(key, itemKeys, other != nil)
		}
		switch key {
		case "id":
			hasID = true
			return decodeString(raw, &doc.ID)
		case "content":
			hasContent = true
			return decodeString(raw, &doc.Content)
		case "source":
			return decodeString(raw, (*string)(&doc.Source))
		case "score":
			return decodeFloat(raw, &doc.Score)
		case "priority":
			return decodeInt(raw, &doc.Priority)
		case "token_count":
			return decodeInt(raw, &doc.TokenCount)
		case "metadata":
			return decodeMetadata(raw, &doc.Metadata)
		case "created_at":
			return decodeTime(raw, &doc.CreatedAt)
		case "sequence":
			return decodeInt64(raw, &doc.Sequence)
		}
		if other != nil {
			return other(key, raw)
		}
		return unknownKey(itemKeys...)
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

// MarshalJSON writes the item with its reason beside its fields.
func (o OverflowItem) MarshalJSON() ([]byte, error) {
	if o.Metadata == nil {
		o.Metadata = map[string]any{}
	}
	return json.Marshal(struct {
		plainItem
		Reason    OverflowReason `json:"reason"`
		Available int            `json:"available_tokens"`
	}{plainItem(o.Item), o.Reason, o.Available})
}

// UnmarshalJSON decodes what MarshalJSON writes, as strictly as an item.
func (o *OverflowItem) UnmarshalJSON(data []byte) error {
	var doc OverflowItem
	err := decodeItem(data, &doc.Item, func(key string, raw json.RawMessage) error {
		switch key {
		case "reason":
			return decodeString(raw, (*string)(&doc.Reason))
		case "available_tokens":
			return decodeInt(raw, &doc.Available)
		}
		return unknownKey(append(itemKeys[:len(itemKeys):len(itemKeys)], "reason", "available_tokens")...)
	})
	if err != nil {
		return err
	}
	*o = doc
	return nil
}

// checkKey refuses an unknown key whose value is null.
func checkKey(key string, known []string, open bool) error {
	for _, k := range known {
		if k == key {
			return nil
		}
	}
	if open {
		return nil
	}
	return unknownKey(known...)
}

var errNotInt64 = errors.New("want an integer within 64 bits")

func decodeInt64(raw json.RawMessage, to *int64) error {
	v, err := parseNumber(string(raw))
	n, ok := v.(int64)
	if err != nil || !ok {
		return fmt.Errorf("%.20s: %w (%w)", raw, ErrInvalid, errNotInt64)
	}
	*to = n
	return nil
}
