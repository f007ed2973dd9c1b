package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// DefaultGrace is the default time that a cancelled call may take to end.
const DefaultGrace = 5 * time.Second

// Options say what Run checks. The zero value checks everything.
type Options struct {
	// Operations and Lanes narrow the run. Empty means all of them.
	Operations []abi.Operation
	Lanes      []string
	// Short makes 2,000 calls instead of 10,000.
	Short bool
	// Beside runs cases that take long on a second goroutine, with guests of their own, while the
	// others run. Calls of different guests then come at the same time. It has no effect if the
	// description says that the guest remembers.
	Beside bool
	// Sparing leaves out the many calls that measure the memory and the time: the guest sends
	// requests that cost something.
	Sparing bool
	// Seed selects the texts and numbers. The same seed makes the same requests.
	Seed uint64
	// Init are the init settings, Steps those of the operations.
	Init  map[string]any
	Steps map[abi.Operation]map[string]any
	// Own are cases of the plugin's author.
	Own []OwnCase
	// Grace is the time that a cancelled call may take to end. 0: DefaultGrace.
	Grace time.Duration
	// KeepRequest is called with the last request of each case that fails, as a document of the
	// lane JSON. What it returns is the Request of the result. It may be nil.
	KeepRequest func(r Result, document []byte) string
	// Update is called for each case of the author that expects another answer than the plugin
	// gave. Its Expect is then what the plugin answered, was is what it expected, and detail is
	// the difference. The case has passed. It is not called if the call failed, or if the answer
	// breaks the contract. nil: such a case fails.
	Update func(c *OwnCase, was Expect, detail string)
	// OnCase is called before each case is run, unless it is nil.
	OnCase func(id string, op abi.Operation, lane string)
}

// check refuses operations and lanes that the guest does not have.
func (o *Options) check(d *Description) error {
	for _, op := range o.Operations {
		if _, has := d.Manifest.Operations[op]; has && op == abi.OpInit {
			continue
		}
		if !slices.ContainsFunc(d.Operations, func(x Operation) bool { return x.Operation == op }) {
			return fmt.Errorf("no operation %q", op)
		}
	}
	for _, lane := range o.Lanes {
		if lane != JSON && lane != Batch {
			return fmt.Errorf("lane %q (want %s or %s)", lane, JSON, Batch)
		}
	}
	return nil
}

// subject is the guest of one Run with the results so far.
type subject struct {
	t      Target
	d      Description
	o      Options
	report *Report
	// answers are those to ordinary requests, of each operation and lane.
	answers  map[string][]*reply
	troubles map[string]*trouble
	// last is the request that the running case has sent last, nil if it has sent none.
	last *attempt
}
