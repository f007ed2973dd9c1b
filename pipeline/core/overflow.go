package core

import (
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/anchor-host/anchor-host/internal/appendjson"
	"github.com/anchor-host/anchor-host/internal/decode"
)

// OverflowReason says why an item is not in the window.
type OverflowReason string

// The reasons.
const (
	// OverflowWindow: the tokens left in the window were fewer than the item's.
	OverflowWindow OverflowReason = "window_full"
	// OverflowMinimums: the item would have fitted, but the room was kept for the minimums of
	// other sources.
	OverflowMinimums OverflowReason = "kept_for_minimums"
	// OverflowSourceCap: the allocation of the item's source was used up.
	OverflowSourceCap OverflowReason = "source_cap"
	// OverflowSourceDropped: the source as a whole exceeded an allocation with
	// the strategy drop.
	OverflowSourceDropped OverflowReason = "source_dropped"
	// OverflowSharedPool: the source has no allocation, and the enforced shared
	// pool was used up.
	OverflowSharedPool OverflowReason = "shared_pool_full"
)

// OverflowItem is an item that did not get into the window.
type OverflowItem struct {
	Item
	Reason OverflowReason `json:"reason"`
	// Available is the number of tokens that were left when the item was tried.
	Available int `json:"available_tokens"`
}

// MarshalJSON writes the fields and the parts of the item, followed by the reason and the available
// tokens.
func (o OverflowItem) MarshalJSON() ([]byte, error) { return appendjson.Append(nil, &o) }

// MarshalJSONTo writes what MarshalJSON returns.
func (o *OverflowItem) MarshalJSONTo(enc *jsontext.Encoder) error {
	parts, err := o.rawParts()
	if err != nil {
		return err
	}
	return jsonv2.MarshalEncode(enc, &struct {
		*plainItem
		Parts     jsontext.Value `json:"parts,omitzero"`
		Reason    OverflowReason `json:"reason"`
		Available int            `json:"available_tokens"`
	}{(*plainItem)(&o.Item), parts, o.Reason, o.Available})
}

// UnmarshalJSON decodes what MarshalJSON writes, as strictly as an item.
func (o *OverflowItem) UnmarshalJSON(data []byte) error {
	var doc OverflowItem
	err := decodeItem(data, &doc.Item, decode.Optional("reason", (*string)(&doc.Reason)), decode.Optional("available_tokens", &doc.Available))
	if err != nil {
		return err
	}
	*o = doc
	return nil
}
