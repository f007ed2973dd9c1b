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
	for name, want := range map[string]struct {
		family, encoding string
		low, high        float64
	}{
		"claude-3-5-sonnet-20241022":                {"claude-3", "o200k_base", 0.9, 1.6},
		"us.anthropic.claude-3-5-haiku-20241022-v1": {"claude-3", "o200k_base", 0.9, 1.6},
		"anthropic/claude-sonnet-4.5":               {"claude-sonnet-4-5", "o200k_base", 0.9, 1.6},
		"claude-opus-4-7":                           {"claude-opus-4-7", "o200k_base", 1, 2.2},
		"claude-next":                               {"claude", "o200k_base", 0.9, 2.2},
		"models/gemini-2.5-pro":                     {"gemini", "o200k_base", 0.8, 1.9},
		"gemma3:27b":                                {"gemma3", "o200k_base", 0.8, 1.9},
		"meta-llama/Meta-Llama-3.1-70B-Instruct":    {"meta-llama-3.", "cl100k_base", 0.45, 1.1},
		"us.meta.llama3-3-70b-instruct-v1:0":        {"llama3", "cl100k_base", 0.45, 1.1},
		"llama3.2:3b":                               {"llama3.", "cl100k_base", 0.45, 1.1},
		"Llama-4-Maverick":                          {"llama-4", "o200k_base", 0.8, 2},
		"Qwen/Qwen2.5-Coder-32B":                    {"qwen2.", "cl100k_base", 0.4, 1.4},
		"qwen3-235b-a22b":                           {"qwen3", "cl100k_base", 0.4, 1.4},
		"deepseek-chat":                             {"deepseek", "o200k_base", 0.8, 1.9},
		"mistral-large-latest":                      {"mistral", "o200k_base", 0.95, 2.8},
		"ministral-8b-2410":                         {"ministral", "o200k_base", 0.95, 1.5},
		"grok-4":                                    {"grok", "o200k_base", 0.8, 2},
		"gpt-6-mini":                                {"gpt-6", "o200k_base", 0.8, 1.5},
	} {
		m, err := LookupModel(name)
		if err != nil || m.Family != want.family || m.Encoding != want.encoding || m.Low != want.low || m.High != want.high || m.Exact() || m.Source == "" {
			t.Errorf("%s: %+v, %v, want %+v", name, m, err, want)
		}
	}
}

func TestUnknownModelIsEstimated(t *testing.T) {
	for name, near := range map[string]string{
		"gpt-4p": "gpt-4", "gpt-40": "gpt-4", "gtp-5": "gpt-5", "cloude": "claude", "gpt-4.9": "gpt-4", "o17": "o1", "gpt-5.": "gpt-5",
	} {
		m, err := LookupModel(name)
		if !errors.Is(err, ErrUnknownModel) || !strings.Contains(err.Error(), near) || m.Exact() || m.High < 2 || m.Family != name {
			t.Errorf("%s: %+v, %v, want one that names %s", name, m, err, near)
		}
	}
	for _, name := range []string{"", strings.Repeat("ä", 1<<20)} {
		m, err := LookupModel(name)
		if !errors.Is(err, ErrUnknownModel) || len(err.Error()) > 500 || len(m.Family) > 120 || m.High < 2 {
			t.Errorf("%.9q: %+v, %.100v", name, m, err)
		}
	}
}

// Every model of the families has an encoding that exists.
func TestFamiliesHaveEncodings(t *testing.T) {
	for _, f := range families {
		if !slices.Contains(Names(), f.encoding) || f.source.low <= 0 || f.source.low > f.source.high || (f.source.text == "") != (f.source == own) {
			t.Errorf("%+v", f)
		}
	}
}

// Providers write the names of models in their own ways.
func TestNamesOfProviders(t *testing.T) {
	for name, want := range map[string]string{
		"openai.gpt-oss-120b-1:0": "gpt-oss", "google.gemma-3-27b-it": "gemma", "us.deepseek.r1-v1:0": "deepseek", "deepseek.v3-v1:0": "deepseek",
		"qwen.qwen3-32b-v1:0": "qwen3", "eu.meta.llama3-2-1b-instruct-v1:0": "llama3", "global.anthropic.claude-haiku-4-5-20251001-v1:0": "claude-haiku-4-5",
		"arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-3-5-haiku-20241022-v1:0": "claude-3",
		"deepseek-ai/DeepSeek-R1-Distill-Llama-70B":                                                 "llama-3", "deepseek-r1-distill-qwen-32b": "qwen-2.",
		"ft:gpt-4o:my/org:x": "gpt-4o", "openai/ft:gpt-4o:my/org": "gpt-4o", "ft:openai/gpt-4o:org": "gpt-4o", "gpt-4o/": "gpt-4o",
		"accounts/fireworks/models/llama-v3p1-8b-instruct": "llama-3.", "llama-v3-70b": "llama-3", "llama-3_1-8b": "llama-3.", "llama-v2-7b": "llama-2",
	} {
		if m, err := LookupModel(name); err != nil || m.Family != want {
			t.Errorf("%s: %q, %v, want %q", name, m.Family, err, want)
		}
	}
	_, err := LookupModel("Vendor/Unheard-Of")
	if err == nil || !strings.Contains(err.Error(), `"Vendor/Unheard-Of"`) || strings.Contains(err.Error(), "similar") {
		t.Errorf("%v, want the name as it was written, and no similar name", err)
	}
}
