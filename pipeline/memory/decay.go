package memory

import (
	"fmt"
	"math"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// Decay measures how well an entry is remembered at a time: from 1 for perfectly to 0 for
// not at all. It depends on the time since the last access, or since the creation of an
// entry that was never accessed. An entry with neither time is remembered perfectly.
type Decay interface {
	Retention(e *Entry, now time.Time) float64
}

// DecayFunc makes a function a [Decay]. A result below 0 or above 1 becomes 0 or 1, and NaN
// becomes 0.
type DecayFunc func(e *Entry, now time.Time) float64

// Retention calls f.
func (f DecayFunc) Retention(e *Entry, now time.Time) float64 { return unit(f(e, now)) }

// Ebbinghaus is the forgetting curve e^(-hours/strength), where strength grows with
// every access. [DefaultEbbinghaus] has the usual numbers.
type Ebbinghaus struct {
	// Strength is the strength of an entry that was never accessed, above 0, in hours.
	Strength float64
	// Reinforcement is how much each access adds to Strength, in hours, 0 or more.
	Reinforcement float64
}

// DefaultEbbinghaus forgets two thirds of what is never accessed within an hour.
var DefaultEbbinghaus = Ebbinghaus{Strength: 1, Reinforcement: 0.5}

// Validate checks the numbers.
func (d Ebbinghaus) Validate() error {
	if !(d.Strength > 0) || math.IsInf(d.Strength, 0) || !(d.Reinforcement >= 0) || math.IsInf(d.Reinforcement, 0) {
		return fmt.Errorf("decay: strength %v, reinforcement %v: %w (want above 0, and 0 or more)", d.Strength, d.Reinforcement, pipeline.ErrInvalid)
	}
	return nil
}

// Retention implements [Decay]. It returns 0 if the numbers are not valid.
func (d Ebbinghaus) Retention(e *Entry, now time.Time) float64 {
	return unit(math.Exp(-idleHours(e, now) / (d.Strength + float64(e.AccessCount)*d.Reinforcement)))
}

// Linear falls from 1 to 0.5 within HalfLife, and to 0 within twice that time. The number
// of accesses has no effect.
type Linear struct {
	// HalfLife is DefaultHalfLife when 0.
	HalfLife time.Duration
}

// DefaultHalfLife is a week.
const DefaultHalfLife = 168 * time.Hour

// Validate checks the half-life.
func (d Linear) Validate() error {
	if d.HalfLife < 0 {
		return fmt.Errorf("decay: half-life %s: %w (want more than 0)", d.HalfLife, pipeline.ErrInvalid)
	}
	return nil
}

// Retention implements [Decay].
func (d Linear) Retention(e *Entry, now time.Time) float64 {
	return unit(1 - idleHours(e, now)/(2*orHalfLife(d.HalfLife).Hours()))
}

// halving halves the retention every DefaultHalfLife. A search without a decay uses it for
// recency.
type halving struct{}

func (halving) Retention(e *Entry, now time.Time) float64 {
	return unit(math.Exp2(-idleHours(e, now) / DefaultHalfLife.Hours()))
}

func orHalfLife(d time.Duration) time.Duration {
	if d == 0 {
		return DefaultHalfLife
	}
	return d
}

// idleHours is the time since the last access.
func idleHours(e *Entry, now time.Time) float64 {
	at := e.LastAccessed
	if at.IsZero() {
		at = e.CreatedAt
	}
	if at.IsZero() {
		return 0
	}
	return now.Sub(at).Hours()
}

// unit limits x to the range 0 to 1. NaN becomes 0.
func unit(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(1, x)
}
