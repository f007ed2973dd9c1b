// Package usage has what builds and other work asked of models and other services, and what that cost.
package usage

// Use names who used what: a service, the name of the model, embedder or collection, and the
// plugin that asked, "" for none.
type Use struct {
	Service string `json:"service"`
	Name    string `json:"name"`
	Plugin  string `json:"plugin,omitempty"`
}

// Amount is how much was used.
type Amount struct {
	// Calls are the requests that were made. Cached of them were answered without asking, and
	// Failed have no answer.
	Calls  int64 `json:"calls"`
	Cached int64 `json:"cached,omitempty"`
	Failed int64 `json:"failed,omitempty"`
	// Texts are the texts that were embedded.
	Texts int64 `json:"texts,omitempty"`
	// InputTokens and OutputTokens are those that models counted. CachedTokens are those of the
	// input that the server of a model had in its cache of prompts.
	InputTokens  int64 `json:"input_tokens,omitempty"`
	CachedTokens int64 `json:"cached_input_tokens,omitempty"`
	OutputTokens int64 `json:"output_tokens,omitempty"`
}

// Line is a use with its amount.
type Line struct {
	Use
	Amount
	// Model is the name of the model for its server. It is empty if no prices are known.
	Model string `json:"model,omitempty"`
	// CostUSD is what its tokens cost in US dollars, 0 if no price is known.
	CostUSD float64 `json:"cost_usd,omitempty"`
	// Unpriced says that it has tokens whose price is not known, though prices of others are.
	Unpriced bool `json:"unpriced,omitempty"`
}

// Cost is what the requests with one key to one model cost on a day.
type Cost struct {
	// Day is the day in UTC, such as 2026-11-28.
	Day string `json:"day"`
	// Tenant is who had to pay.
	Tenant string `json:"tenant"`
	CostLine
}

// CostLine is a cost without its day and its tenant.
type CostLine struct {
	// Key is the id of the key, "" for requests without one. Model is the name of the model for its server.
	Key   string `json:"key"`
	Model string `json:"model"`
	// Calls are the requests to the model. CachedTokens are those of InputTokens that the server had in a cache.
	Calls        int64 `json:"calls"`
	InputTokens  int64 `json:"input_tokens"`
	CachedTokens int64 `json:"cached_input_tokens,omitempty"`
	OutputTokens int64 `json:"output_tokens"`
	// USD is what they cost, in US dollars. Unpriced says that some tokens had no price.
	USD      float64 `json:"usd"`
	Unpriced bool    `json:"unpriced,omitempty"`
}
