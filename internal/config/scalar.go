package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/units"
)

// Duration is a time span written "500ms", "2s" or "1m30s".
type Duration time.Duration

// UnmarshalText parses a span; it must be positive.
func (d *Duration) UnmarshalText(text []byte) error {
	span, err := time.ParseDuration(string(text))
	if err != nil || span <= 0 {
		return fmt.Errorf("want a time span such as %q, got %q", "2s", text)
	}
	*d = Duration(span)
	return nil
}

// String returns the span in the form of the file, without parts that are zero.
func (d Duration) String() string {
	s := time.Duration(d).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// Size is a number of bytes written "64MiB" or "1KiB".
type Size int64

// UnmarshalText parses a size; it must be positive.
func (s *Size) UnmarshalText(text []byte) error {
	bytes, err := units.ParseSize(string(text))
	if err != nil || bytes <= 0 {
		return fmt.Errorf("want a size such as %q, got %q", "64MiB", text)
	}
	*s = Size(bytes)
	return nil
}

// String returns the size in the largest unit that divides it.
func (s Size) String() string {
	for _, unit := range []struct {
		name string
		size Size
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if s >= unit.size && s%unit.size == 0 {
			return fmt.Sprintf("%d%s", s/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%dB", int64(s))
}

// ErrInvalid marks a configuration or request that cannot be used.
var ErrInvalid = errors.New("invalid")
