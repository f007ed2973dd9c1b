package anchor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

// over writes the options over the configuration c of a pipeline, which shares nothing that it changes
// with another one. Those that a configuration has no key for are read where the build needs them.
func (o *BuildOptions) over(c *config.Config) error {
	if o.Timeout < 0 {
		return fmt.Errorf("%w: timeout: want a time of more than 0, got %v", ErrInvalid, o.Timeout)
	}
	c.Timeout = cmp.Or(config.Duration(o.Timeout), c.Timeout)
	if err := o.setOwner(c); err != nil {
		return err
	}
	if o.reshapes() {
		for _, set := range []func(*config.Config) error{o.setCounting, o.setWindow, o.setFormat} {
			if err := set(c); err != nil {
				return err
			}
		}
	}
	return o.setMemory(c)
}

// reshapes reports whether the options change what is compiled of a pipeline.
func (o *BuildOptions) reshapes() bool {
	return o.MaxTokens != 0 || o.Tokenizer+o.Model+o.Fit+o.Fill+o.Truncate+o.Order+o.Format+o.Preset != "" || o.CutMinTokens != 0 ||
		o.Tools != nil || o.IncludeQuery != nil || o.FormatOptions != nil || o.Formatter != nil || o.Budget != nil || o.SystemPrompts != nil
}

func (o *BuildOptions) setOwner(c *config.Config) error {
	if err := cmp.Or(c.Set("tenant", o.Tenant), config.CheckOwner(o.User, o.Session)); err != nil {
		return err
	}
	if c.Facts == nil {
		if o.Session != "" {
			return fmt.Errorf("%w: a session has facts, and the configuration has none (set memory.facts in anchor.yaml)", ErrInvalid)
		}
		return nil
	}
	facts := *c.Facts
	facts.User, facts.Session = cmp.Or(o.User, facts.User), cmp.Or(o.Session, facts.Session)
	c.Facts = &facts
	if facts.RequireUser && facts.User == "" {
		return fmt.Errorf("%w: the build names no user (name the one whose facts it may have, or set memory.facts.require_user to false)", ErrInvalid)
	}
	return nil
}

func (o *BuildOptions) setCounting(c *config.Config) error {
	if o.Model != "" && o.Tokenizer != "" && !strings.HasPrefix(o.Tokenizer, "file:") {
		return excluded("model", "tokenizer")
	}
	return cmp.Or(c.Set("counting.model", o.Model), c.Set("counting.tokenizer", o.Tokenizer))
}

func (o *BuildOptions) setWindow(c *config.Config) error {
	if err := o.setBudget(c); err != nil {
		return err
	}
	own := config.Window{
		MaxTokens: o.MaxTokens, Fit: o.Fit, Fill: o.Fill, Truncate: o.Truncate, Order: o.Order, IncludeQuery: o.IncludeQuery, Tools: config.Tools(o.Tools),
	}
	if o.Tools != nil {
		if err := format.CheckTools(o.Tools); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	if o.SystemPrompts != nil {
		own.SystemPrompts = make([]config.SystemPrompt, len(o.SystemPrompts))
		for i, s := range o.SystemPrompts {
			own.SystemPrompts[i] = config.SystemPrompt(s)
		}
	}
	own.CutMinTokens = o.CutMinTokens
	c.Take(&own)
	if o.CutMinTokens == 0 {
		return c.CheckShape()
	}
	return cmp.Or(c.CheckShape(), c.CheckCut())
}

func (o *BuildOptions) setBudget(c *config.Config) error {
	switch {
	case o.Preset != "" && o.Budget != nil:
		return excluded("preset", "budget")
	case o.Preset != "":
		return c.Set("window.budget.preset", o.Preset)
	case o.Budget == nil:
		return nil
	}
	b := &config.Budget{Total: o.Budget.TotalTokens, EnforceSharedPool: o.Budget.EnforceSharedPool}
	for _, a := range o.Budget.Allocations {
		b.Allocations = append(b.Allocations, config.Allocation{
			Source: string(a.Source), MaxTokens: a.MaxTokens, MinTokens: a.MinTokens, Overflow: string(a.Overflow),
		})
	}
	c.Budget, c.Answer = b, o.Budget.ReserveTokens
	return nil
}

func (o *BuildOptions) setFormat(c *config.Config) error {
	if o.Formatter != nil && (o.Format != "" || o.FormatOptions != nil) {
		return excluded("a formatter", "format and its options")
	}
	if err := c.Set("format", o.Format); err != nil || o.FormatOptions == nil {
		return err
	}
	c.FormatOptions = config.FormatOptions(*o.FormatOptions)
	return cmp.Or(c.CheckShape(), c.CheckFormatOptions())
}

func (o *BuildOptions) setMemory(c *config.Config) error {
	switch {
	case o.Conversation != "" && o.Turns != nil:
		return excluded("a conversation of the store", "turns")
	case o.Conversation != "":
		if err := c.SetConversation(o.Conversation); err != nil {
			return err
		}
	case o.Turns != nil:
		for i := range o.Turns {
			if err := o.Turns[i].Validate(); err != nil {
				return fmt.Errorf("%w: turns[%d]: %w", ErrInvalid, i, err)
			}
		}
		c.Talk("", nil)
		o.Turns = slices.Clone(o.Turns)
	}
	if c.Memory.Name != "" && c.Conversation != nil {
		return excluded("memory.use", "memory.conversation")
	}
	if o.Remember && (c.Conversation == nil || c.Conversation.ID == "") {
		return fmt.Errorf("%w: remember: no conversation of the store is named (set Conversation)", ErrInvalid)
	}
	return nil
}
