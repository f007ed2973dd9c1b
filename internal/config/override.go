package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/fill"
)

// EnvPrefix begins every environment variable that overrides a value.
const EnvPrefix = "ANCHOR_HOST_"

// Override is a value that a flag or an environment variable can set.
type Override struct {
	// Path is the key path in anchor.yaml.
	Path string
	// Flag is the name of the command line flag. A flag of this name belongs to the
	// first override that has it, unless the command says otherwise.
	Flag string
	set  func(*Config, string) error
}

// Overrides are the values that flags and environment variables can set.
var Overrides = []Override{
	{"plugins.dir", "plugins", func(c *Config, s string) error { c.Plugins.Dir = s; return nil }},
	{"cache_dir", "cache-dir", func(c *Config, s string) error { c.CacheDir = s; return nil }},
	{"timeout", "timeout", func(c *Config, s string) error { return c.Timeout.UnmarshalText([]byte(s)) }},
	{"log_level", "log-level", func(c *Config, s string) error { return oneOf(&c.LogLevel, s, "debug", "info", "warn", "error") }},
	{"max_tokens", "max-tokens", func(c *Config, s string) error { return setWhole(&c.MaxTokens, s) }},
	{"tokenizer", "tokenizer", setTokenizer},
	{"model", "model", setModel},
	{"fit", "fit", func(c *Config, s string) error { return oneOf(&c.Fit, s, names(fill.Fits)...) }},
	{"fill", "fill", func(c *Config, s string) error { return oneOf(&c.Fill, s, fill.StrategyNames()...) }},
	{"truncate", "truncate", func(c *Config, s string) error { return oneOf(&c.Truncate, s, names(fill.Cuttings)...) }},
	{"order", "order", func(c *Config, s string) error { return oneOf(&c.Order, s, names(fill.WindowOrders)...) }},
	{"format", "format", func(c *Config, s string) error { return setChoice(&c.Format, s, Formats) }},
	{"budget.preset", "preset", setPreset},
	{"tenant", "tenant", func(c *Config, s string) error { c.Tenant = s; return checkName(s) }},
	{"store.path", "store", func(c *Config, s string) error { c.Store.Path = s; return nil }},
	{"store.synchronous", "synchronous", func(c *Config, s string) error { return oneOf(&c.Store.Synchronous, s, "full", "normal") }},
	{"conversation.id", "conversation", setConversation},
	{"agent.max_tokens", "max-tokens", func(c *Config, s string) error { return setWhole(&c.Agent.MaxTokens, s) }},
	{"agent.max_messages", "max-messages", func(c *Config, s string) error { return setWhole(&c.Agent.MaxMessages, s) }},
	{"agent.phase", "phase", func(c *Config, s string) error { return oneOf(&c.Agent.Phase, s, "llm", "synthesize") }},
}

// FlagPath returns the path of the first override that a flag sets.
func FlagPath(flag string) string {
	for _, o := range Overrides {
		if o.Flag == flag {
			return o.Path
		}
	}
	return ""
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
	l.overridden = append(l.overridden, overridden{o, value, origin})
	return nil
}

// overridden is an override that was made.
type overridden struct {
	Override
	value, origin string
}

// Again reads the file of l anew, with the overrides of l.
func (l *Loaded) Again() (*Loaded, error) {
	again := Default()
	if l.File != "" {
		var err error
		if again, err = Load(l.File); err != nil {
			return nil, err
		}
	}
	for _, o := range l.overridden {
		if err := again.Override(o.Override, o.value, o.origin); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, o.origin, err)
		}
	}
	return again, nil
}

// Set sets the value at the path of an override in a copy of a configuration: c shares
// with others what is behind pointers, and none of that changes. Errors wrap [ErrInvalid]
// and begin with the path.
func Set(c *Config, path, value string) error {
	i := slices.IndexFunc(Overrides, func(o Override) bool { return o.Path == path })
	if err := Overrides[i].set(c, value); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInvalid, path, err)
	}
	return nil
}

func setWhole(to *int, s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return fmt.Errorf("want a whole number, 1 or more, got %q", s)
	}
	*to = n
	return nil
}

// setConversation takes a conversation of the store in the place of one that is
// given turn by turn.
func setConversation(c *Config, s string) error {
	var o Conversation
	if c.Conversation != nil {
		o = *c.Conversation
	}
	o.ID, o.Turns = s, nil
	c.Conversation = &o
	return checkName(s)
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
	var c Choice
	if err := oneOf(&c.Name, s, names...); err != nil {
		return err
	}
	*to = c
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
