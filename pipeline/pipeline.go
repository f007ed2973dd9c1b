package pipeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Config describes a pipeline. The zero value is valid: an empty pipeline with a window of
// [DefaultMaxTokens], which counts in cl100k_base and formats as text.
type Config struct {
	// MaxTokens is the size of the window in tokens, including the reserve of the budget.
	// 0 means DefaultMaxTokens.
	MaxTokens int
	// Tokenizer counts items that bring no count. nil means DefaultEncoding, whose
	// vocabulary the first count loads. It has no timeout of its own: one that ignores its
	// context holds the build. When it fails, the build fails. When the first
	// tokenizer of a [FallbackTokenizer] fails, the build counts all texts again with the
	// second one.
	Tokenizer Tokenizer
	// Budget limits the sources. nil means that only the window limits them.
	Budget *fill.Budget
	// SystemPrompts come first in the list of items, in this order.
	SystemPrompts []SystemPrompt
	// Memory offers items before the first step. It may be nil. When it fails, the build
	// fails; if MemoryOnError is Skip, the build continues with the items that came with
	// the error, usually none. MemoryTimeout bounds the call. 0 means that only the build's
	// context bounds it; this also holds for the other timeouts. The build abandons a part
	// that exceeds its timeout, and leaves it copies of what it was given.
	Memory        MemoryProvider
	MemoryOnError OnError
	MemoryTimeout time.Duration
	// Enricher rewrites the query after the memory stage, if there are memory or
	// conversation items. It may be nil. When it fails, the build fails; if
	// EnricherOnError is Skip, the build continues with the unchanged query. Diagnostics
	// and events show skipped parts as steps, see [MemoryPart].
	Enricher        QueryEnricher
	EnricherOnError OnError
	EnricherTimeout time.Duration
	// Embedder makes vectors for the steps that ask for them, see [ItemVectors]. It may be nil.
	// It is asked only during a step that asks, and once for each text of a build.
	Embedder retrieve.Embedder
	// Steps run by ascending priority; steps of equal priority run in the order of this list.
	Steps []StepConfig
	// Formatter makes the output. nil means Generic. When it fails, the build fails; if
	// FormatterOnError is Skip, FormatterFallback makes the output, and an exact fit is
	// filled again. FormatterFallback nil means Generic. FormatterTimeout bounds each call.
	Formatter         Formatter
	FormatterOnError  OnError
	FormatterFallback Formatter
	FormatterTimeout  time.Duration
	// Fit says what must fit into the window: the sum of the items (FitItems, also when
	// empty) or the formatted output (FitExact).
	Fit fill.Fit
	// Fill decides which items are tried first. nil means FirstFit.
	Fill fill.Strategy
	// Order is the order in which the context is written. Empty means OrderPriority.
	Order fill.WindowOrder
	// Truncate cuts texts that do not fit. The zero value cuts nothing.
	Truncate fill.Truncation
	// Count says what an exact count adds to the token counts of the texts of the output.
	Count fill.CountOptions
	// IncludeQuery ends the output with the text of the query, as the message of the user. It
	// is the text that the caller gave, not that of an enricher. It is not repeated when the
	// last turn of the conversation has the same text, and a blank text adds nothing. The
	// window has room for it before any item; if it has not, the build fails.
	IncludeQuery bool
	// Tools is a JSON list of the tools that the model may call, in the form of its API. nil
	// means none. The window has room for their tokens before any item. Formatters of model
	// APIs write the list as it is, except for tools in the form of another API, which are
	// converted. One that would lose a member is not, and is a warning of the result.
	Tools json.RawMessage
	// Partial leaves out optional steps, those under Skip, in a build whose context has a
	// deadline, if by Times the rest of the build would miss it; and it ends them, and the memory
	// and the enricher under Skip, in time for the rest. The failures of these have the reason
	// "no_time" or "timeout", and the result is [Result.Partial].
	Partial bool
	// Times remembers how long steps took. Pipelines with steps of the same names may share it.
	// nil: nothing is remembered; Partial then only ends steps in time.
	Times *StepTimes
	// Callbacks receive the events of each build, in this order.
	Callbacks []Callback
	// Explain records the trace of every item in Diagnostics.Items. Recording costs nothing
	// when Explain is false.
	Explain bool
	// Logger receives a WARN record for each skipped step and failed callback. nil
	// means slog.Default. SkipsReported leaves out those of skipped steps, for a caller who
	// reports what Diagnostics.StepFailures has.
	Logger        *slog.Logger
	SkipsReported bool
	// Now is the clock for durations and for items without a time. Several goroutines may
	// call it at once. nil means time.Now.
	Now func() time.Time
}

// The names of skipped parts in diagnostics and events. A classifier has the name of its
// step, a dot and ClassifierPart.
const (
	MemoryPart     = "memory"
	EnricherPart   = "enricher"
	ClassifierPart = "classifier"
	// TokenizerPart is skipped if the build counts with the second tokenizer of a
	// [FallbackTokenizer].
	TokenizerPart = "tokenizer"
	// FormatterPart is skipped if the fallback makes the output.
	FormatterPart = "formatter"
	// CompactorPart is skipped if the summary of a conversation lists turns that its
	// compactor could not condense.
	CompactorPart = "compactor"
)

// writer is a formatter, and the filler that fills windows for it.
type writer struct {
	formatter Formatter
	filler    *fill.Filler
}

// SystemPrompt is an instruction that is part of every build. It has no guaranteed place in
// the window: it competes by its priority like any other item.
type SystemPrompt struct {
	Content string
	// Priority is 1 to 10; 0 means 10.
	Priority int
}

// Pipeline builds context windows. It is immutable, and safe for concurrent use if its
// steps, providers and callbacks are.
type Pipeline struct {
	maxTokens int // without the reserve
	question  bool
	tools     json.RawMessage
	model     string // counts the tools
	tokenizer Tokenizer
	system    []Item
	counted   *atomic.Pointer[countedItems] // the system prompts, after the first count
	memory    MemoryProvider
	enricher  QueryEnricher
	parts     struct{ memory, enricher, formatter policy }
	embedder  retrieve.Embedder
	steps     []step
	writer    writer
	fallback  writer // used when a formatter is skipped
	callbacks []Callback
	warnings  []string
	explain   bool
	partial   bool
	times     *StepTimes
	logger    *slog.Logger
	reported  bool // skipped steps are, by the caller
	now       func() time.Time
	info      any // the BuildInfo of its builds
}

// New checks a configuration and returns its pipeline, which keeps copies of the lists in
// it. If a formatter or enricher has a method Validate() error, New calls it. Errors wrap
// [ErrInvalid] or, when the reserve leaves no room in the window or the allocations do not
// fit, [ErrBudget].
func New(cfg Config) (*Pipeline, error) {
	p := &Pipeline{
		maxTokens: cfg.MaxTokens,
		question:  cfg.IncludeQuery,
		model:     cfg.Count.Model,
		tokenizer: cfg.Tokenizer,
		memory:    cfg.Memory,
		enricher:  cfg.Enricher,
		embedder:  cfg.Embedder,
		counted:   new(atomic.Pointer[countedItems]),
		callbacks: slices.Clone(cfg.Callbacks),
		logger:    cfg.Logger,
		reported:  cfg.SkipsReported,
		now:       cfg.Now,
		explain:   cfg.Explain,
		partial:   cfg.Partial,
		times:     cfg.Times,
	}
	if err := cmp.Or(p.setPolicies(&cfg), p.setTools(&cfg)); err != nil {
		return nil, err
	}
	if err := p.setDefaults(); err != nil {
		return nil, err
	}
	for _, part := range []any{cfg.Formatter, cfg.FormatterFallback, p.enricher} {
		if v, ok := part.(interface{ Validate() error }); ok {
			if err := v.Validate(); err != nil {
				return nil, err
			}
		}
	}
	if err := p.setWriters(&cfg); err != nil {
		return nil, err
	}
	if err := p.setSystem(cfg.SystemPrompts); err != nil {
		return nil, err
	}
	if err := p.setSteps(cfg.Steps); err != nil {
		return nil, err
	}
	p.info = BuildInfo{MaxTokens: p.maxTokens, logger: p.logger}
	return p, nil
}

// Overrides are what single builds have in the place of the pipeline's own, or in addition to
// it. The zero value changes nothing.
type Overrides struct {
	// Memory replaces the memory provider. What Config says of its failures and its time stays.
	Memory MemoryProvider
	// Callbacks receive the events after those of the pipeline.
	Callbacks []Callback
	// Partial and Explain switch on what they do in Config.
	Partial, Explain bool
	// Now replaces the clock.
	Now func() time.Time
}

// With returns the pipeline with overrides. It checks nothing and makes nothing anew, so it costs
// little beside a build. Both pipelines can be used at the same time.
func (p *Pipeline) With(o Overrides) *Pipeline {
	with := *p
	if o.Memory != nil {
		with.memory = o.Memory
	}
	if len(o.Callbacks) > 0 {
		with.callbacks = slices.Concat(p.callbacks, o.Callbacks)
	}
	with.partial, with.explain = p.partial || o.Partial, p.explain || o.Explain
	if o.Now != nil {
		with.now = o.Now
	}
	return &with
}

// setPolicies sets what a build does when memory, enricher or formatter fail.
func (p *Pipeline) setPolicies(cfg *Config) error {
	p.parts.memory = policy{cfg.MemoryOnError, cfg.MemoryTimeout}
	p.parts.enricher = policy{cfg.EnricherOnError, cfg.EnricherTimeout}
	p.parts.formatter = policy{cfg.FormatterOnError, cfg.FormatterTimeout}
	return cmp.Or(p.parts.memory.check(MemoryPart), p.parts.enricher.check(EnricherPart), p.parts.formatter.check(FormatterPart))
}

// setTools checks the tools, writes them for the API of the format, and lets an exact fit count them.
func (p *Pipeline) setTools(cfg *Config) error {
	if cfg.Tools == nil {
		return nil
	}
	if cfg.Count.Tools != "" {
		return fmt.Errorf("pipeline: tools and count: tools: %w (keep one)", ErrInvalid)
	}
	if err := format.CheckTools(cfg.Tools); err != nil {
		return fmt.Errorf("pipeline: %w", err)
	}
	cfg.Count.Tools = string(cfg.Tools)
	if cfg.Formatter != nil && slices.Contains(message.Forms, message.Form(cfg.Formatter.FormatType())) {
		to := message.Form(cfg.Formatter.FormatType())
		var left []error
		cfg.Count.Tools, left = message.ConvertTools(cfg.Count.Tools, to)
		for _, err := range left {
			p.warnings = append(p.warnings, fmt.Sprintf("%v: the tool is written for another API than the format %s, which refuses it (write it for that API, or change format)", err, to))
		}
	}
	p.tools = json.RawMessage(cfg.Count.Tools)
	return nil
}

func (p *Pipeline) setDefaults() (err error) {
	switch {
	case p.maxTokens < 0:
		return fmt.Errorf("pipeline: max_tokens %d: %w (want 1 or more)", p.maxTokens, ErrInvalid)
	case p.maxTokens == 0:
		p.maxTokens = DefaultMaxTokens
	}
	if p.tokenizer == nil {
		if p.tokenizer, err = EncodingTokenizer(DefaultEncoding); err != nil {
			return err
		}
	}
	if p.logger == nil {
		p.logger = slog.Default()
	}
	if p.now == nil {
		p.now = time.Now
	}
	return nil
}

// setWriters makes the writers and checks the options of their fillers. Call it after the
// defaults are set.
func (p *Pipeline) setWriters(cfg *Config) (err error) {
	formatter := cfg.Formatter
	if formatter != nil && cfg.FormatterTimeout > 0 {
		formatter = timedFormatter{formatter, cfg.FormatterTimeout}
	}
	if p.writer, err = p.newWriter(cfg, formatter); err != nil {
		return err
	}
	if cfg.FormatterOnError == Skip {
		if p.fallback, err = p.newWriter(cfg, cfg.FormatterFallback); err != nil {
			return err
		}
	}
	p.maxTokens, p.warnings = p.writer.filler.MaxTokens(), append(p.warnings, p.writer.filler.Warnings()...)
	if w, ok := p.tokenizer.(interface{ Warning() string }); ok && w.Warning() != "" {
		p.warnings = append(p.warnings, w.Warning())
	}
	return nil
}

// newWriter makes the writer of a formatter; nil is the default.
func (p *Pipeline) newWriter(cfg *Config, f Formatter) (w writer, err error) {
	if w.formatter = f; f == nil {
		w.formatter = format.Generic{}
	}
	w.filler, err = fill.NewFiller(fill.Options{
		MaxTokens: p.maxTokens, Tokenizer: p.tokenizer, Formatter: w.formatter, Budget: cfg.Budget,
		Fit: cfg.Fit, Strategy: cfg.Fill, Order: cfg.Order, Truncate: cfg.Truncate, Count: cfg.Count,
	})
	return w, err
}

func (p *Pipeline) setSystem(prompts []SystemPrompt) error {
	for i, prompt := range prompts {
		it := Item{
			ID:       fmt.Sprintf("system-%d", i+1),
			Content:  prompt.Content,
			Source:   SourceSystem,
			Score:    1,
			Priority: prompt.Priority,
		}
		if it.Priority == 0 {
			it.Priority = SourceSystem.DefaultPriority()
		}
		if err := it.Validate(); err != nil {
			return fmt.Errorf("pipeline: system_prompts[%d]: %w", i, err)
		}
		p.system = append(p.system, it)
	}
	return nil
}

// setSteps sorts the steps and forms the groups that run at the same time:
// neighboring appenders of equal priority.
func (p *Pipeline) setSteps(configs []StepConfig) error {
	for i, cfg := range configs {
		st, err := newStep(cfg)
		if err != nil {
			return fmt.Errorf("pipeline: steps[%d]: %w", i, err)
		}
		p.steps = append(p.steps, st)
	}
	slices.SortStableFunc(p.steps, func(a, b step) int { return cmp.Compare(a.Priority, b.Priority) })
	for first := 0; first < len(p.steps); {
		end := first + 1
		for end < len(p.steps) && p.steps[first].joins(&p.steps[end]) {
			end++
		}
		p.steps[first].group = end - first
		first = end
	}
	return nil
}

// countedItems are items with their token counts, the tokens of the tools, and the factor that
// the tokenizer had then.
type countedItems struct {
	items  []Item
	tools  int
	factor float64
}
