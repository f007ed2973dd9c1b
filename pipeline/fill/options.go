package fill

import (
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Fit says what must fit into the tokens of a window.
type Fit string

// The ways to measure a window. The zero value is FitItems.
const (
	// FitItems adds up the token counts of the items. It does not count headings,
	// separators and roles, so the output may have a few tokens more than the window.
	FitItems Fit = "items"
	// FitExact counts the output of the formatter, and guarantees that it fits into the
	// window. The caps of a budget still bound sums of items.
	FitExact Fit = "exact"
)

// Fits lists the ways to measure a window.
var Fits = []Fit{FitItems, FitExact}

// Cutting says where a text that does not fit may be cut.
type Cutting string

// The places. The zero value is CutNever.
const (
	// CutNever keeps texts whole: an item is in the window or it is not.
	CutNever Cutting = "none"
	// CutSentence cuts after a sentence or a line.
	CutSentence Cutting = "sentence"
	// CutCharacter cuts between two characters as readers see them: accents and joined
	// emoji stay whole.
	CutCharacter Cutting = "character"
)

// Cuttings lists the places where a text may be cut.
var Cuttings = []Cutting{CutNever, CutSentence, CutCharacter}

// DefaultMinTokens is the smallest part of an item, in tokens, that a cut may leave.
const DefaultMinTokens = 32

// Truncation cuts the text of an item that does not fit, so that its beginning fits. An
// item that was cut has the metadata "truncated": true. System items are never cut.
type Truncation struct {
	// At is CutNever when empty.
	At Cutting
	// MinTokens is the least number of tokens that may be left of an item. 0 means
	// [DefaultMinTokens].
	MinTokens int
}

// checkChoice returns an error with the allowed values when v is not one of them. Empty is
// allowed.
func checkChoice[T ~string](what string, v T, allowed []T) error {
	if v == "" || slices.Contains(allowed, v) {
		return nil
	}
	return fmt.Errorf("pipeline: %s %q: %w (want one of %v)", what, v, core.ErrInvalid, allowed)
}

// Options say how windows are filled.
type Options struct {
	// MaxTokens is the size of the window in tokens, including the reserve of the budget.
	MaxTokens int
	// Tokenizer counts outputs, and texts that may be cut. It must not be nil.
	Tokenizer core.Tokenizer
	// Formatter writes the output that FitExact counts. It must not be nil.
	Formatter core.Formatter
	// Budget limits the sources. nil means that only the window limits them.
	Budget *Budget
	// Fit is FitItems when empty.
	Fit Fit
	// Strategy decides which items are tried first. nil means FirstFit.
	Strategy Strategy
	// Order is OrderPriority when empty.
	Order WindowOrder
	// Truncate cuts texts that do not fit. The zero value cuts nothing.
	Truncate Truncation
	// Count says what an exact count adds to the token counts of the texts of the output.
	Count CountOptions
}

// Filler fills windows. It is immutable and safe for concurrent use.
type Filler struct {
	maxTokens int // without the reserve
	tokenizer core.Tokenizer
	formatter core.Formatter
	budget    *Budget
	warnings  []string
	fit       Fit
	strategy  Strategy
	order     WindowOrder
	cut       Truncation
	counter   *OutputCounter // of FitExact
	chosen    bool           // the options differ from the defaults
}

// NewFiller checks the options and returns a filler. Errors wrap [core.ErrInvalid] or, when
// the reserve leaves no room or the allocations do not fit, [ErrBudget].
func NewFiller(o Options) (*Filler, error) {
	f := &Filler{
		maxTokens: o.MaxTokens, tokenizer: o.Tokenizer, formatter: o.Formatter, budget: o.Budget.clone(),
		fit: o.Fit, strategy: o.Strategy, order: o.Order, cut: o.Truncate,
	}
	for _, err := range []error{
		checkChoice("fit", f.fit, Fits), checkChoice("order", f.order, WindowOrders), checkChoice("truncate", f.cut.At, Cuttings),
	} {
		if err != nil {
			return nil, err
		}
	}
	if f.cut.MinTokens < 0 {
		return nil, fmt.Errorf("pipeline: truncate: min_tokens %d: %w (want 0 or more)", f.cut.MinTokens, core.ErrInvalid)
	}
	f.chosen = f.fit != "" || f.strategy != nil || f.order != "" || f.cut.At != ""
	if f.strategy == nil {
		f.strategy = FirstFit{}
	}
	if f.fit == "" {
		f.fit = FitItems
	}
	if f.cut.MinTokens == 0 {
		f.cut.MinTokens = DefaultMinTokens
	}
	var err error
	if f.counter, err = NewOutputCounter(o.Tokenizer, o.Count); err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	return f, f.setBudget()
}

// setBudget checks the budget against the window.
func (f *Filler) setBudget() error {
	if f.budget == nil {
		return nil
	}
	if err := f.budget.Validate(); err != nil {
		return err
	}
	if f.budget.ReserveTokens >= f.maxTokens {
		return fmt.Errorf("budget: reserve_tokens %d leave nothing of max_tokens %d: %w (lower the reserve)", f.budget.ReserveTokens, f.maxTokens, ErrBudget)
	}
	f.warnings = f.budget.warnings(f.maxTokens)
	f.maxTokens -= f.budget.ReserveTokens
	return nil
}

// MaxTokens returns the size of the windows in tokens, without the reserve of the budget.
func (f *Filler) MaxTokens() int { return f.maxTokens }

// Budget returns the budget, nil if there is none. Do not change it.
func (f *Filler) Budget() *Budget { return f.budget }

// Warnings returns sentences about settings of the budget that have no effect.
func (f *Filler) Warnings() []string { return f.warnings }

// cuts reports whether the filler may cut texts.
func (f *Filler) cuts() bool { return f.cut.At != "" && f.cut.At != CutNever }
