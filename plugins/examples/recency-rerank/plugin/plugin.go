// Package plugin combines the score of an item with its recency.
package plugin

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Settings are the settings of a step.
type Settings struct {
	// HalfLife is the age at which recency is one half: a duration in Go's syntax, such
	// as "72h", or days and weeks, such as "30d" and "2w". Default "168h".
	HalfLife string `json:"half_life"`
	// Weight is the share of recency in the new score, 0 to 1. Default 0.3.
	Weight float64 `json:"weight"`
	// Missing is the recency of an item without a time, 0 to 1. Default 0.5.
	Missing float64 `json:"missing"`
	// Now, a time in RFC 3339, replaces the clock, so that a build can be repeated.
	// Default: the clock.
	Now string `json:"now"`

	halfLife time.Duration
	now      time.Time
}

// Defaults sets the values that the settings leave out.
func (s *Settings) Defaults() { *s = Settings{HalfLife: "168h", Weight: 0.3, Missing: 0.5} }

// Validate refuses values out of their range, and reads the times.
func (s *Settings) Validate() (err error) {
	if s.halfLife, err = parseDuration(s.HalfLife); err != nil || s.halfLife <= 0 {
		return fmt.Errorf("half_life %q: not a duration above 0 (such as 72h, 30d, 2w)", s.HalfLife)
	}
	if !(s.Weight >= 0 && s.Weight <= 1) {
		return fmt.Errorf("weight %v: not within 0..1", s.Weight)
	}
	if !(s.Missing >= 0 && s.Missing <= 1) {
		return fmt.Errorf("missing %v: not within 0..1", s.Missing)
	}
	if s.Now != "" {
		if s.now, err = time.Parse(time.RFC3339, s.Now); err != nil {
			return fmt.Errorf("now %q: not a time in RFC 3339 (such as 2026-01-31T12:00:00Z)", s.Now)
		}
	}
	return nil
}

// parseDuration accepts the syntax of time.ParseDuration, and whole or fractional numbers of
// days (d) and weeks (w).
func parseDuration(text string) (time.Duration, error) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseFloat(number, 64)
			if err == nil && !(n*float64(length) < math.MaxInt64) {
				err = strconv.ErrRange
			}
			return time.Duration(n * float64(length)), err
		}
	}
	return time.ParseDuration(text)
}

// Time returns the time relative to which ages are measured: the setting, or else the clock.
func (s *Settings) Time(clock func() time.Time) time.Time {
	if !s.now.IsZero() {
		return s.now
	}
	return clock()
}

// Score returns the new score of an item. created is its time, zero if it is unknown:
//
//	(1 - weight) * score + weight * 0.5^(age / half-life)
//
// An item from the future is as recent as one that is made now.
func (s *Settings) Score(score float64, created, now time.Time) float64 {
	recency := s.Missing
	if !created.IsZero() {
		age := max(now.Sub(created), 0)
		recency = math.Exp2(-float64(age) / float64(s.halfLife))
	}
	return min(max((1-s.Weight)*score+s.Weight*recency, 0), 1)
}
