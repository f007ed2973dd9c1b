package core

import (
	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline/internal/appendjson"
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
func (o OverflowItem) MarshalJSON() ([]byte, error) { return o.AppendJSON(nil) }

// AppendJSON appends what MarshalJSON returns.
func (o *OverflowItem) AppendJSON(dst []byte) ([]byte, error) {
	b := appendjson.Buffer{B: dst}
	b.Begin()
	if err := o.members(&b); err != nil {
		return nil, err
	}
	b.Key("reason")
	b.Text(string(o.Reason))
	b.Key("available_tokens")
	b.Int(int64(o.Available))
	b.End()
	return b.B, b.Err
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
