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
		{Config{Counting: Counting{Model: "gpt-4o-mini"}}, ""},
		{Config{Counting: Counting{Model: "claude-sonnet-4-5"}}, ""},
		{Config{Counting: Counting{Model: "gpt-4o", Tokenizer: Choice{Name: "words"}}}, "counting.model: model and tokenizer exclude each other (keep one; only the tokenizer.json of the model, tokenizer.file, may stand beside it)"},
		{Config{Counting: Counting{Model: "claude-opus-4-8", Calibration: "usage.jsonl"}}, ""},
		{Config{Counting: Counting{Calibration: "usage.jsonl"}}, "counting.calibration: calibration needs a model (say which one its figures are for)"},
		{Config{Counting: Counting{Model: "gpt-4o", Calibration: "usage.jsonl"}}, "counting.calibration: the tokens of gpt-4o are counted exactly (leave calibration out)"},
		{Config{Counting: Counting{Model: "gtp-4o"}}, ""},
		{Config{Counting: Counting{Model: "gtp-4o", Calibration: "usage.jsonl"}}, ""},
		{Config{Counting: Counting{Tokenizer: Choice{File: "tokenizer.json"}}}, ""},
		{Config{Counting: Counting{Model: "qwen3-32b", Tokenizer: Choice{File: "tokenizer.json"}}}, ""},
		{Config{Counting: Counting{Model: "qwen3-32b", Tokenizer: Choice{File: "tokenizer.json"}, Calibration: "usage.jsonl"}}, "counting.calibration: tokenizer.file counts exactly (leave calibration out)"},
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
	c := Config{Counting: Counting{Tokenizer: Choice{Name: "words"}}}
	if err := set(&c, "counting.model", "gpt-5"); err != nil || c.Model != "gpt-5" || c.Tokenizer.Name != "" {
		t.Errorf("%+v, %v", c, err)
	}
	if err := set(&c, "counting.tokenizer", "words"); err != nil || c.Model != "" || c.Tokenizer.Name != "words" {
		t.Errorf("%+v, %v", c, err)
	}
	if err := set(&c, "counting.tokenizer", "file:x/tokenizer.json"); err != nil || c.Model != "" || !filepath.IsAbs(c.Tokenizer.File) || c.Tokenizer.Name != "" {
		t.Errorf("%+v, %v", c, err)
	}
	if err := set(&c, "counting.model", "my-own-model"); err != nil || c.Model != "my-own-model" || c.Tokenizer != (Choice{}) {
		t.Errorf("%+v, %v", c, err)
	}
	for path, want := range map[string]string{
		"counting.tokenizer": `unknown value "x" (want one of words`,
		"counting.model":     ``,
		"window.fit":         `unknown value "x" (want one of items, exact)`,
		"window.fill":        `unknown value "x" (want one of first_fit, value_per_token, knapsack)`,
		"window.truncate":    `unknown value "x" (want one of none, sentence, character)`,
		"window.order":       `unknown value "x" (want one of priority, lost_in_the_middle, chronological, cache_stable)`,
	} {
		before, x := c, "x"
		if path == "counting.model" {
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
