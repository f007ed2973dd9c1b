package agent

import "github.com/anchor-host/anchor-host/pipeline"

// Outcome says what became of one provider in one run.
type Outcome string

// The outcomes.
const (
	ProviderChanged   Outcome = "changed"   // it returned another list
	ProviderUnchanged Outcome = "unchanged" // it succeeded, and the list is the same
	ProviderFailed    Outcome = "failed"    // list and state are those from before it
	ProviderNotRun    Outcome = "not_run"   // the run ended before it
)

// ListSize is the size of a message list.
type ListSize struct {
	Messages int `json:"messages"`
	// Tokens is nil when nobody counted.
	Tokens *int `json:"tokens,omitempty"`
}

// ProviderDiagnostic describes one provider in one run.
type ProviderDiagnostic struct {
	Name     string  `json:"name"`
	Priority int     `json:"priority"`
	Outcome  Outcome `json:"outcome"`
	// Before and After are the list that the provider was given and the one that
	// counts from then on.
	Before ListSize `json:"before"`
	After  ListSize `json:"after"`
	// TimeMS is the wall time in milliseconds, rounded to 2 decimals.
	TimeMS float64 `json:"time_ms"`
	// Fuel is what plugins used while the provider ran, see [pipeline.AddFuel].
	Fuel int64 `json:"fuel,omitempty"`
	// CutResults are the ids of the tool calls whose results the provider cut, one for
	// each result; "(no id)" stands for one without.
	CutResults []string `json:"cut_results,omitempty"`
	// EstimatedTokens is what the provider said it would add; nil without planning,
	// and when it could not say.
	EstimatedTokens *int `json:"estimated_tokens,omitempty"`
	// Plugin, Reason (see ReasonOf) and Message tell of a failure.
	Plugin  string `json:"plugin,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Diagnostics is the account of one run of a provider chain.
type Diagnostics struct {
	Budget Budget `json:"budget"`
	// Providers lists all providers in order, also those that did not run.
	Providers []ProviderDiagnostic `json:"providers"`
	Before    ListSize             `json:"before"`
	After     ListSize             `json:"after"`
	// TokensOver and MessagesOver are by how much the list exceeds the budget.
	// TokensOver is 0 when nobody counted.
	TokensOver   int `json:"tokens_over,omitempty"`
	MessagesOver int `json:"messages_over,omitempty"`
	// SkippedTokenizer is the error of a tokenizer in whose place another one counted, empty
	// if none was. Who calls the chain enters it.
	SkippedTokenizer string `json:"skipped_tokenizer,omitempty"`
	// Warnings are sentences about counts and estimates that could not be had.
	Warnings []string `json:"warnings,omitempty"`
	// TimeMS is the wall time in milliseconds, rounded to 2 decimals.
	TimeMS float64 `json:"time_ms"`
}

// Assembly is the outcome of a run of a provider chain.
type Assembly struct {
	// Messages is the list for the model. It shares nothing with the state.
	Messages    []pipeline.Message `json:"messages"`
	Diagnostics *Diagnostics       `json:"diagnostics"`
}
