package anchor

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/anchor-host/anchor-host/store"
)

// appliers apply the fields of [BuildOptions] that are not zero to a plan. They run in this
// order.
var appliers = []struct {
	field string
	apply func(*plan, *BuildOptions) error
}{
	{"Pipeline", setPipeline},
	{"Tenant", func(p *plan, o *BuildOptions) error { return p.set("tenant", o.Tenant) }},
	{"User", setUser},
	{"Session", func(p *plan, o *BuildOptions) error {
		return p.setFacts(func(f *config.Facts) { f.Session = o.Session })
	}},
	{"Timeout", func(p *plan, o *BuildOptions) error { return p.set("timeout", o.Timeout.String()) }},
	{"MaxTokens", func(p *plan, o *BuildOptions) error { return p.set("window.max_tokens", strconv.Itoa(o.MaxTokens)) }},
	{"Model", setModel}, // before Tokenizer, which may be a file for the model
	{"Tokenizer", func(p *plan, o *BuildOptions) error { return p.set("counting.tokenizer", o.Tokenizer) }},
	{"Fit", func(p *plan, o *BuildOptions) error { return p.set("window.fit", o.Fit) }},
	{"Fill", func(p *plan, o *BuildOptions) error { return p.set("window.fill", o.Fill) }},
	{"Truncate", func(p *plan, o *BuildOptions) error { return p.set("window.truncate", o.Truncate) }},
	{"Order", func(p *plan, o *BuildOptions) error { return p.set("window.order", o.Order) }},
	{"Tools", setTools},
	{"IncludeQuery", func(p *plan, o *BuildOptions) error { p.config.IncludeQuery = o.IncludeQuery; return nil }},
	{"FitOptions", setFitOptions},
	{"Format", func(p *plan, o *BuildOptions) error { return p.set("format", o.Format) }},
	{"FormatOptions", setFormatOptions},
	{"Formatter", setFormatter},
	{"Preset", func(p *plan, o *BuildOptions) error { return p.set("window.budget.preset", o.Preset) }},
	{"Budget", setBudget},
	{"SystemPrompts", setPrompts},
	{"Conversation", func(p *plan, o *BuildOptions) error { return p.set("memory.conversation.id", o.Conversation) }},
	{"Turns", setTurns},
	{"Remember", setRemember},
	{"Items", func(p *plan, o *BuildOptions) error { p.build.Items = o.Items; return nil }},
	{"Only", func(p *plan, o *BuildOptions) error { p.build.Only = o.Only; return nil }},
	{"Skip", func(p *plan, o *BuildOptions) error { p.build.Skip = o.Skip; return nil }},
	{"AllowPartial", func(p *plan, _ *BuildOptions) error { p.build.Partial = true; return nil }},
	{"Explain", func(p *plan, _ *BuildOptions) error { p.explain = true; return nil }},
	{"Previous", func(p *plan, o *BuildOptions) error { p.previous = o.Previous; return nil }},
	{"ID", func(p *plan, o *BuildOptions) error { p.id = o.ID; return nil }},
	{"Key", func(*plan, *BuildOptions) error { return nil }}, // for the record
	{"RequestID", func(*plan, *BuildOptions) error { return nil }},
	{"Callbacks", func(p *plan, o *BuildOptions) error { p.build.Callbacks = o.Callbacks; return nil }},
}

// apply applies the options to the plan.
func (p *plan) apply(o *BuildOptions) error {
	p.build.Config = &p.config
	v := reflect.ValueOf(o).Elem()
	for i, a := range appliers {
		if v.Field(places[i]).IsZero() {
			continue
		}
		if err := a.apply(p, o); err != nil {
			return err
		}
	}
	// The comparison and the record use the traces.
	p.build.Explain = p.explain || p.previous != nil || p.generation.loaded.Builds.Records != nil
	if p.config.Memory.Name != "" && p.config.Conversation != nil {
		return excluded("memory.use", "memory.conversation")
	}
	p.user, p.key, p.requestID = o.User, o.Key, o.RequestID
	if f := p.config.Facts; f != nil {
		p.user = f.User // which o.User has set
	}
	if f := p.config.Facts; f != nil && f.RequireUser && f.User == "" {
		return fmt.Errorf("%w: the build names no user (name the one whose facts it may have, or set memory.facts.require_user to false)", ErrInvalid)
	}
	return nil
}

// places are the indexes, in [BuildOptions], of the fields that appliers name.
var places = func() []int {
	places := make([]int, len(appliers))
	for i, a := range appliers {
		f, ok := reflect.TypeFor[BuildOptions]().FieldByName(a.field)
		if !ok {
			panic("anchor: no option " + a.field)
		}
		places[i] = f.Index[0]
	}
	return places
}()

func setUser(p *plan, o *BuildOptions) error {
	if len(o.User) > store.MaxName {
		return fmt.Errorf("%w: user: %d bytes (want at most %d)", ErrInvalid, len(o.User), store.MaxName)
	}
	if p.config.Facts == nil {
		return nil
	}
	return p.setFacts(func(f *config.Facts) { f.User = o.User })
}

// setFacts changes the settings of the facts.
func (p *plan) setFacts(set func(*config.Facts)) error {
	if p.config.Facts == nil {
		return fmt.Errorf("%w: a session has facts, and the configuration has none (set memory.facts in anchor.yaml)", ErrInvalid)
	}
	own := *p.config.Facts
	set(&own)
	p.config.Facts = &own
	return nil
}

// set sets the value at a path that the command line can also set.
func (p *plan) set(path, value string) error { return config.Set(&p.config, path, value) }

func setPipeline(p *plan, o *BuildOptions) error {
	if _, err := p.generation.loaded.Pipeline(o.Pipeline); err != nil {
		return err
	}
	p.pipeline, p.config = o.Pipeline, *p.generation.configs[o.Pipeline]
	return nil
}

func setModel(p *plan, o *BuildOptions) error {
	if o.Tokenizer != "" && !strings.HasPrefix(o.Tokenizer, "file:") {
		return excluded("model", "tokenizer")
	}
	return p.set("counting.model", o.Model)
}

// setFitOptions comes after fit and truncate, which it needs.
func setFitOptions(p *plan, o *BuildOptions) error {
	f := config.FitOptions{
		MessageOverhead: o.FitOptions.MessageOverhead, Priming: o.FitOptions.Priming, Tools: o.FitOptions.Tools, MinTokens: o.FitOptions.MinTokens,
	}
	for _, n := range []struct {
		key   string
		value *int
	}{{"message_overhead", f.MessageOverhead}, {"priming", f.Priming}, {"cut_min_tokens", &f.MinTokens}} {
		if n.value != nil && *n.value < 0 {
			return fmt.Errorf("%w: window.%s: want 0 or more, got %d", ErrInvalid, n.key, *n.value)
		}
	}
	p.config.FitOptions = f
	return effective(f.WithoutEffect(&p.config))
}

// setFormatOptions comes after format, which it needs.
func setFormatOptions(p *plan, o *BuildOptions) error {
	f := config.FormatOptions(*o.FormatOptions)
	if f.Breakpoints != "" && f.Breakpoints != "auto" && f.Breakpoints != "fixed" {
		return fmt.Errorf("%w: format_options.breakpoints: want one of auto, fixed, got %q", ErrInvalid, f.Breakpoints)
	}
	switch {
	case f.MaxOutput < 0:
		return fmt.Errorf("%w: format_options.max_output_tokens: want 0 or more, got %d", ErrInvalid, f.MaxOutput)
	case f.ContextTokens < 0:
		return fmt.Errorf("%w: format_options.context_tokens: want 0 or more, got %d", ErrInvalid, f.ContextTokens)
	}
	p.config.FormatOptions = f
	return effective(f.WithoutEffect(&p.config))
}

func setTools(p *plan, o *BuildOptions) error {
	if err := format.CheckTools(o.Tools); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	p.config.Tools = config.Tools(o.Tools)
	return nil
}

// effective returns an error for options that have no effect.
func effective(findings []config.Finding) error {
	if len(findings) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s: %s", ErrInvalid, findings[0].Path, findings[0].Message)
}

func setFormatter(p *plan, o *BuildOptions) error {
	if o.Format != "" || o.FormatOptions != nil {
		return excluded("a formatter", "format and its options")
	}
	p.build.Formatter = o.Formatter
	return nil
}

func setBudget(p *plan, o *BuildOptions) error {
	if o.Preset != "" {
		return excluded("preset", "budget")
	}
	b := &config.Budget{
		TotalTokens: o.Budget.TotalTokens, EnforceSharedPool: o.Budget.EnforceSharedPool,
	}
	for _, a := range o.Budget.Allocations {
		b.Allocations = append(b.Allocations, config.Allocation{
			Source: string(a.Source), MaxTokens: a.MaxTokens, MinTokens: a.MinTokens, Overflow: string(a.Overflow),
		})
	}
	p.config.Budget, p.config.Answer = b, o.Budget.ReserveTokens
	return nil
}

func setPrompts(p *plan, o *BuildOptions) error {
	prompts := make([]config.SystemPrompt, len(o.SystemPrompts))
	for i, s := range o.SystemPrompts {
		prompts[i] = config.SystemPrompt{Content: s.Content, Priority: s.Priority}
	}
	p.config.SystemPrompts = prompts
	return nil
}

func setTurns(p *plan, o *BuildOptions) error {
	if o.Conversation != "" {
		return excluded("a conversation of the store", "turns")
	}
	for i := range o.Turns {
		if err := o.Turns[i].Validate(); err != nil {
			return fmt.Errorf("%w: turns[%d]: %w", ErrInvalid, i, err)
		}
	}
	var c config.Conversation
	if p.config.Conversation != nil {
		c = *p.config.Conversation
	}
	c.ID, c.Turns = "", nil
	p.config.Conversation, p.build.Turns = &c, slices.Clone(o.Turns)
	return nil
}

func setRemember(p *plan, _ *BuildOptions) error {
	if p.config.Conversation == nil || p.config.Conversation.ID == "" {
		return fmt.Errorf("%w: remember: no conversation of the store is named (set Conversation)", ErrInvalid)
	}
	if strings.TrimSpace(p.query.Text) == "" {
		return fmt.Errorf("%w: remember: the query is empty (give it a text, or do not remember it)", ErrInvalid)
	}
	p.remember = true
	return nil
}
