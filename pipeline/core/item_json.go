package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/anchor-host/anchor-host/internal/appendjson"
	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// UnmarshalJSON decodes an item strictly: unknown and repeated keys, numbers in strings and
// values out of bounds are errors. The member parts is a list of contents as one of the APIs has
// them, see [Item.SetParts]. Content and source are required; the priority defaults
// to [DefaultItemPriority] and the id to [ContentID]. Any other member that is absent or
// null is zero. On an error the item is unchanged.
func (it *Item) UnmarshalJSON(data []byte) error {
	var doc Item
	if err := decodeItem(data, &doc); err != nil {
		return err
	}
	*it = doc
	return nil
}

// decodeItem decodes into an empty item. others are members that the document may have
// besides those of an item.
func decodeItem(data []byte, doc *Item, others ...decode.Member) error {
	doc.Priority = DefaultItemPriority
	var id *string
	var parts json.RawMessage
	members := append([]decode.Member{
		decode.Optional("id", &id), decode.Required("content", &doc.Content), decode.Required("source", (*string)(&doc.Source)),
		decode.Optional("score", &doc.Score), decode.Optional("priority", &doc.Priority), decode.Optional("token_count", &doc.TokenCount),
		decode.Optional("metadata", &doc.Metadata), decode.Optional("created_at", &doc.CreatedAt), decode.Optional("sequence", &doc.Sequence),
		decode.Optional("parts", &parts),
	}, others...)
	if err := decode.Object(data, members...); err != nil {
		return fmt.Errorf("item: %w", err)
	}
	if doc.ID = ContentID(doc.Content); id != nil {
		doc.ID = *id
	}
	if len(parts) > 0 {
		list, err := message.DecodeParts(parts)
		if err == nil {
			err = doc.SetParts(list)
		}
		if err != nil {
			return fmt.Errorf("item: %w", err)
		}
	}
	return doc.Validate()
}

// ContentID returns the id of an item whose document states none: "item-" and the first 16
// hex digits of the SHA-256 of its content.
func ContentID(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "item-" + hex.EncodeToString(sum[:8])
}

// plainItem is an item whose document has its fields alone.
type plainItem Item

// MarshalJSON writes absent metadata as an empty object, and parts as they were read.
func (it Item) MarshalJSON() ([]byte, error) { return appendjson.Append(nil, &it) }

// MarshalJSONTo writes what MarshalJSON returns.
func (it *Item) MarshalJSONTo(enc *jsontext.Encoder) error {
	if it.Parts() == nil {
		return jsonv2.MarshalEncode(enc, (*plainItem)(it))
	}
	parts, err := it.rawParts()
	if err != nil {
		return err
	}
	return jsonv2.MarshalEncode(enc, &struct {
		*plainItem
		Parts jsontext.Value `json:"parts"`
	}{(*plainItem)(it), parts})
}

// rawParts returns the parts as a JSON list, nil if there are none.
func (it *Item) rawParts() (jsontext.Value, error) {
	parts := it.Parts()
	if parts == nil {
		return nil, nil
	}
	raw, err := message.AppendParts(nil, parts)
	if err != nil {
		return nil, fmt.Errorf("item %.100q: %w", it.ID, err)
	}
	return raw, nil
}
