package config

import (
	"cmp"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/format"
)

// needs is the error of an option without its precondition. A file or a request may hold options that have no effect until
// another setting changes, such as the format. An option of a single call without effect is a mistake and is refused.
func needs(key, what string) error {
	return fmt.Errorf("%w: %s: needs %s (without it the option has no effect)", ErrInvalid, key, what)
}

// CheckCut refuses options of truncate that have no effect with the other values of c.
func (c *Config) CheckCut() error {
	if c.CutMinTokens == 0 || c.Truncate != "" && c.Truncate != "none" {
		return nil
	}
	return needs("window.cut_min_tokens", "truncate: sentence or character")
}

// Marks returns the value of breakpoints, or its default.
func (o FormatOptions) Marks() string {
	return cmp.Or(o.Breakpoints, format.BreakpointsAuto)
}

// CheckFormatOptions refuses options of the format that have no effect with the other values of c.
func (c *Config) CheckFormatOptions() error {
	o := &c.FormatOptions
	api := c.Format.Use != nil || c.Format.Name != "" && c.Format.Name != format.Default
	switch {
	case o.Caching && c.Format.Name != "anthropic":
		return needs("format_options.caching", "format: anthropic")
	case o.Breakpoints != "" && !o.Caching:
		return needs("format_options.breakpoints", "caching")
	case o.Model != "" && (!o.Caching || o.Marks() != format.BreakpointsAuto):
		return needs("format_options.model", "breakpoints: auto")
	case o.ContextTokens > 0 && !api:
		return needs("format_options.context_tokens", "the format of a model API")
	case o.MaxOutput > 0 && !api:
		return needs("format_options.max_output_tokens", "the format of a model API")
	}
	return nil
}
