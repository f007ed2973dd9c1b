package fill

// Diagnostic says how good the selection of items for a window is.
type Diagnostic struct {
	Strategy string `json:"strategy"`
	Fit      Fit    `json:"fit"`
	// Value is the sum of [ItemValue] over the items of the window; an item that was cut
	// counts in proportion to the tokens that are left. Bound is what the best selection
	// would be worth if items could be divided. Gap is 1 - Value/Bound: no selection can
	// be better by more than this share of Bound.
	Value float64 `json:"value"`
	Bound float64 `json:"bound"`
	Gap   float64 `json:"gap"`
	// Note says what the strategy could not do. It is empty if there was nothing.
	Note string `json:"note,omitempty"`
	// Truncated lists the items that were cut, in the order of the window.
	Truncated []TruncatedItem `json:"truncated,omitempty"`
}

// TruncatedItem is an item whose text is only partly in the window.
type TruncatedItem struct {
	ID string `json:"id"`
	// TokensBefore is the count of the whole text, TokensAfter that of the part in the window.
	TokensBefore int `json:"tokens_before"`
	TokensAfter  int `json:"tokens_after"`
}
