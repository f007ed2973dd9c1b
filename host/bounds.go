package host

import (
	"fmt"
	"math"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// What a bound can say besides a number. In each field that bounds something 0 means the
// default, which is finite. A field that takes Unlimited or None says so. The others refuse
// them with ErrConfig: what a guest takes of the host's memory and time is always bounded.
const (
	// Unlimited as a bound means that there is none.
	Unlimited = -1
	// None as a bound means zero.
	None = -2
)

// Why a bound cannot be lifted, or be zero.
const (
	boundedTime   = "the time of a guest is always bounded: state the most"
	boundedMemory = "the memory that guests take of the host is always bounded: state the most"
	needsSome     = "a plugin needs some"
	needsOne      = "a plugin needs one at least"
	mayBreak      = "set break_after: unlimited to never pause the plugin"
	useWhole      = "leave the grant out"
	useReadOnly   = "grant the folder with mode ro"
)

// bound is the value of a field that bounds something. unlimited says why the field does not
// take Unlimited, none why it does not take None; "" if it does.
type bound struct {
	name            string
	v               int64
	unlimited, none string
}

// check refuses a value that the field does not take. Its error wraps ErrConfig.
func (b bound) check() error {
	why, word := "", ""
	switch {
	case b.v >= 0:
		return nil
	case b.v == Unlimited:
		word, why = "unlimited", b.unlimited
	case b.v == None:
		word, why = "none", b.none
	default:
		return fmt.Errorf("%s %d: %w (want a number above 0, or 0 for the default%s)", b.name, b.v, ErrConfig, b.words())
	}
	if why == "" {
		return nil
	}
	return fmt.Errorf("%s %s: %w (%s)", b.name, word, ErrConfig, why)
}

// words says which words the field takes, for an error.
func (b bound) words() (words string) {
	if b.unlimited == "" {
		words += fmt.Sprintf(", or Unlimited, %d", Unlimited)
	}
	if b.none == "" {
		words += fmt.Sprintf(", or None, %d", None)
	}
	return words
}

// firstBad returns the error of the first bound that does not take its value, nil if each
// does.
func firstBad(bounds ...bound) error {
	for _, b := range bounds {
		if err := b.check(); err != nil {
			return err
		}
	}
	return nil
}

// Check refuses limits that are not valid. The error names the limit and wraps ErrConfig.
func (l Limits) Check() error {
	if err := firstBad(
		bound{"limit timeout", int64(l.Timeout), boundedTime, needsSome},
		bound{"limit init_timeout", int64(l.InitTimeout), boundedTime, needsSome},
		bound{"limit queue_timeout", int64(l.QueueTimeout), "", ""},
		bound{"limit idle_timeout", int64(l.IdleTimeout), "", ""},
		bound{"limit fuel", l.Fuel, "", needsSome},
		bound{"limit memory", l.Memory, boundedMemory, needsSome},
		bound{"limit input", l.Input, boundedMemory, needsSome},
		bound{"limit output", l.Output, boundedMemory, needsSome},
		bound{"limit log_bytes", l.LogBytes, boundedMemory, ""},
		bound{"limit http_body", l.HTTPBody, boundedMemory, ""},
		bound{"limit items", int64(l.Items), "", ""},
		bound{"limit tokens", int64(l.Tokens), "", ""},
		bound{"limit instances", int64(l.Instances), "", needsOne},
		bound{"limit min_instances", int64(l.MinInstances), boundedMemory, ""},
		bound{"limit break_after", int64(l.BreakAfter), "", needsOne},
		bound{"limit break_most", int64(l.BreakMost), mayBreak, mayBreak},
		bound{"limit load_memory", l.LoadMemory, boundedMemory, needsSome},
		bound{"limit load_time", int64(l.LoadTime), boundedTime, needsSome},
	); err != nil {
		return err
	}
	if l.Memory > 4<<30 {
		return fmt.Errorf("limit memory %d: %w (want at most 4GiB)", l.Memory, ErrConfig)
	}
	return nil
}

// inForce returns limits with numbers in the place of Unlimited and None. instances is the
// most that there may be of one plugin.
func (l Limits) inForce(instances int) Limits {
	l.QueueTimeout = numberOf(l.QueueTimeout, math.MaxInt64)
	l.IdleTimeout = max(numberOf(l.IdleTimeout, math.MaxInt64), soon)
	l.Fuel = numberOf(l.Fuel, endlessFuel)
	l.LogBytes, l.HTTPBody = numberOf(l.LogBytes, 0), numberOf(l.HTTPBody, 0)
	l.Items, l.Tokens = numberOf(l.Items, abi.MaxRows), numberOf(l.Tokens, math.MaxInt)
	l.Instances, l.MinInstances = numberOf(l.Instances, instances), numberOf(l.MinInstances, 0)
	l.BreakAfter = numberOf(l.BreakAfter, math.MaxInt)
	return l
}

// soon is the least IdleTimeout, so that looking for idle instances takes little of a
// processor.
const soon = 10 * time.Millisecond

// endlessFuel is more fuel than a call can use in years. The fuel of init, a multiple of it,
// stops at the largest number.
const endlessFuel = 1 << 60

// numberOf returns most for Unlimited, 0 for None, and other values as they are.
func numberOf[T ~int | ~int64](v, most T) T {
	switch v {
	case Unlimited:
		return most
	case None:
		return 0
	}
	return v
}

// saturate multiplies without overflow.
func saturate(v int64, factor float64) int64 {
	if f := float64(v) * factor; f < math.MaxInt64 {
		return int64(f)
	}
	return math.MaxInt64
}
