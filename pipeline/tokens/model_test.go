package tokens

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestLookupModel(t *testing.T) {
	for name, want := range map[string]string{
		"gpt-5": "o200k_base", "gpt-5-mini-2025-08-07": "o200k_base", "gpt-5.2-codex": "o200k_base", "gpt-4.1-nano": "o200k_base",
		"gpt-4o": "o200k_base", "gpt-4o-2024-08-06": "o200k_base", "chatgpt-4o-latest": "o200k_base", "GPT-4o-Mini": "o200k_base",
		"o1": "o200k_base", "o1-preview": "o200k_base", "o3-mini": "o200k_base", "o4-mini-2025-04-16": "o200k_base", "gpt-oss-120b": "o200k_base",
		"gpt-4": "cl100k_base", "gpt-4-32k-0613": "cl100k_base", "gpt-4-turbo": "cl100k_base", "gpt-3.5-turbo-16k": "cl100k_base",
		"gpt-35-turbo": "cl100k_base", "text-embedding-3-large": "cl100k_base", "davinci-002": "cl100k_base",
		"text-davinci-003": "p50k_base", "code-davinci-002": "p50k_base", "text-davinci-001": "r50k_base", "davinci": "r50k_base", "gpt2": "r50k_base",
		"openai/gpt-4o": "o200k_base", "ft:gpt-4o:my-org::id": "o200k_base", "ft:gpt-3.5-turbo-0613:org": "cl100k_base", "azure/gpt-4": "cl100k_base",
	} {
		m, err := LookupModel(name)
		if err != nil || m.Encoding != want || !m.Exact() {
			t.Errorf("%s: %+v, %v, want %s", name, m, err, want)
		}
	}
}

func TestEstimatedModels(t *testing.T) {
	for name, want := range map[string]Model{
		"claude-3-5-sonnet-20241022":                {"claude-3", "o200k_base", 0.9, 1.6},
		"us.anthropic.claude-3-5-haiku-20241022-v1": {"claude-3", "o200k_base", 0.9, 1.6},
		"anthropic/claude-sonnet-4.5":               {"claude-sonnet-4-5", "o200k_base", 0.9, 1.6},
		"claude-opus-4-7":                           {"claude-opus-4-7", "o200k_base", 1, 2.2},
		"claude-next":                               {"claude", "o200k_base", 0.9, 2.2},
	} {
		if m, err := LookupModel(name); err != nil || m != want || m.Exact() {
			t.Errorf("%s: %+v, %v, want %+v", name, m, err, want)
		}
	}
}

func TestLookupModelRefuses(t *testing.T) {
	for name, near := range map[string]string{
		"gpt-4p": "gpt-4", "gpt-40": "gpt-4", "gtp-5": "gpt-5", "cloude": "claude", "gpt-4.9": "gpt-4", "o17": "o1", "gpt-5.": "gpt-5",
	} {
		_, err := LookupModel(name)
		if !errors.Is(err, ErrUnknownModel) || !strings.Contains(err.Error(), near) {
			t.Errorf("%s: %v, want one that names %s", name, err, near)
		}
	}
	for _, name := range []string{"", strings.Repeat("x", 1<<20)} {
		if _, err := LookupModel(name); !errors.Is(err, ErrUnknownModel) {
			t.Errorf("%.9q: %v", name, err)
		}
	}
}

// Every model of the families has an encoding that exists.
func TestFamiliesHaveEncodings(t *testing.T) {
	for _, f := range families {
		if !slices.Contains(Names(), f.encoding) || f.low <= 0 || f.low > f.high {
			t.Errorf("%+v", f)
		}
	}
}
