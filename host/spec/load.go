package spec

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/internal/errkind"
)

// LoadEstimate is the most that loading a module takes, without what the guest itself does and
// allocates when it runs.
type LoadEstimate struct {
	// Memory is the peak in bytes. Time is the time on one processor of about 3 GHz. MemoryFor
	// and TimeFor name the part of the module that takes most of each.
	Memory    int64
	Time      time.Duration
	MemoryFor string
	TimeFor   string
	// MaxMemory and MaxTime are the default limits for Memory and Time; see [LoadLimits].
	MaxMemory int64
	MaxTime   time.Duration
}

// Near reports whether memory or time exceed three quarters of their limits.
func (e LoadEstimate) Near() bool {
	return e.Memory > e.MaxMemory/4*3 || e.Time > e.MaxTime/4*3
}

// LoadEstimate returns what loading the module takes for the interpreter, or for the compiler.
func (s *Spec) LoadEstimate(interpreted bool) LoadEstimate {
	e, most := s.module.Facts.Compiled, wasmbin.Budget(s.module.CodeSize)
	if interpreted {
		e = s.module.Facts.Interpreted
	}
	return LoadEstimate{e.Memory, e.Time, e.Mostly, e.Longest, most.Memory, most.Time}
}

// LoadLimits bound what loading a module may take. A field that is 0 means its default.
type LoadLimits struct {
	// Memory is in bytes, Time is time of one processor. The defaults are MaxMemory and
	// MaxTime of [LoadEstimate].
	Memory int64
	Time   time.Duration
	// Stack bounds the stack that calls take in the interpreter, in bytes: the interpreter
	// bounds only how deep calls nest, not the size of their frames. The default is
	// DefaultMemory.
	Stack int64
}

// CheckLoad refuses a module whose estimate for the interpreter, or for the compiler, exceeds
// the limits. The error wraps ErrTooLarge.
func (s *Spec) CheckLoad(interpreted bool, l LoadLimits) error {
	e := s.LoadEstimate(interpreted)
	e.MaxMemory, e.MaxTime = cmp.Or(l.Memory, e.MaxMemory), cmp.Or(l.Time, e.MaxTime)
	var other string
	if !interpreted {
		if i := s.LoadEstimate(true); i.Memory <= e.MaxMemory && i.Time <= e.MaxTime && s.checkFrames(l) == nil {
			other = "; or state engine: interpreter, many times slower"
		}
	}
	var what []string
	if e.Memory > e.MaxMemory {
		what = append(what, fmt.Sprintf("to load it takes about %s of memory, most of it for %s, allowed %s (raise limits.load_memory%s)",
			sizeText(e.Memory), e.MemoryFor, sizeText(e.MaxMemory), other))
	}
	if e.Time > e.MaxTime {
		what = append(what, fmt.Sprintf("to load it takes about %s, most of it for %s, allowed %s (raise limits.load_time%s)",
			e.Time.Round(time.Millisecond), e.TimeFor, e.MaxTime.Round(time.Millisecond), other))
	}
	if len(what) > 0 {
		return errkind.As(ErrTooLarge, errors.New(strings.Join(what, "; ")))
	}
	if !interpreted {
		return nil
	}
	return s.checkFrames(l)
}

// checkFrames refuses a module whose calls could take more of the interpreter's stack than the
// limit.
func (s *Spec) checkFrames(l LoadLimits) error {
	most := cmp.Or(l.Stack, DefaultMemory)
	if need := s.module.InterpretedStack(); need > most {
		return errkind.As(ErrTooLarge, fmt.Errorf("calls of function %d take up to %s of the interpreter's stack, allowed %s (split the function, raise limits.memory, or use the compiler)",
			s.module.Facts.FrameFunc, sizeText(need), sizeText(most)))
	}
	return nil
}

// sizeText rounds a size up to whole MiB.
func sizeText(n int64) string { return fmt.Sprintf("%d MiB", (n-1)>>20+1) }
