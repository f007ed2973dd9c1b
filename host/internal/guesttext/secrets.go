package guesttext

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// minSecret is the length from which secrets are looked for, in bytes. A shorter text is found
// where it means something else.
const minSecret = 4

// Secrets hides texts. nil hides nothing.
type Secrets struct{ replacer *strings.Replacer }

// NewSecrets returns what hides texts, longer ones first, nil if none is long enough.
func NewSecrets(texts []string) *Secrets {
	texts = slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return len(s) < minSecret })
	if len(texts) == 0 {
		return nil
	}
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range texts {
		pairs = append(pairs, s, "***")
	}
	return &Secrets{strings.NewReplacer(pairs...)}
}

// Hide returns a text with asterisks in place of secrets.
func (s *Secrets) Hide(text string) string {
	if s == nil {
		return text
	}
	return s.replacer.Replace(text)
}

// HideError returns err with another text, if its text shows a secret.
func (s *Secrets) HideError(err error) error {
	if s == nil || err == nil {
		return err
	}
	if text := err.Error(); s.Hide(text) != text {
		return &hiddenError{s.Hide(text), err}
	}
	return err
}

// hiddenError is an error whose text shows a secret, with a text that does not.
type hiddenError struct {
	text string
	err  error
}

func (e *hiddenError) Error() string        { return e.text }
func (e *hiddenError) Is(target error) bool { return errors.Is(e.err, target) }

// Logger returns a logger that hides secrets.
func (s *Secrets) Logger(to *slog.Logger) *slog.Logger {
	if s == nil {
		return to
	}
	return slog.New(hidingHandler{to.Handler(), s})
}

// hidingHandler hides secrets in messages and attributes.
type hidingHandler struct {
	slog.Handler
	secrets *Secrets
}

func (h hidingHandler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.secrets.Hide(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

func (h hidingHandler) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.secrets.Hide(v.String()))
	case slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(h.all(v.Group())...)}
	case slog.KindAny:
		if text := fmt.Sprint(v.Any()); h.secrets.Hide(text) != text {
			return slog.String(a.Key, h.secrets.Hide(text))
		}
	}
	return a
}

func (h hidingHandler) all(attrs []slog.Attr) []slog.Attr {
	hidden := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		hidden[i] = h.attr(a)
	}
	return hidden
}

func (h hidingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return hidingHandler{h.Handler.WithAttrs(h.all(attrs)), h.secrets}
}

func (h hidingHandler) WithGroup(name string) slog.Handler {
	return hidingHandler{h.Handler.WithGroup(name), h.secrets}
}
