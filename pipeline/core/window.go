package core

import (
	"cmp"
	"encoding/json"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/anchor-host/anchor-host/internal/appendjson"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// DefaultMaxTokens is the size of a window, in tokens, whose configuration states none.
const DefaultMaxTokens = 8192

// Fixed is what an output holds besides items. It is never left out. The zero value is nothing.
type Fixed struct {
	// Query is the question of the user, which ends the output. Empty: the output has no
	// question. QueryTokens is its number of tokens.
	Query       string `json:"query,omitempty"`
	QueryTokens int    `json:"query_tokens,omitempty"`
	// Tools is a JSON list of the tools that the model may call, in the form of its API. nil:
	// there are none. ToolTokens is its number of tokens.
	Tools      json.RawMessage `json:"-"`
	ToolTokens int             `json:"tool_tokens,omitempty"`
}

// Reserved returns the tokens of the query and the tools.
func (f *Fixed) Reserved() int { return values.Add(f.QueryTokens, f.ToolTokens) }

// Window is a list of items within a number of tokens. It is not safe for
// concurrent use.
type Window struct {
	// Items are in the order in which they were admitted.
	Items []Item `json:"items"`
	// MaxTokens is the room of the window in tokens, without the reserve of a
	// budget.
	MaxTokens int `json:"max_tokens"`
	// UsedTokens is the sum of the token counts of Items.
	UsedTokens int `json:"used_tokens"`
	// Fixed has the query and the tools. Their tokens are not part of UsedTokens.
	Fixed
}

// NewWindow returns an empty window of maxTokens tokens; 0 means
// [DefaultMaxTokens], less is an error.
func NewWindow(maxTokens int) (*Window, error) {
	if maxTokens < 0 {
		return nil, fmt.Errorf("window: max_tokens %d: %w (want 1 or more)", maxTokens, ErrInvalid)
	}
	maxTokens = cmp.Or(maxTokens, DefaultMaxTokens)
	return &Window{Items: []Item{}, MaxTokens: maxTokens}, nil
}

// Remaining returns the tokens that are left, never less than 0.
func (w *Window) Remaining() int {
	return max(0, w.MaxTokens-values.Add(w.UsedTokens, w.Reserved()))
}

// Utilization returns the used share of the window, 0 to 1.
func (w *Window) Utilization() float64 {
	if w.MaxTokens <= 0 {
		return 0
	}
	return min(1, float64(values.Add(w.UsedTokens, w.Reserved()))/float64(w.MaxTokens))
}

// AddItem adds the item if its token count is at most the remaining tokens, and reports
// whether it did. An item of 0 tokens always fits. A token count below 0 never fits.
func (w *Window) AddItem(it Item) bool {
	if it.TokenCount < 0 || it.TokenCount > w.Remaining() {
		return false
	}
	w.Items = append(w.Items, it)
	w.UsedTokens += it.TokenCount
	return true
}

// AddItemsByPriority tries the items by priority and then score, both descending, ties in
// the order given. After an item that does not fit, it continues with the next one. It
// returns the items that did not fit, in the order in which it tried them.
func (w *Window) AddItemsByPriority(items []Item) []Item {
	order := values.Indices(len(items))
	SortByPriority(items, order)
	var overflow []Item
	for _, i := range order {
		if !w.AddItem(items[i]) {
			overflow = append(overflow, items[i])
		}
	}
	return overflow
}

// MarshalJSON writes items as a list even when there are none.
func (w *Window) MarshalJSON() ([]byte, error) { return appendjson.Append(nil, w) }

// MarshalJSONTo writes what MarshalJSON returns.
func (w *Window) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain Window
	doc := plain(*w)
	if doc.Items == nil {
		doc.Items = []Item{}
	}
	return jsonv2.MarshalEncode(enc, &doc)
}
