package keyscmd

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/server/quota"
)

// moment reads a time: a span from now on, or a time of RFC 3339. "" is the zero time.
func moment(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	var span time.Duration
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return time.Time{}, badMoment(s)
		}
		span = time.Duration(n) * 24 * time.Hour
	} else if d, err := time.ParseDuration(s); err == nil {
		span = d
	} else {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return time.Time{}, badMoment(s)
		}
		span = at.Sub(now)
		if span > 0 {
			return at.UTC(), nil
		}
	}
	if span <= 0 {
		return time.Time{}, fmt.Errorf("%q is not in the future", s)
	}
	return now.Add(span), nil
}

func badMoment(s string) error {
	return fmt.Errorf("want a time span such as 90d or 12h, or a time such as 2027-01-31T00:00:00Z, got %.60q", s)
}

// limits reads limits of the form NAME=VALUE.
func limits(list []string) (l quota.Limits, err error) {
	values := map[string]any{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return l, fmt.Errorf("want NAME=VALUE such as requests_per_second=5, got %.60q", text)
		}
		if _, twice := values[name]; twice {
			return l, fmt.Errorf("%.60s is there twice", name)
		}
		values[name] = value
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			values[name] = n
		} else if f, err := strconv.ParseFloat(value, 64); err == nil {
			values[name] = f
		}
	}
	return l, strict.DecodeAny("limit", values, &l)
}
