package spec

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/internal/errkind"
)

// Texts is what a module says about itself for people, in Markdown. Its author wrote it: show it
// as text that is not trusted.
type Texts struct {
	// Readme says what the plugin does, Changelog what changed in which version. Each has at most
	// abi.MaxText bytes, and is empty if the module has none.
	Readme    string `json:"readme,omitempty"`
	Changelog string `json:"changelog,omitempty"`
}

// Texts returns the texts of the module. It reads the file of the module if a [Reader] has not
// done so. Errors are those of reading it, or wrap ErrNotWasm, or ErrManifest for a text that is
// too long, not UTF-8, or there twice.
func (s *Spec) Texts() (Texts, error) {
	wasm, err := s.source.bytes()
	if err != nil {
		return Texts{}, err
	}
	var out Texts
	for _, part := range out.parts() {
		if n := s.source.info.CountCustom(part.section); n > 1 {
			return Texts{}, errkind.As(ErrManifest, fmt.Errorf("the module has %d custom sections %q (build it with one)", n, part.section))
		}
		text, _, err := wasmbin.Custom(wasm, part.section)
		if err != nil {
			return Texts{}, errkind.As(ErrNotWasm, err)
		}
		for _, c := range s.source.info.Customs {
			if c.Name == part.section {
				err = checkText(text, c.Size)
			}
		}
		if err != nil {
			return Texts{}, errkind.As(ErrManifest, fmt.Errorf("custom section %q: %w", part.section, err))
		}
		*part.text = string(text)
	}
	return out, nil
}

// textPart is one of the texts with the name of its section.
type textPart struct {
	section string
	text    *string
}

// parts lists the texts in the order of their sections in a module.
func (t *Texts) parts() []textPart {
	return []textPart{{abi.ReadmeSection, &t.Readme}, {abi.ChangelogSection, &t.Changelog}}
}

// checkText checks one text of a size.
func checkText(text []byte, size int) error {
	switch {
	case size > abi.MaxText:
		return fmt.Errorf("has %d bytes (shorten it to at most %d)", size, abi.MaxText)
	case !utf8.Valid(text):
		return fmt.Errorf("is not UTF-8 (save it as UTF-8)")
	}
	return nil
}

// EmbedTexts returns a copy of a module with the texts in custom sections. An empty text adds
// none. A module that already holds the same text keeps it. Errors wrap ErrManifest, also for a
// module that holds another text, or ErrNotWasm.
func EmbedTexts(wasm []byte, t Texts) ([]byte, error) {
	for _, part := range t.parts() {
		text := []byte(*part.text)
		if len(text) == 0 {
			continue
		}
		if err := checkText(text, len(text)); err != nil {
			return nil, errkind.As(ErrManifest, fmt.Errorf("custom section %q: %w", part.section, err))
		}
		own, ok, err := wasmbin.Custom(wasm, part.section)
		switch {
		case err != nil:
			return nil, errkind.As(ErrNotWasm, err)
		case ok && bytes.Equal(own, text):
			continue
		case ok:
			return nil, errkind.As(ErrManifest, fmt.Errorf("the module has another text in its custom section %q (build it without one)", part.section))
		}
		if wasm, err = wasmbin.AppendCustom(wasm, part.section, text); err != nil {
			return nil, errkind.As(ErrNotWasm, err)
		}
	}
	return wasm, nil
}
