package host

import (
	"fmt"
	"math"
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
