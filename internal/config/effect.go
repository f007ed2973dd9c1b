package config

import (
	"cmp"

	"github.com/anchor-host/anchor-host/pipeline/format"
)

// stated is an option and its precondition. A file or a request may hold options that have no
// effect until another setting changes, such as the format. An option of a single call without
// effect is a mistake and is refused.
type stated struct {
	key   string
	given bool
	// has reports whether the precondition holds.
	has   bool
	needs string
}

func without(prefix string, options []stated) (findings []Finding) {
	for _, o := range options {
		if o.given && !o.has {
			findings = append(findings, Finding{prefix + o.key, "needs " + o.needs + " (without it the option has no effect)"})
		}
	}
	return findings
}

// CutWithoutEffect returns the option of truncate if it has no effect with the other values of c.
func (c *Config) CutWithoutEffect() []Finding {
	cut := c.Truncate != "" && c.Truncate != "none"
	return without("window.", []stated{{"cut_min_tokens", c.CutMinTokens != 0, cut, "truncate: sentence or character"}})
}

// Marks returns the value of breakpoints, or its default.
func (o FormatOptions) Marks() string {
	return cmp.Or(o.Breakpoints, format.BreakpointsAuto)
}

// WithoutEffect returns the options that have no effect with the other values of c.
func (o FormatOptions) WithoutEffect(c *Config) []Finding {
	if findings := without("format_options.", []stated{
		{"caching", o.Caching, c.Format.Name == "anthropic", "format: anthropic"},
	}); findings != nil {
		return findings
	}
	return without("format_options.", []stated{
		{"breakpoints", o.Breakpoints != "", o.Caching, "caching"},
		{"model", o.Model != "", o.Caching && o.Marks() == "auto", "breakpoints: auto"},
		{"context_tokens", o.ContextTokens > 0, c.Format.Use != nil || c.Format.Name != "" && c.Format.Name != format.Default, "the format of a model API"},
		{"max_output_tokens", o.MaxOutput > 0, c.Format.Use != nil || c.Format.Name != "" && c.Format.Name != format.Default, "the format of a model API"},
	})
}
