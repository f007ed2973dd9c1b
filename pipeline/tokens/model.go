package tokens

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/nearest"
)

// ErrUnknownModel means that the name belongs to no known model family.
var ErrUnknownModel = errors.New("unknown model")

// Model says how to count the tokens of a model.
type Model struct {
	// Family is the entry of [Models] that the name belongs to.
	Family string
	// Encoding is the name of the encoding to count with.
	Encoding string
	// Low and High bound the tokens of the model for each token of Encoding. Both are 1
	// when the model itself uses Encoding.
	Low, High float64
}

// Exact reports whether the model itself uses the encoding.
func (m Model) Exact() bool { return m.Low == 1 && m.High == 1 }

// The factors of models without a public vocabulary, relative to o200k_base. Comparisons of
// Claude 3.5 with GPT-4o found 16 % more tokens for English, 21 % for mathematics, 30 %
// for Python. Opus 4.7 and later have a new tokenizer, documented as 1.0 to 1.35 times the
// former, and measured at up to 1.46. The bounds also cover scripts for which o200k_base
// needs few tokens. [Calibration] narrows them for the texts of a program.
const (
	claudeLow     = 0.9
	claudeHigh    = 1.6
	claudeNewHigh = 2.2
)

// family is a group of models by the beginning of their names.
type family struct {
	prefix, encoding string
	low, high        float64
}

// ends reports whether rest, the part of a name after the prefix, belongs to a version of
// the same family.
func (f *family) ends(rest string) bool {
	if strings.HasSuffix(f.prefix, ".") {
		return rest != ""
	}
	return rest == "" || strings.Contains("-:@", rest[:1])
}

func exactly(encoding string, prefixes ...string) []family {
	return between(encoding, 1, 1, prefixes...)
}

func between(encoding string, low, high float64, prefixes ...string) []family {
	out := make([]family, len(prefixes))
	for i, p := range prefixes {
		out[i] = family{p, encoding, low, high}
	}
	return out
}

// families are the known families, the longest prefix first. Any version may follow a prefix
// that ends in a dot. p50k_edit and o200k_harmony differ from p50k_base and o200k_base only
// in special tokens.
var families = longestFirst(
	exactly("o200k_base",
		"gpt-5", "gpt-5.", "gpt-4.5", "gpt-4.1", "gpt-4o", "chatgpt-4o",
		"gpt-oss", "gpt-audio", "gpt-realtime", "o1", "o3", "o4", "codex-mini", "computer-use-preview"),
	exactly("cl100k_base",
		"gpt-4", "gpt-3.5", "gpt-35", "gpt-3.5-turbo", "gpt-35-turbo", "davinci-002", "babbage-002",
		"text-embedding-ada-002", "text-embedding-3-small", "text-embedding-3-large"),
	exactly("p50k_base",
		"text-davinci-003", "text-davinci-002", "text-davinci-edit-001", "code-davinci-edit-001",
		"code-davinci-002", "code-davinci-001", "code-cushman-002", "code-cushman-001", "davinci-codex", "cushman-codex"),
	exactly("r50k_base",
		"text-davinci-001", "text-curie-001", "text-babbage-001", "text-ada-001", "davinci", "curie", "babbage", "ada",
		"text-similarity", "text-search", "code-search", "gpt2", "gpt-2"),
	between("o200k_base", claudeLow, claudeHigh,
		"claude-instant", "claude-2", "claude-3", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-5", "claude-opus-4-6",
		"claude-opus-4-20250514", "claude-sonnet-4-20250514", "claude-sonnet-4-0", "claude-sonnet-4-5", "claude-sonnet-4-6", "claude-haiku-4-5"),
	between("o200k_base", 1, claudeNewHigh, "claude-opus-4-7", "claude-opus-4-8"),
	between("o200k_base", claudeLow, claudeNewHigh, "claude"),
)

func longestFirst(lists ...[]family) []family {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b family) int { return cmp.Compare(len(b.prefix), len(a.prefix)) })
	return all
}

// Models lists the beginnings of the names that [LookupModel] knows, sorted.
func Models() []string {
	names := make([]string, len(families))
	for i := range families {
		names[i] = families[i].prefix
	}
	slices.Sort(names)
	return names
}

// LookupModel returns how to count for a model, by the longest known beginning of its name:
// "gpt-4o-2024-08-06" belongs to gpt-4o. It ignores what providers add to a name, as in
// "openai/gpt-4o", "ft:gpt-4o:org" and "us.anthropic.claude-3-5-haiku". For an unknown name
// the error is an [ErrUnknownModel] that lists the most similar names.
func LookupModel(name string) (Model, error) {
	plain := plainName(name)
	for i := range families {
		f := &families[i]
		if rest, ok := strings.CutPrefix(plain, f.prefix); ok && f.ends(rest) {
			return Model{f.prefix, f.encoding, f.low, f.high}, nil
		}
	}
	return Model{}, fmt.Errorf("model %q: %w (similar names: %s; or set a tokenizer)", name, ErrUnknownModel, strings.Join(nearest.Names(plain, Models(), 3), ", "))
}

// plainName returns the model's own name, without additions of providers, in lower case.
func plainName(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	name = name[strings.LastIndex(name, "/")+1:]
	name = strings.TrimPrefix(name, "ft:")
	if _, after, ok := strings.Cut(name, "anthropic."); ok {
		name = after
	}
	if strings.HasPrefix(name, "claude") {
		name = strings.ReplaceAll(name, ".", "-") // claude-opus-4.7 at some providers
	}
	return name
}
