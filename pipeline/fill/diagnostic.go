package fill

// Diagnostic says how good the choice of a window is.
type Diagnostic struct {
	Strategy string `json:"strategy"`
	Fit      Fit    `json:"fit"`
	// Value is what the items of the window are worth together ([ItemValue]; of one
	// that was cut, the share that is left), Bound what the best choice would be worth
	// if items could be divided. Gap is 1 - Value/Bound: no choice can be better by
	// more than this share of Bound.
	Value float64 `json:"value"`
	Bound float64 `json:"bound"`
	Gap   float64 `json:"gap"`
	// Note says what the strategy could not do.
	Note string `json:"note,omitempty"`
	// Truncated lists the items that were cut, in the order of the window.
	Truncated []TruncatedItem `json:"truncated,omitempty"`
}

// TruncatedItem is an item of which the window holds the beginning only.
type TruncatedItem struct {
	ID string `json:"id"`
	// TokensBefore and TokensAfter are the counts of the whole and of what is left.
	TokensBefore int `json:"tokens_before"`
	TokensAfter  int `json:"tokens_after"`
}
