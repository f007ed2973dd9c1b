package hf

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// part is a normalizer or pre-tokenizer of a file. It has the fields of all types.
type part struct {
	Type          string           `json:"type"`
	Normalizers   []jsontext.Value `json:"normalizers"`
	PreTokenizers []jsontext.Value `json:"pretokenizers"`

	Prepend       string         `json:"prepend"`
	Content       string         `json:"content"`
	Pattern       jsontext.Value `json:"pattern"`
	StripLeft     bool           `json:"strip_left"`
	StripRight    bool           `json:"strip_right"`
	Charsmap      string         `json:"precompiled_charsmap"`
	Behavior      string         `json:"behavior"`
	Invert        bool           `json:"invert"`
	UseRegex      *bool          `json:"use_regex"`
	AddPrefix     *bool          `json:"add_prefix_space"`
	Replacement   string         `json:"replacement"`
	PrependScheme string         `json:"prepend_scheme"`
	Split         *bool          `json:"split"`
	Individual    bool           `json:"individual_digits"`
	Delimiter     string         `json:"delimiter"`
	CleanText     *bool          `json:"clean_text"`
	Chinese       *bool          `json:"handle_chinese_chars"`
	Accents       *bool          `json:"strip_accents"`
	Lowercase     *bool          `json:"lowercase"`
}

// reader counts the parts of a file while it reads them.
type reader struct{ parts int }

// enter reads the next part.
func (r *reader) enter(value jsontext.Value, depth int) (*part, error) {
	if r.parts++; r.parts > maxParts || depth > maxDepth {
		return nil, fmt.Errorf("parts: %w (at most %d, nested at most %d deep)", errTooMany, maxParts, maxDepth)
	}
	p := new(part)
	if err := decode(value, p); err != nil {
		return nil, err
	}
	for _, s := range []string{p.Prepend, p.Content, p.Replacement, p.Delimiter} {
		if len(s) > maxAddedLen {
			return nil, fmt.Errorf("%s: text of %d bytes: %w (at most %d)", p.Type, len(s), errTooMany, maxAddedLen)
		}
	}
	return p, nil
}
