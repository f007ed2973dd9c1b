package config

import (
	"fmt"
	"strconv"
	"strings"
)

// EnvPrefix begins every environment variable that overrides a value.
const EnvPrefix = "ANCHOR_HOST_"

// Override is a value that a flag or an environment variable can set.
type Override struct {
	// Path is the key path in anchor.yaml.
	Path string
	// Flag is the name of the command line flag.
	Flag string
	set  func(*Config, string) error
}

// Overrides are the values that flags and environment variables can set.
var Overrides = []Override{
	{"plugins.dir", "plugins", func(c *Config, s string) error { c.Plugins.Dir = s; return nil }},
	{"cache_dir", "cache-dir", func(c *Config, s string) error { c.CacheDir = s; return nil }},
	{"timeout", "timeout", func(c *Config, s string) error { return c.Timeout.UnmarshalText([]byte(s)) }},
	{"log_level", "log-level", func(c *Config, s string) error { return oneOf(&c.LogLevel, s, "debug", "info", "warn", "error") }},
	{"max_tokens", "max-tokens", setMaxTokens},
	{"tokenizer", "tokenizer", func(c *Config, s string) error { return setChoice(&c.Tokenizer, s, Tokenizers) }},
	{"format", "format", func(c *Config, s string) error { return setChoice(&c.Format, s, Formats) }},
	{"budget.preset", "preset", setPreset},
}

// Env returns the name of the environment variable.
func (o Override) Env() string {
	return EnvPrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(o.Path))
}

// Override sets a value; origin says where it came from. The error does not
// name the origin.
func (l *Loaded) Override(o Override, value, origin string) error {
	if err := o.set(&l.Config, value); err != nil {
		return err
	}
	l.origins[o.Path] = origin
	return nil
}

func setMaxTokens(c *Config, s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return fmt.Errorf("want a whole number, 1 or more, got %q", s)
	}
	c.MaxTokens = n
	return nil
}

// setPreset replaces the whole budget: a preset and allocations exclude each
// other.
func setPreset(c *Config, s string) error {
	var b Budget
	if err := oneOf(&b.Preset, s, "chat", "rag", "agent"); err != nil {
		return err
	}
	c.Budget = &b
	return nil
}

func setChoice(to *Choice, s string, names []string) error {
	if err := oneOf(&to.Name, s, names...); err != nil {
		return err
	}
	to.Use = nil
	return nil
}

func oneOf(to *string, s string, names ...string) error {
	for _, name := range names {
		if s == name {
			*to = s
			return nil
		}
	}
	return fmt.Errorf("want one of %s, got %q", strings.Join(names, ", "), s)
}
