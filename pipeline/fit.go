package pipeline

import (
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Fit says what of a window must be within its tokens.
type Fit string

// The ways to measure. The zero value is FitItems.
const (
	// FitItems adds up the token counts of the items. Headings, separators and roles
	// are not counted, so that the output may have a few tokens more than the window.
	FitItems Fit = "items"
	// FitExact counts what the formatter writes, and guarantees that it is within the
	// window. The caps of a budget stay sums of items.
	FitExact Fit = "exact"
)

// Fits lists the ways to measure.
var Fits = []Fit{FitItems, FitExact}

// The tokens that chat models take beside the texts, as OpenAI publishes them.
const (
	// DefaultPriming starts the answer.
	DefaultPriming = 3
	// DefaultMinTokens is the shortest rest of an item that is worth its place.
	DefaultMinTokens = 32
)

// CountOptions say what an exact count adds to the texts of an output.
//
// A chat document, one with messages, counts as
//
//	texts + roles + messages × MessageOverhead + Priming + Tools
//
// where the system blocks of the Anthropic format are together one message. It is the
// formula that OpenAI publishes; Anthropic publishes none. A plain text counts as
// itself and Tools, any other document as its JSON text and Tools.
type CountOptions struct {
	// MessageOverhead is the number of tokens of a message beside role and texts. 0
	// means [core.DefaultMessageOverhead], -1 none.
	MessageOverhead int
	// Priming is the number of tokens once for all messages. 0 means
	// [DefaultPriming], -1 none.
	Priming int
	// Tools are the tool schemas that are sent beside the window, as text.
	Tools string
}

func (o CountOptions) withDefaults() (CountOptions, error) {
	for _, v := range []struct {
		name     string
		value    *int
		fallback int
	}{{"message_overhead", &o.MessageOverhead, core.DefaultMessageOverhead}, {"priming", &o.Priming, DefaultPriming}} {
		switch {
		case *v.value == 0:
			*v.value = v.fallback
		case *v.value == -1:
			*v.value = 0
		case *v.value < 0:
			return o, fmt.Errorf("count: %s %d: %w (want 0 or more, or -1 for none)", v.name, *v.value, ErrInvalid)
		}
	}
	return o, nil
}

// Cutting says where a text may be cut that does not fit as a whole.
type Cutting string

// The places. The zero value is CutNever.
const (
	// CutNever keeps texts whole: an item is in the window or it is not.
	CutNever Cutting = "none"
	// CutSentence cuts behind a sentence or a line.
	CutSentence Cutting = "sentence"
	// CutCharacter cuts between two characters, as they are read: accents and joined
	// emoji stay with what they belong to.
	CutCharacter Cutting = "character"
)

// Cuttings lists the places.
var Cuttings = []Cutting{CutNever, CutSentence, CutCharacter}

// Truncation cuts the text of an item that does not fit, so that its beginning does.
// What was cut has the metadata "truncated": true. System items are never cut.
type Truncation struct {
	// At is CutNever when empty.
	At Cutting
	// MinTokens is the least number of tokens that may be left of an item. 0 means
	// [DefaultMinTokens].
	MinTokens int
}

// checkChoice names the allowed values when v is none of them. Empty is allowed.
func checkChoice[T ~string](what string, v T, allowed []T) error {
	if v == "" || slices.Contains(allowed, v) {
		return nil
	}
	return fmt.Errorf("pipeline: %s %q: %w (want one of %v)", what, v, ErrInvalid, allowed)
}

// fitting is how a pipeline fills its windows.
type fitting struct {
	fit      Fit
	strategy Strategy
	order    WindowOrder
	cut      Truncation
	counter  *OutputCounter // of FitExact
	chosen   bool           // anything but the defaults
}

// setFit checks how windows are filled. It comes after the tokenizer.
func (p *Pipeline) setFit(cfg *Config) (err error) {
	p.fitting = fitting{fit: cfg.Fit, strategy: cfg.Fill, order: cfg.Order, cut: cfg.Truncate}
	f := &p.fitting
	for _, err := range []error{
		checkChoice("fit", f.fit, Fits), checkChoice("order", f.order, WindowOrders), checkChoice("truncate", f.cut.At, Cuttings),
	} {
		if err != nil {
			return err
		}
	}
	if f.cut.MinTokens < 0 {
		return fmt.Errorf("pipeline: truncate: min_tokens %d: %w (want 0 or more)", f.cut.MinTokens, ErrInvalid)
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
	if f.counter, err = NewOutputCounter(p.tokenizer, cfg.Count); err != nil {
		return fmt.Errorf("pipeline: %w", err)
	}
	return nil
}

// cuts reports whether texts are cut.
func (f *fitting) cuts() bool { return f.cut.At != "" && f.cut.At != CutNever }
