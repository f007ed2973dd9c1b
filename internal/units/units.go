// Package units parses and formats sizes and durations of manifests and configurations.
package units

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// ErrUnit is wrapped by errors about sizes and durations.
var ErrUnit = errors.New("not a size or duration")

var sizeUnits = [...]struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// ParseSize reads a size: a whole number above 0 and one of the units B, KiB,
// MiB and GiB, such as "64MiB". The result is in bytes.
func ParseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
	unit := s[len(digits):]
	for _, u := range sizeUnits {
		if u.name != unit {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil || n == 0 || n > uint64(math.MaxInt64/u.bytes) {
			return 0, unitError("size", s, "want a whole number above 0 with a unit, such as 64MiB")
		}
		return int64(n) * u.bytes, nil
	}
	return 0, unitError("size", s, "want a number with one of the units B, KiB, MiB, GiB, such as 64MiB")
}

// FormatSize writes n bytes as ParseSize reads them, in the largest unit that
// divides n.
func FormatSize(n int64) string {
	for _, u := range sizeUnits {
		if n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return "0B"
}

// ParseDuration reads a duration above 0, such as "2s" or "1m30s".
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, unitError("duration", s, "want a number above 0 with one of the units ms, s, m, h, such as 2s")
	}
	return d, nil
}

type unitErr string

func (e unitErr) Error() string { return string(e) }
func (e unitErr) Unwrap() error { return ErrUnit }

func unitError(kind, s, want string) error {
	return unitErr(kind + " " + strconv.Quote(s) + " is malformed (" + want + ")")
}
