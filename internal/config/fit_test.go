package config

import (
	"path/filepath"
	"strings"
	"testing"
)

func findings(c Config) string {
	var out []string
	for _, f := range c.Check() {
		out = append(out, f.Path+": "+f.Message)
	}
	return strings.Join(out, "\n")
}

func TestModelIsChecked(t *testing.T) {
	for _, tc := range []struct {
		config Config
		want   string
	}{
		{Config{Model: "gpt-4o-mini"}, ""},
		{Config{Model: "claude-sonnet-4-5"}, ""},
		{Config{Model: "gpt-4o", Tokenizer: Choice{Name: "words"}}, "model: model and tokenizer exclude each other (keep one; only the tokenizer.json of the model, tokenizer.file, may stand beside it)"},
		{Config{Model: "claude-opus-4-8", Calibration: "usage.jsonl"}, ""},
		{Config{Calibration: "usage.jsonl"}, "calibration: calibration needs a model (say which one its figures are for)"},
		{Config{Model: "gpt-4o", Calibration: "usage.jsonl"}, "calibration: the tokens of gpt-4o are counted exactly (leave calibration out)"},
		{Config{Model: "gtp-4o"}, ""},
		{Config{Model: "gtp-4o", Calibration: "usage.jsonl"}, ""},
		{Config{Tokenizer: Choice{File: "tokenizer.json"}}, ""},
		{Config{Model: "qwen3-32b", Tokenizer: Choice{File: "tokenizer.json"}}, ""},
		{Config{Model: "qwen3-32b", Tokenizer: Choice{File: "tokenizer.json"}, Calibration: "usage.jsonl"}, "calibration: tokenizer.file counts exactly (leave calibration out)"},
		{Config{Format: Choice{File: "tokenizer.json"}}, "format.file: only the tokenizer can be a file"},
	} {
		if got := findings(tc.config); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.config.Model, got, tc.want)
		}
	}
}

// A model takes the place of a tokenizer, and the other way round; what is unknown is
// refused with the names there are.
func TestFitOverrides(t *testing.T) {
	set := func(c *Config, path, value string) error {
		for _, o := range Overrides {
			if o.Path == path {
				return o.set(c, value)
			}
		}
		t.Fatalf("no override for %s", path)
		return nil
	}
	c := Config{Tokenizer: Choice{Name: "words"}}
	if err := set(&c, "model", "gpt-5"); err != nil || c.Model != "gpt-5" || c.Tokenizer.Name != "" {
		t.Errorf("%+v, %v", c, err)
	}
	if err := set(&c, "tokenizer", "words"); err != nil || c.Model != "" || c.Tokenizer.Name != "words" {
		t.Errorf("%+v, %v", c, err)
	}
	if err := set(&c, "tokenizer", "file:x/tokenizer.json"); err != nil || c.Model != "" || !filepath.IsAbs(c.Tokenizer.File) || c.Tokenizer.Name != "" {
		t.Errorf("%+v, %v", c, err)
	}
	if err := set(&c, "model", "my-own-model"); err != nil || c.Model != "my-own-model" || c.Tokenizer != (Choice{}) {
		t.Errorf("%+v, %v", c, err)
	}
	for path, want := range map[string]string{
		"tokenizer": `unknown value "x" (want one of words`,
		"model":     ``,
		"fit":       `unknown value "x" (want one of items, exact)`,
		"fill":      `unknown value "x" (want one of first_fit, value_per_token, knapsack)`,
		"truncate":  `unknown value "x" (want one of none, sentence, character)`,
		"order":     `unknown value "x" (want one of priority, lost_in_the_middle, chronological, cache_stable)`,
	} {
		before, x := c, "x"
		if path == "model" {
			x = ""
		}
		if err := set(&c, path, x); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
		if c.Model != before.Model || c.Fit != before.Fit {
			t.Errorf("%s: a refused value is set", path)
		}
	}
}
