package assemble

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

// BudgetOf returns the budget of a configuration in tokens, as windows are filled with it, or
// nil if there is none. Errors wrap [config.ErrInvalid].
func BudgetOf(c *config.Config) (*fill.Budget, error) {
	b := c.Budget
	if b == nil && c.Answer == 0 {
		return nil, nil
	}
	if b == nil {
		b = new(config.Budget)
	}
	window := cmp.Or(c.MaxTokens, pipeline.DefaultMaxTokens)
	total := cmp.Or(b.Total, window)
	if b.Preset != "" {
		caps := make([]pipeline.Source, len(b.Caps))
		for i, s := range b.Caps {
			caps[i] = pipeline.Source(s)
		}
		preset, err := fill.PresetBudget(b.Preset, total, caps...)
		if err != nil {
			return nil, fmt.Errorf("%w: window.max_tokens: %w", config.ErrInvalid, err)
		}
		preset.EnforceSharedPool, preset.ReserveTokens = b.EnforceSharedPool, cmp.Or(c.Answer, preset.ReserveTokens)
		return preset, fits(preset, window)
	}
	out := &fill.Budget{TotalTokens: total, ReserveTokens: c.Answer, EnforceSharedPool: b.EnforceSharedPool}
	for _, a := range b.Allocations {
		out.Allocations = append(out.Allocations, fill.Allocation{
			Source: pipeline.Source(a.Source), MaxTokens: a.MaxTokens, MinTokens: a.MinTokens,
			Overflow: fill.OverflowStrategy(a.Overflow),
		})
	}
	return out, fits(out, window)
}

// fits refuses a budget that does not fit into a window, by the key to change.
func fits(b *fill.Budget, window int) error {
	const remedy = "lower it, or raise window.max_tokens"
	if b.ReserveTokens >= window {
		return fmt.Errorf("%w: window.answer: %d tokens leave nothing of the %d of window.max_tokens: %w (%s)", config.ErrInvalid, b.ReserveTokens, window, pipeline.ErrBudget, remedy)
	}
	err := b.Validate()
	if errors.Is(err, pipeline.ErrBudget) {
		return fmt.Errorf("%w: window.budget: the allocations and the %d tokens of the answer exceed the %d of window.max_tokens: %w (%s)", config.ErrInvalid, b.ReserveTokens, b.TotalTokens, pipeline.ErrBudget, remedy)
	}
	if err != nil {
		return fmt.Errorf("%w: window.%w", config.ErrInvalid, err)
	}
	return nil
}

// answerTokens returns the number of tokens of the answer for a body that must state one. It
// is 0 if the configuration names neither a number nor a model. If the size of the model's
// context is known, the answer has at most what the window leaves of it.
func answerTokens(c *config.Config, b *fill.Budget) (int, error) {
	o, answer := c.FormatOptions, c.FormatOptions.MaxOutput
	if answer == 0 && c.Model != "" {
		answer = format.DefaultMaxOutputTokens
	}
	if o.ContextTokens == 0 {
		return answer, nil
	}
	room := cmp.Or(c.MaxTokens, pipeline.DefaultMaxTokens)
	if b != nil {
		room -= b.ReserveTokens
	}
	left := o.ContextTokens - room
	switch {
	case left < 1:
		return 0, fmt.Errorf("%w: format_options.context_tokens: a window of up to %d tokens leaves nothing of %d for the answer (lower window.max_tokens or raise window.answer)", config.ErrInvalid, room, o.ContextTokens)
	case o.MaxOutput > left:
		return 0, fmt.Errorf("%w: format_options.max_output_tokens: a window of up to %d tokens leaves %d of %d for the answer, want %d (lower window.max_tokens or raise window.answer)", config.ErrInvalid, room, left, o.ContextTokens, o.MaxOutput)
	}
	return min(answer, left), nil
}

// Effective returns the settings of a configuration and, behind their keys, what follows from
// them: the tokens of each share of a preset, and those of the answer.
func Effective(l *config.Loaded) []config.Setting {
	settings, c := l.Settings(), &l.Config
	b, err := BudgetOf(c)
	if err != nil {
		return settings
	}
	at := 0 // where the next setting goes
	after := func(key string) {
		at = len(settings)
		for i := range settings {
			if strings.HasPrefix(settings[i].Path, key) {
				at = i + 1
			}
		}
	}
	add := func(path string, n int, origin string) {
		settings = slices.Insert(settings, at, config.Setting{Path: path, Value: int64(n), Text: fmt.Sprint(n), Origin: origin})
		at++
	}
	if b != nil && c.Budget != nil && c.Budget.Preset != "" {
		from := fmt.Sprintf("preset %s of %d", c.Budget.Preset, b.TotalTokens)
		after("window.budget.preset")
		if c.Answer == 0 {
			add("window.answer", b.ReserveTokens, from)
		}
		for _, a := range b.Allocations {
			add(fmt.Sprintf("window.budget.allocations[%s].min_tokens", a.Source), a.MinTokens, from)
			if a.MaxTokens > 0 {
				add(fmt.Sprintf("window.budget.allocations[%s].cap_tokens", a.Source), a.MaxTokens, from)
			}
		}
	}
	if n, err := answerTokens(c, b); err == nil && n > 0 && c.FormatOptions.MaxOutput == 0 && c.Format.Name == "anthropic" {
		after("format_options.")
		add("format_options.max_output_tokens", n, "default")
	}
	return settings
}
