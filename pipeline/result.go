package pipeline

// OverflowReason says why an item is not in the window.
type OverflowReason string

// The reasons.
const (
	// OverflowWindow: the tokens left in the window were fewer than the item's.
	OverflowWindow OverflowReason = "window_full"
	// OverflowSourceCap: the allocation of the item's source was used up.
	OverflowSourceCap OverflowReason = "source_cap"
	// OverflowSourceDropped: the source as a whole exceeded an allocation with
	// the strategy drop.
	OverflowSourceDropped OverflowReason = "source_dropped"
)

// OverflowItem is an item that did not get into the window.
type OverflowItem struct {
	Item
	Reason OverflowReason `json:"reason"`
	// Available is the number of tokens that were left when the item was tried.
	Available int `json:"available_tokens"`
}

// Result is the outcome of a build.
type Result struct {
	Window *Window `json:"window"`
	// Output is the formatted window: a string or a JSON document.
	Output      any            `json:"formatted_output"`
	FormatType  string         `json:"format_type"`
	Overflow    []OverflowItem `json:"overflow_items"`
	Diagnostics *Diagnostics   `json:"diagnostics"`
	// BuildTimeMS is the wall time of the build in milliseconds.
	BuildTimeMS float64 `json:"build_time_ms"`
}

// StepDiagnostic describes one step that succeeded.
type StepDiagnostic struct {
	Name       string  `json:"name"`
	ItemsAfter int     `json:"items_after"`
	TimeMS     float64 `json:"time_ms"`
}

// StepFailure describes one step that was skipped or that failed the build.
type StepFailure struct {
	Step    string `json:"step"`
	Plugin  string `json:"plugin,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
}

// Diagnostics is the full account of one build.
type Diagnostics struct {
	Steps                  []StepDiagnostic `json:"steps"`
	MemoryItems            *int             `json:"memory_items,omitempty"`
	TotalItemsConsidered   int              `json:"total_items_considered"`
	ItemsIncluded          int              `json:"items_included"`
	ItemsOverflow          int              `json:"items_overflow"`
	TokenUtilization       float64          `json:"token_utilization"`
	TokenUsageBySource     map[Source]int   `json:"token_usage_by_source,omitzero"`
	SharedPoolUsage        *int             `json:"shared_pool_usage,omitempty"`
	BudgetOverflowBySource map[Source]int   `json:"budget_overflow_by_source,omitempty"`
	QueryEnriched          bool             `json:"query_enriched,omitempty"`
	SkippedSteps           []string         `json:"skipped_steps,omitempty"`
	FailedStep             string           `json:"failed_step,omitempty"`
	StepFailures           []StepFailure    `json:"step_failures,omitempty"`
	Warnings               []string         `json:"warnings,omitempty"`
	// TimesMS is where the time went, by stage: memory, enrich, steps, count,
	// fill, format.
	TimesMS map[string]float64 `json:"times_ms,omitempty"`
}
