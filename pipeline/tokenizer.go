package pipeline

import (
	"github.com/anchor-host/anchor-host/pipeline/tokens"
)

// DefaultEncoding is the tokenizer of a pipeline whose configuration names none.
const DefaultEncoding = "cl100k_base"

// TokenizerNames lists the names that [EncodingTokenizer] knows.
func TokenizerNames() []string {
	return append([]string{tokens.WordsName}, tokens.Names()...)
}

// WordTokenizer counts white-space separated words; blank text counts 0.
func WordTokenizer() Tokenizer { return tokens.Words{} }

// EncodingTokenizer returns the tokenizer of that name: "words", "cl100k_base",
// "o200k_base", "p50k_base" or "r50k_base". The vocabularies are part of the program; the
// first count loads them. The error wraps [tokens.ErrUnknownEncoding].
func EncodingTokenizer(name string) (Tokenizer, error) {
	if name == tokens.WordsName {
		return tokens.Words{}, nil
	}
	enc, err := tokens.Get(name)
	if err != nil {
		return nil, err
	}
	return enc, nil
}

// ModelTokenizer returns the tokenizer of a model, such as "gpt-4o" or
// "claude-sonnet-4-5"; see [tokens.LookupModel] for the names. For a model whose vocabulary
// is not public it returns a new [*tokens.Estimator]. This counts the upper end of its
// estimate, and becomes more precise with the usage figures passed to its calibration. The
// error wraps [tokens.ErrUnknownModel].
func ModelTokenizer(model string) (Tokenizer, error) {
	m, err := tokens.LookupModel(model)
	if err != nil {
		return nil, err
	}
	enc, err := tokens.Get(m.Encoding)
	if err != nil || m.Exact() {
		return enc, err
	}
	c, err := tokens.NewCalibration(m.Low, m.High)
	if err != nil {
		return nil, err
	}
	return tokens.NewEstimator(m.Family, enc, c), nil
}
