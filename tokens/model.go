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
	// Family is the entry of [Models] that the name belongs to. For an unknown model it is its
	// own name in lower case, without what providers add.
	Family string
	// Encoding is the name of the encoding to count with.
	Encoding string
	// Low and High bound the tokens of the model for each token of Encoding. Both are 1
	// when the model itself uses Encoding.
	Low, High float64
	// Source says where Low and High come from. It is empty when Exact.
	Source string
}

// Exact reports whether the model itself uses the encoding.
func (m Model) Exact() bool { return m.Low == 1 && m.High == 1 }

// source is the origin of the factors of some families. Measured factors are those of 35 kinds of
// text: English prose, code in three languages, HTML, JSON, Markdown, and program messages in 27
// languages. They are rounded outwards. [Calibration] narrows them for the texts of a program.
type source struct {
	low, high float64
	text      string
}

var (
	own = source{1, 1, ""}

	// Comparisons of Claude 3.5 with GPT-4o found 16 % more tokens for English, 21 % for
	// mathematics, 30 % for Python. Opus 4.7 and later have a new tokenizer, documented as 1.0 to
	// 1.35 times the former, and measured at up to 1.46. The bounds also cover scripts for which
	// o200k_base needs few tokens.
	claude    = source{0.9, 1.6, "published comparisons of Claude 3.5 with GPT-4o, widened"}
	claudeNew = source{1, 2.2, "published comparisons of Claude 3.5 with GPT-4o, and the documented 1.0 to 1.35 of the newer tokenizer, widened"}
	claudeAny = source{0.9, 2.2, "the bounds of all Claude models"}

	// Google's library counts for Gemini 2 and 3 with the vocabulary of Gemma 3, which is close to
	// that of Gemma 1. Digits are tokens of their own.
	gemini = source{0.8, 1.9, "measured with the vocabulary of Gemma"}
	// The vocabulary of Llama 3 begins with that of cl100k_base. It needs fewer tokens for other
	// scripts than Latin.
	llama3 = source{0.45, 1.1, "measured with the vocabulary of Llama 3"}
	llama2 = source{1, 2.8, "measured with a SentencePiece vocabulary of 32,768 tokens"}
	// Digits are tokens of their own, where cl100k_base has one for three.
	qwen     = source{0.4, 1.4, "measured with the vocabulary of Qwen 2.5"}
	deepseek = source{0.8, 1.9, "measured with the vocabulary of DeepSeek V3"}
	tekken   = source{0.95, 1.5, "measured with the vocabulary tekken"}
	mistral  = source{0.95, 2.8, "measured with the vocabularies tekken and V3"}

	llama4  = source{0.8, 2, "our estimate: no measurement"}
	grok    = source{0.8, 2, "our estimate: no published vocabulary"}
	newer   = source{0.8, 1.5, "our estimate: no published vocabulary"}
	unknown = source{0.8, 2.8, "the bounds of most known models"}
)

// family is a group of models by the beginning of their names.
type family struct {
	prefix, encoding string
	source           source
}

// ends reports whether rest, the part of a name after the prefix, belongs to a version of
// the same family.
func (f *family) ends(rest string) bool {
	if strings.HasSuffix(f.prefix, ".") {
		return rest != ""
	}
	return rest == "" || strings.Contains("-:@", rest[:1])
}

func counted(encoding string, by source, prefixes ...string) []family {
	out := make([]family, len(prefixes))
	for i, p := range prefixes {
		out[i] = family{p, encoding, by}
	}
	return out
}

// families are the known families, the longest prefix first. Any version may follow a prefix
// that ends in a dot. p50k_edit and o200k_harmony differ from p50k_base and o200k_base only
// in special tokens.
var families = longestFirst(
	counted("o200k_base", own,
		"gpt-5", "gpt-5.", "gpt-4.5", "gpt-4.1", "gpt-4o", "chatgpt-4o",
		"gpt-oss", "gpt-audio", "gpt-realtime", "o1", "o3", "o4", "codex-mini", "computer-use-preview"),
	counted("o200k_base", newer, "gpt-6", "gpt-6."),
	counted("cl100k_base", own,
		"gpt-4", "gpt-3.5", "gpt-35", "gpt-3.5-turbo", "gpt-35-turbo", "davinci-002", "babbage-002",
		"text-embedding-ada-002", "text-embedding-3-small", "text-embedding-3-large"),
	counted("p50k_base", own,
		"text-davinci-003", "text-davinci-002", "text-davinci-edit-001", "code-davinci-edit-001",
		"code-davinci-002", "code-davinci-001", "code-cushman-002", "code-cushman-001", "davinci-codex", "cushman-codex"),
	counted("r50k_base", own,
		"text-davinci-001", "text-curie-001", "text-babbage-001", "text-ada-001", "davinci", "curie", "babbage", "ada",
		"text-similarity", "text-search", "code-search", "gpt2", "gpt-2"),
	counted("o200k_base", claude,
		"claude-instant", "claude-2", "claude-3", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-5", "claude-opus-4-6",
		"claude-opus-4-20250514", "claude-sonnet-4-20250514", "claude-sonnet-4-0", "claude-sonnet-4-5", "claude-sonnet-4-6", "claude-haiku-4-5"),
	counted("o200k_base", claudeNew, "claude-opus-4-7", "claude-opus-4-8"),
	counted("o200k_base", claudeAny, "claude"),
	counted("o200k_base", gemini, "gemini", "gemma", "gemma2", "gemma3", "gemma3n"),
	counted("cl100k_base", llama3, "llama3", "llama3.", "llama-3", "llama-3.", "meta-llama-3", "meta-llama-3."),
	counted("o200k_base", llama4, "llama4", "llama-4", "llama"),
	counted("o200k_base", llama2, "llama2", "llama-2", "codellama"),
	counted("cl100k_base", qwen, "qwen", "qwen2", "qwen2.", "qwen3", "qwen3.", "qwen-2", "qwen-2.", "qwen-3", "qwen-3.", "qwq"),
	counted("o200k_base", deepseek, "deepseek"),
	counted("o200k_base", tekken,
		"mistral-nemo", "open-mistral-nemo", "ministral", "pixtral", "magistral", "devstral", "voxtral", "mistral-medium"),
	counted("o200k_base", mistral, "mistral", "open-mistral", "mixtral", "open-mixtral", "codestral", "mathstral"),
	counted("o200k_base", grok, "grok"),
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
// "openai/gpt-4o", "ft:gpt-4o:org" and "us.anthropic.claude-3-5-haiku".
//
// For an unknown name it returns a wide estimate together with an [ErrUnknownModel] that lists
// similar names, if there are any. Treat this error as a warning, unless the name must be a known one.
func LookupModel(name string) (Model, error) {
	plain := PlainName(name)
	known := taught(plain)
	for i := range families {
		f := &families[i]
		if rest, ok := strings.CutPrefix(known, f.prefix); ok && f.ends(rest) {
			return Model{f.prefix, f.encoding, f.source.low, f.source.high, f.source.text}, nil
		}
	}
	m := Model{shorten(plain), "o200k_base", unknown.low, unknown.high, unknown.text}
	return m, fmt.Errorf("model %q: %w: its tokens are estimated as %v to %v of those of %s (%sset tokenizer)",
		shorten(name), ErrUnknownModel, m.Low, m.High, m.Encoding, similar(m.Family))
}

// taught returns a name of the family whose vocabulary a model uses. A model that DeepSeek has
// trained to imitate its own has the vocabulary of the model that it was trained from.
func taught(plain string) string {
	switch {
	case strings.Contains(plain, "distill-llama"):
		return "llama-3"
	case strings.Contains(plain, "distill-qwen"):
		return "qwen-2.5"
	}
	return plain
}

// similar proposes the names closest to an unknown one, or returns "" if none is near.
func similar(plain string) string {
	if nearest.Name(plain, Models()) == "" {
		return ""
	}
	return "similar names: " + strings.Join(nearest.Names(plain, Models(), 3), ", ") + "; or "
}

// shorten returns the beginning of a long name.
func shorten(name string) string {
	if len(name) <= maxModelName {
		return name
	}
	return strings.ToValidUTF8(name[:maxModelName], "") + "…"
}

// maxModelName is the number of bytes of an unknown name that are kept.
const maxModelName = 100

// PlainName returns the model's own name, without what providers add, in lower case:
// "gpt-4o" for "openai/GPT-4o".
func PlainName(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	owner := ""
	if i := strings.Index("/"+name, "/ft:"); i >= 0 {
		// The owner of a fine-tuned model chooses what follows the second colon.
		name, owner, _ = strings.Cut(name[i+len("ft:"):], ":")
	}
	name = strings.TrimRight(name, "/")
	name = withoutVendor(name[strings.LastIndex(name, "/")+1:])
	if strings.HasPrefix(name, "llama") || strings.HasPrefix(name, "meta-llama") {
		name = strings.ReplaceAll(name, "_", ".") // llama-3_1
	}
	if version, ok := strings.CutPrefix(name, "llama-v"); ok {
		if len(version) > 1 && version[1] == 'p' {
			version = version[:1] + "." + version[2:]
		}
		name = "llama-" + version // llama-v3p1
	}
	if strings.HasPrefix(name, "claude") {
		name = strings.ReplaceAll(name, ".", "-") // claude-opus-4.7 at some providers
	}
	if owner != "" {
		name += ":" + owner
	}
	return name
}

// withoutVendor removes the region and the vendor that Bedrock puts before a name.
func withoutVendor(name string) string {
	for _, region := range []string{"us.", "us-gov.", "eu.", "apac.", "jp.", "au.", "global."} {
		if after, ok := strings.CutPrefix(name, region); ok && after != "" {
			name = after
		}
	}
	for _, vendor := range []string{"anthropic.", "meta.", "mistral.", "openai.", "google.", "qwen."} {
		if _, after, ok := strings.Cut(name, vendor); ok && after != "" {
			name = after
		}
	}
	if after, ok := strings.CutPrefix(name, "deepseek."); ok && after != "" {
		name = "deepseek-" + strings.TrimPrefix(after, "deepseek-") // deepseek.r1 lacks its family
	}
	return name
}
