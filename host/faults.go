package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/capacity"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/internal/mounts"
	"github.com/anchor-host/anchor-host/host/internal/pool"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/host/spec"
)

// errNoExport marks an export that the guest does not have.
var errNoExport = spec.ErrNoExport

// errNoRoom marks that an instance could not be made because the host has no room for it.
var errNoRoom = pool.ErrNoRoom

// noPlace is the fault of an instance for which the host has no place. most is how many
// instances it may have.
func noPlace(most int) *fault {
	return &fault{code: abi.ReasonBusy, remedy: moreInstances,
		err: as(errNoRoom, fmt.Errorf("the host has %d instances, as many as it may", most))}
}

// fault is an error with a reason. A host function panics with one to stop the guest. The
// host returns one for an answer that it refuses.
type fault struct {
	code   abi.Reason
	err    error
	remedy string
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// kindError makes an error wrap one of the sentinels without adding its text: the error
// says the same in more detail.
type kindError struct{ kind, err error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

func as(kind, err error) error { return &kindError{kind, err} }

func faultf(code abi.Reason, format string, args ...any) *fault {
	return &fault{code: code, err: fmt.Errorf(format, args...)}
}

// remedies are what an operator can do about each reason.
var remedies = map[abi.Reason]string{
	abi.ReasonTimeout:        "raise limits.timeout, or have the plugin do less",
	abi.ReasonTrap:           "a fault inside the plugin: its author can reproduce it with plugin call",
	abi.ReasonExit:           "a plugin must not end its own process",
	abi.ReasonFuel:           "raise limits.fuel, or have the plugin do less",
	abi.ReasonMemory:         "raise limits.memory, or have the plugin hold less",
	abi.ReasonOutputTooLarge: "raise limits.output, limits.items or limits.tokens, or have the plugin return less",
	abi.ReasonInputTooLarge:  "raise limits.input or limits.memory, or send fewer items",
	abi.ReasonBusy:           "raise limits.instances or limits.queue_timeout",
}

// The remedies if the host or the process has as much of something as it may.
const (
	moreMemory    = "raise plugins.memory, Config.Memory of the host"
	moreShare     = "raise plugins.plugin_share, Config.PluginShare of the host, or lower limits.instances"
	moreFiles     = mounts.HowToHaveMore
	moreInstances = "raise plugins.max_instances, Config.MaxInstances of the host"
)

// noRemedy, as the remedy of a fault, replaces the usual remedy of the reason by none.
const noRemedy = " "

// initError marks an error of start or init.
type initError struct{ err error }

// inInit marks err as an error of start or init.
func inInit(err error) error { return &initError{err} }

func (e *initError) Error() string { return e.err.Error() }
func (e *initError) Unwrap() error { return e.err }

// failure is why a call failed, or why an instance could not be made, in full.
type failure struct {
	// fault has the remedy that is reported, "" for none.
	fault
	// log is the end of what the guest wrote, and stack its call stack after a trap.
	log, stack string
}

// Unwrap returns the cause without its reason.
func (f *failure) Unwrap() error { return f.err }

// failureOf explains the error of a call. in may be nil. If start or init failed, the reason is
// init_failed, and the cause begins with the original reason. A *failure is returned as it is.
func failureOf(in *instance, err error) *failure {
	var known *failure
	if errors.As(err, &known) {
		return known
	}
	f := &failure{fault: *in.faultOf(err)}
	if f.remedy == "" {
		f.remedy = in.remedy(f.code)
	}
	var start *initError
	if errors.As(err, &start) && f.code != abi.ReasonBusy {
		if f.code == abi.ReasonTimeout {
			f.remedy = "raise limits.init_timeout, or have the plugin do less when it starts"
		}
		f.code, f.err = abi.ReasonInitFailed, fmt.Errorf("%s: %w", f.code, f.err)
	}
	if f.remedy == noRemedy {
		f.remedy = ""
	}
	if in != nil {
		f.log, f.stack = in.wasi.Output.Tail(maxErrorLog), guesttext.Clip(wazerox.TrapStack(err), maxErrorLog)
	}
	return f
}

// resettable reports whether an instance can be reset after a call that ended with err. It
// can if this package or a trap that WebAssembly defines stopped the guest: then the call
// has left nothing but memory and globals. It cannot after an exit, which closes the
// instance, after a stack overflow on a stack of wazero's, which stays grown, or after any
// other error, whose effects are not known.
func (in *instance) resettable(err error) bool {
	if err == nil {
		return true
	}
	var f *fault
	var exit *sys.ExitError
	switch {
	case errors.As(err, &exit):
		return false
	case errors.As(err, &f):
		return true
	case !in.env.features.On(wazerox.TrapTexts):
		return false
	case wazerox.Overflowed(err):
		return in.callStack != nil
	}
	return wazerox.Trapped(err)
}

// faultOf finds the reason of a call's error. The remedy is "" if the usual remedy of the
// reason applies. in may be nil.
func (in *instance) faultOf(err error) *fault {
	var f *fault
	var exit *sys.ExitError
	switch {
	case errors.As(err, &f):
		return in.explain(f)
	case errors.As(err, &exit):
		return &fault{abi.ReasonExit, fmt.Errorf("the guest ended itself with exit code %d", exit.ExitCode()), in.lastWords()}
	case in != nil && in.refused():
		return in.needsMore()
	case in != nil && wazerox.Overflowed(err):
		return in.tooDeep(err)
	}
	return &fault{abi.ReasonTrap, errors.New(wazerox.TrapText(err)), in.lastWords()}
}

// explain changes the remedy of a timeout, or of fuel that was used up, if the guest was
// refused memory in the call. A guest that asks for memory again and again ends like this.
func (in *instance) explain(f *fault) *fault {
	if in == nil || !in.refused() || f.remedy != "" || f.code != abi.ReasonTimeout && f.code != abi.ReasonFuel {
		return f
	}
	if in.hostFull {
		_, remedy := in.noRoom()
		return &fault{f.code, f.err, fmt.Sprintf("it was refused memory that the host has no room for: %s, or limits.%s", remedy, f.code)}
	}
	return &fault{f.code, f.err, fmt.Sprintf("it was refused more memory than %s: raise limits.memory, or limits.%s",
		abi.FormatSize(in.env.bounds.memory), f.code)}
}

// needsMore is the fault of a guest that failed after it was refused memory.
func (in *instance) needsMore() *fault {
	if in.hostFull && in.refusedBy == capacity.ShareReached {
		return &fault{code: abi.ReasonMemory, err: as(errNoRoom, fmt.Errorf("needs more than the plugin's share of the host's memory, %s for all its instances",
			abi.FormatSize(in.env.bounds.share)))}
	}
	if in.hostFull {
		return &fault{code: abi.ReasonMemory, err: as(errNoRoom, fmt.Errorf("needs more than the host has room for, %s for all plugins together",
			abi.FormatSize(in.env.bounds.whole)))}
	}
	return faultf(abi.ReasonMemory, "needs more than %s", abi.FormatSize(in.env.bounds.memory))
}

// noInput is the fault of a call whose input of n bytes does not fit into the guest's
// memory.
func (in *instance) noInput(n int) *fault {
	if in.hostFull {
		what, remedy := in.noRoom()
		return &fault{abi.ReasonInputTooLarge, as(errNoRoom, fmt.Errorf("%s for an input of %d bytes", what, n)), remedy}
	}
	return faultf(abi.ReasonInputTooLarge, "input of %d bytes does not fit into limits.memory", n)
}

// remedy is the usual remedy of a reason. in may be nil.
func (in *instance) remedy(r abi.Reason) string {
	if r == abi.ReasonMemory && in != nil && in.hostFull {
		_, remedy := in.noRoom()
		return remedy
	}
	return remedies[r]
}

// lastWords quotes what a guest wrote before it ended, as a remedy. Language runtimes write
// the cause of a panic to stderr.
func (in *instance) lastWords() string {
	if in == nil {
		return ""
	}
	log := in.wasi.Output.Tail(maxErrorLog)
	words := firstLine(log)
	for line := range strings.Lines(log) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			words = line
			break
		}
	}
	if words == "" {
		return ""
	}
	return "the guest wrote: " + guesttext.Line(guesttext.Clip(words, maxWords))
}

// firstLine returns the first line of s that is not blank, without surrounding space.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// maxErrorLog bounds the log that an error carries, in bytes.
const maxErrorLog = 8 << 10

// maxWords bounds a quotation of a guest's output in an error, in bytes.
const maxWords = 160

// exitedWell reports whether err is the exit of a guest with code 0.
func exitedWell(err error) bool {
	var exit *sys.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == 0
}
