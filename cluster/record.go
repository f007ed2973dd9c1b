package cluster

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/anchor/shadows"
)

// ErrInvalid is wrapped by errors about states and changes that are not as they have to be.
var ErrInvalid = errors.New("not valid")

// ErrNotNow is wrapped by errors about changes that the rollout does not allow as it is.
var ErrNotNow = errors.New("the rollout does not allow this now")

// Version names one configuration with its lock, by digests.
type Version struct {
	// Config is the digest of anchor.yaml, and Lock that of anchor.lock. Lock is empty without such a file.
	Config string `json:"config"`
	Lock   string `json:"lock,omitempty"`
}

// Short returns the first digits of the digest of both, which tell versions apart in lists.
func (v Version) Short() string {
	if v.Config == "" {
		return ""
	}
	return DigestOf([]byte(v.Config + "\n" + v.Lock))[len("sha256:"):][:12]
}

// DigestOf returns the SHA-256 of a document, such as sha256:12ab….
func DigestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Phase says what a rollout does.
type Phase string

// The phases.
const (
	// Settled: there is no candidate.
	Settled Phase = "settled"
	// Running: the share of the candidate grows.
	Running Phase = "running"
	// Paused: the share stays as it is. A candidate beyond the bounds is taken back nevertheless.
	Paused Phase = "paused"
)

// Outcome says how the last rollout has ended.
type Outcome string

// The outcomes.
const (
	// Promoted: the candidate became the stable version.
	Promoted Outcome = "promoted"
	// Aborted: somebody ended the rollout.
	Aborted Outcome = "aborted"
	// Reverted: the candidate was beyond the bounds, or a host could not load it.
	Reverted Outcome = "reverted"
)

// Bounds say when a candidate is taken back. Zero values mean the defaults.
type Bounds struct {
	// Failures is how much greater the share of builds may be that fail or continue without a step: 0.01 is
	// one of 100 builds more. Default: 0.01.
	Failures float64 `json:"failures"`
	// Latency and Fuel are how many times those of the stable version builds may need. Defaults: 1.5.
	Latency float64 `json:"latency"`
	Fuel    float64 `json:"fuel"`
	// Least is the number of builds of the candidate before which nothing is decided. Default: 50.
	Least int64 `json:"least"`
	// Error is the largest probability with which a whole rollout of a candidate that is within the bounds is
	// taken back. Default: 0.01.
	Error float64 `json:"error"`
}

// withDefaults returns the bounds with the defaults.
func (b Bounds) withDefaults() Bounds {
	for _, f := range []struct {
		to       *float64
		fallback float64
	}{{&b.Failures, 0.01}, {&b.Latency, 1.5}, {&b.Fuel, 1.5}, {&b.Error, 0.01}} {
		if *f.to == 0 {
			*f.to = f.fallback
		}
	}
	b.Least = cmp.Or(b.Least, 50)
	return b
}

func (b Bounds) check() error {
	switch {
	case !(b.Failures > 0 && b.Failures < 1):
		return fmt.Errorf("%w: failures %v (want more than 0 and less than 1)", ErrInvalid, b.Failures)
	case !(b.Latency >= 1 && b.Latency <= 1000) || !(b.Fuel >= 1 && b.Fuel <= 1000):
		return fmt.Errorf("%w: latency %v, fuel %v (want 1 to 1000)", ErrInvalid, b.Latency, b.Fuel)
	case !(b.Error >= 1e-9 && b.Error <= 0.5):
		return fmt.Errorf("%w: error %v (want 1e-9 to 0.5)", ErrInvalid, b.Error)
	case b.Least < 1 || b.Least > 1e9:
		return fmt.Errorf("%w: least %d (want 1 to 1000000000)", ErrInvalid, b.Least)
	}
	return nil
}

// DefaultSteps are the shares of conversations that a candidate gets one after another, in percent.
func DefaultSteps() []int { return []int{1, 10, 50, 100} }

// maxSteps bounds the steps of a rollout.
const maxSteps = 20

// Desired is what all hosts follow.
type Desired struct {
	// Generation is one more after each change.
	Generation int64 `json:"generation"`
	// Stable is the version of all conversations that do not have the candidate.
	Stable Version `json:"stable"`
	// Candidate is the version that is tried. nil: there is none.
	Candidate *Version `json:"candidate,omitempty"`
	// Rollout is the generation with which the rollout of the candidate began, or the last one if there is
	// none.
	Rollout int64 `json:"rollout"`
	// Steps are the shares of the candidate, in percent, and Every how long it stays at each; 0: until
	// somebody resumes the rollout with the next step. Step is the number of steps that were reached: 0 while hosts load the
	// candidate, which then has no conversations yet.
	Steps []int         `json:"steps,omitempty"`
	Every time.Duration `json:"every_ns,omitempty"`
	Step  int           `json:"step,omitempty"`
	// Bounds are those of the candidate.
	Bounds Bounds `json:"bounds,omitzero"`
	// Phase says what the rollout does, and Outcome how the last one has ended.
	Phase   Phase   `json:"phase"`
	Outcome Outcome `json:"outcome,omitempty"`
	// Who made the last change, and Why. Time is that of the clock of who made it; nothing depends on it.
	Who  string    `json:"who"`
	Why  string    `json:"why"`
	Time time.Time `json:"time"`
	// Numbers are those of the last change. nil: it was none that numbers decide.
	Numbers *Numbers `json:"numbers,omitempty"`
}

// Share is the share of the conversations that have the candidate, in percent.
func (d *Desired) Share() int {
	if d.Candidate == nil || d.Step < 1 || d.Step > len(d.Steps) {
		return 0
	}
	return d.Steps[d.Step-1]
}

// Member is what a host says of itself.
type Member struct {
	// ID names the host. No two hosts that run have the same.
	ID string `json:"id"`
	// Beats is one more with each record of the host. It is never less than before.
	Beats int64 `json:"beats"`
	// Generation is that of the newest [Desired] that the host has done. Stable and Candidate are what it
	// serves. Stable is the zero value while it serves its own file.
	Generation int64    `json:"generation"`
	Stable     Version  `json:"stable"`
	Candidate  *Version `json:"candidate,omitempty"`
	// Keys is the digest of the file of the keys, if the cluster has one.
	Keys string `json:"keys,omitempty"`
	// Error says why the host could not do Failed, the newest generation. Empty: it did.
	Error  string `json:"error,omitempty"`
	Failed int64  `json:"failed,omitempty"`
	// Build is the version of the program.
	Build string `json:"build"`
	// Rollout is the rollout of the counts, and Counts are those of both versions since it began.
	Rollout int64 `json:"rollout"`
	Counts  Pair  `json:"counts,omitzero"`
	// Shadows compare the second versions of steps with the first ones.
	Shadows []shadows.Comparison `json:"shadows,omitempty"`
	// Time is that of the clock of the host; nothing depends on it.
	Time time.Time `json:"time"`
}

// Pair are the counts of both versions.
type Pair struct {
	Stable    Counts `json:"stable"`
	Candidate Counts `json:"candidate"`
}
