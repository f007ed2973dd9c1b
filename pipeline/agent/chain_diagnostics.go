package agent

import (
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/usage"
)

// Outcome is the result of one provider in one run.
type Outcome string

// The outcomes.
const (
	ProviderChanged   Outcome = "changed"   // it returned another list
	ProviderUnchanged Outcome = "unchanged" // it succeeded and returned the same list
	ProviderFailed    Outcome = "failed"    // it had no effect on list and state
	ProviderNotRun    Outcome = "not_run"   // the run ended before it
)

// ListSize is the size of a message list.
type ListSize struct {
	Messages int `json:"messages"`
	// Tokens is nil when the tokens were not counted. If their number is not known exactly, it
	// is the upper end, and LowTokens the lower end. Otherwise LowTokens is nil.
	Tokens    *int `json:"tokens,omitempty"`
	LowTokens *int `json:"low_tokens,omitempty"`
}

// ProviderDiagnostic describes one provider in one run.
type ProviderDiagnostic struct {
	Name     string  `json:"name"`
	Priority int     `json:"priority"`
	Outcome  Outcome `json:"outcome"`
	// Before is the list that the provider received, and After the list that the next
	// provider receives.
	Before ListSize `json:"before"`
	After  ListSize `json:"after"`
	// TimeMS is the wall time in milliseconds, rounded to 2 decimals.
	TimeMS float64 `json:"time_ms"`
	// Fuel is the fuel that plugins used while the provider ran, see [pipeline.AddFuel].
	Fuel int64 `json:"fuel,omitempty"`
	// CutResults are the ids of the tool calls whose results the provider has shortened,
	// one for each result; "(no id)" stands for a result without an id.
	CutResults []string `json:"cut_results,omitempty"`
	// LeftOut is the number of messages that the provider has left out, with nothing in their
	// place.
	LeftOut int `json:"left_out,omitempty"`
	// DroppedLines is the number of lines that the provider has dropped from a summary, or
	// shortened, because the summary was too long. Lines that an earlier run dropped do not count.
	DroppedLines int `json:"dropped_lines,omitempty"`
	// EstimatedTokens is the number of tokens that the provider expected to add. It is nil
	// without planning, and when the provider gave no estimate.
	EstimatedTokens *int `json:"estimated_tokens,omitempty"`
	// Plugin, Reason (see ReasonOf) and Message describe a failure.
	Plugin  string `json:"plugin,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// EstimatedTools is the kind of an [Estimate] of tools.
const EstimatedTools = "tools"

// Estimate says how the tokens of contents that are not text were counted: those of one kind
// in one message, or the tools.
type Estimate struct {
	// Message is the index in the list for the model. It is nil for the tools.
	Message *int `json:"message,omitempty"`
	// Kind is "image", "document", "audio", "unknown" or "tools".
	Kind string `json:"kind"`
	// Number is the number of contents or tools.
	Number int `json:"number"`
	// Low and High bound the tokens. They are equal if the number is known. The budget counts
	// High.
	Low  int `json:"low"`
	High int `json:"high"`
	// Source names the rule, with the year of its publication.
	Source string `json:"source"`
}

// Diagnostics describes one run of a provider chain.
type Diagnostics struct {
	Budget Budget `json:"budget"`
	// Providers lists all providers in order, including those that did not run.
	Providers []ProviderDiagnostic `json:"providers"`
	Before    ListSize             `json:"before"`
	After     ListSize             `json:"after"`
	// Estimates has an entry for each kind of content that is not text in each message of the
	// list for the model, and then one for the tools. It is empty when the tokens were not
	// counted. The caller of the chain adds that of the tools.
	Estimates []Estimate `json:"estimates,omitempty"`
	// TokensOver and MessagesOver say by how much the list exceeds the budget. TokensOver
	// is 0 when the tokens were not counted.
	TokensOver   int `json:"tokens_over,omitempty"`
	MessagesOver int `json:"messages_over,omitempty"`
	// ToolTokens are the tokens of the tools that are sent together with the messages. The
	// Budget is without them. If their number is not known exactly, it is the upper end. The caller of the chain sets it.
	ToolTokens int `json:"tool_tokens,omitempty"`
	// SkippedTokenizer is the error of a tokenizer that another one has replaced. It is empty
	// if none was replaced. The caller of the chain sets it.
	SkippedTokenizer string `json:"skipped_tokenizer,omitempty"`
	// Services are what plugins asked models, embedders and collections for, by service, name
	// and plugin. It is nil if they asked for nothing.
	Services []usage.Line `json:"services,omitempty"`
	// CostUSD is what Services cost in US dollars. It is 0 unless all prices are known.
	CostUSD float64 `json:"cost_usd,omitempty"`
	// Warnings are sentences about counts and estimates that failed.
	Warnings []string `json:"warnings,omitempty"`
	// TimeMS is the wall time in milliseconds, rounded to 2 decimals.
	TimeMS float64 `json:"time_ms"`
}

// Assembly is the result of a run of a provider chain.
type Assembly struct {
	// Messages is the list for the model. It shares nothing with the state.
	Messages    []pipeline.Message `json:"messages"`
	Diagnostics *Diagnostics       `json:"diagnostics"`
}
