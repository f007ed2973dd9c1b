package guesttext

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestSecretsHide(t *testing.T) {
	s := NewSecrets([]string{"sesame", "sesame-open", "abc", ""})
	for text, want := range map[string]string{
		"": "", "sesame": "***", "a sesame-open b sesame-close": "a *** b ***-close", "abc": "abc", "Sesame": "Sesame",
	} {
		if got := s.Hide(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	var none *Secrets
	if none.Hide("sesame") != "sesame" || NewSecrets([]string{"abc"}) != nil {
		t.Error("nothing to hide")
	}
	err := s.HideError(errors.Join(errors.New("sesame"), context.Canceled))
	if strings.Contains(err.Error(), "sesame") || !errors.Is(err, context.Canceled) || errors.Unwrap(err) != nil {
		t.Errorf("%v", err)
	}
	if plain := errors.New("plain"); !errors.Is(s.HideError(plain), plain) || s.HideError(nil) != nil {
		t.Error("an error without a secret is another one")
	}
}

func TestSecretsInLogs(t *testing.T) {
	var out bytes.Buffer
	log := NewSecrets([]string{"sesame"}).Logger(slog.New(slog.NewTextHandler(&out, nil)))
	log.With("a", "sesame").WithGroup("g").Info("sesame", "b", "sesame", "err", errors.New("sesame"), slog.Group("c", "d", "sesame"), "list", []string{"sesame"})
	if strings.Contains(out.String(), "sesame") || !strings.Contains(out.String(), "level=INFO") {
		t.Error(out.String())
	}
}
