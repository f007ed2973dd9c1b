package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Records says which records of builds are kept in the store, and for how long.
type Records struct {
	Keep    Age  `key:"keep" default:"7d" doc:"The age at which a record is deleted, such as 12h or 7d."`
	MaxSize Size `key:"max_size" default:"1GiB" doc:"The size of all records of all tenants. Beyond it, the oldest of the tenant with the most are deleted."`
	Content bool `key:"content" default:"false" doc:"Keep texts too: those of items, the query and the request. Otherwise a record has names, sizes and digests."`
}

// Limits returns the age and the size in bytes at which records are deleted.
func (r *Records) Limits() (keep time.Duration, maxSize int64) {
	keep, maxSize = 7*day, 1<<30
	if r.Keep > 0 {
		keep = time.Duration(r.Keep)
	}
	if r.MaxSize > 0 {
		maxSize = int64(r.MaxSize)
	}
	return keep, maxSize
}

// day is the unit of an age that time.ParseDuration does not know.
const day = 24 * time.Hour

// maxDays is the longest age in days: a hundred years.
const maxDays = 36_500

// Age is a time span in days or in units of a [Duration]: "7d", "12h".
type Age time.Duration

// UnmarshalText parses an age; it must be positive.
func (a *Age) UnmarshalText(text []byte) error {
	if days, ok := strings.CutSuffix(string(text), "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > maxDays {
			return fmt.Errorf("want a number of days from 1d to %dd, got %q", maxDays, text)
		}
		*a = Age(time.Duration(n) * day)
		return nil
	}
	var d Duration
	if err := d.UnmarshalText(text); err != nil {
		return fmt.Errorf("want an age such as %q or %q, got %q", "7d", "12h", text)
	}
	*a = Age(d)
	return nil
}

// ParseSince reads a point in time: an age before now such as "7d" or "24h", or a time of RFC 3339.
// Empty is the zero time.
func ParseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	var age Age
	if age.UnmarshalText([]byte(text)) != nil {
		return time.Time{}, fmt.Errorf("%.100q (want an age such as 24h or 7d, or a time such as 2026-05-01T12:00:00Z)", text)
	}
	return now.Add(-time.Duration(age)), nil
}

// String returns the age in days if it has no other part.
func (a Age) String() string {
	if d := time.Duration(a); d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return time.Duration(a).String()
}
