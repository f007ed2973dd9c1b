package guest

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
	"github.com/anchor-host/anchor-host/internal/units"
)

// errNoExport marks an export that the guest does not have.
var errNoExport = spec.ErrNoExport

// ErrNoRoom marks that an instance could not be made because the host has no room for it.
var ErrNoRoom = pool.ErrNoRoom

// NoPlace is the fault of an instance for which the host has no place. most is how many
// instances it may have.
func NoPlace(most int) *Fault {
	return &Fault{Reason: abi.ReasonBusy, Remedy: MoreInstances,
		Err: As(ErrNoRoom, fmt.Errorf("the host has %d instances, as many as it may", most))}
}

// Fault is an error with a reason. A host function panics with one to stop the guest. The
// host returns one for an answer that it refuses.
type Fault struct {
	// Reason is the code that callers act on, and Err the cause.
	Reason abi.Reason
	Err    error
	// Remedy is what an operator can do. "" stands for the usual remedy of the reason, and
	// [NoRemedy] for none.
	Remedy string
}

// Error is the text of the cause.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// kindError makes an error wrap one of the sentinels without adding its text: the error
// says the same in more detail.
type kindError struct{ kind, err error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

// As makes err wrap kind too. The text stays that of err.
func As(kind, err error) error { return &kindError{kind, err} }

// Faultf is a fault with the usual remedy of its reason. The format is that of fmt.Errorf.
func Faultf(code abi.Reason, format string, args ...any) *Fault {
	return &Fault{Reason: code, Err: fmt.Errorf(format, args...)}
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
	// MoreMemory is the remedy if the memory of the host is used up.
	MoreMemory = "raise plugins.memory, Config.Memory of the host"
	moreShare  = "raise plugins.plugin_share, Config.PluginShare of the host, or lower limits.instances"
	moreFiles  = mounts.HowToHaveMore
	// MoreInstances is the remedy if the host has as many instances as it may.
	MoreInstances = "raise plugins.max_instances, Config.MaxInstances of the host"
)

// NoRemedy is the remedy of a fault that has none, not even the usual one of its reason.
const NoRemedy = " "

// initError marks an error of start or init.
type initError struct{ err error }

// InInit marks err as an error of start or init.
func InInit(err error) error { return &initError{err} }

func (e *initError) Error() string { return e.err.Error() }
func (e *initError) Unwrap() error { return e.err }

// Failure is why a call failed, or why an instance could not be made, in full.
type Failure struct {
	// Fault has the remedy that is reported, "" for none.
	Fault
	// Log is the end of what the guest wrote, and Stack its call stack after a trap.
	Log, Stack string
}

// Unwrap returns the cause without its reason.
func (f *Failure) Unwrap() error { return f.Err }

// initCause is the cause of an init_failed, with the reason for which start or init failed.
type initCause struct {
	reason abi.Reason
	err    error
}

func (e *initCause) Error() string { return fmt.Sprintf("%s: %v", e.reason, e.err) }
func (e *initCause) Unwrap() error { return e.err }

// Reason returns the reason for which start or init failed. It implements pipeline.Reasoner.
func (e *initCause) Reason() string { return string(e.reason) }

// Explain explains the error of a call. in may be nil. If start or init failed, the reason is
// init_failed, and the cause begins with the original reason. A *Failure is returned as it is.
func Explain(in *Instance, err error) *Failure {
	var known *Failure
	if errors.As(err, &known) {
		return known
	}
	f := &Failure{Fault: *in.FaultOf(err)}
	if f.Remedy == "" {
		f.Remedy = in.remedy(f.Reason)
	}
	var start *initError
	if errors.As(err, &start) && f.Reason != abi.ReasonBusy {
		if f.Reason == abi.ReasonTimeout {
			f.Remedy = "raise limits.init_timeout, or have the plugin do less when it starts"
		}
		f.Reason, f.Err = abi.ReasonInitFailed, &initCause{f.Reason, f.Err}
	}
	if f.Remedy == NoRemedy {
		f.Remedy = ""
	}
	if in != nil {
		f.Log, f.Stack = in.WASI.Output.Tail(MaxLog), guesttext.Clip(wazerox.TrapStack(err), MaxLog)
	}
	return f
}

// resettable reports whether an instance can be reset after a call that ended with err. It
// can if this package or a trap that WebAssembly defines stopped the guest: then the call
// has left nothing but memory and globals. It cannot after an exit, which closes the
// instance, after a stack overflow on a stack of wazero's, which stays grown, or after any
// other error, whose effects are not known.
func (in *Instance) resettable(err error) bool {
	if err == nil {
		return true
	}
	var f *Fault
	var exit *sys.ExitError
	switch {
	case errors.As(err, &exit):
		return false
	case errors.As(err, &f):
		return true
	case !in.Env.Features.On(wazerox.TrapTexts):
		return false
	case wazerox.Overflowed(err):
		return in.callStack != nil
	}
	return wazerox.Trapped(err)
}

// FaultOf finds the reason of a call's error. The remedy is "" if the usual remedy of the
// reason applies. in may be nil.
func (in *Instance) FaultOf(err error) *Fault {
	var f *Fault
	var exit *sys.ExitError
	switch {
	case errors.As(err, &f):
		return in.explain(f)
	case errors.As(err, &exit):
		return &Fault{abi.ReasonExit, fmt.Errorf("the guest ended itself with exit code %d", exit.ExitCode()), in.lastWords()}
	case in != nil && in.refused():
		return in.needsMore()
	case in != nil && wazerox.Overflowed(err):
		return in.tooDeep(err)
	}
	return &Fault{abi.ReasonTrap, errors.New(wazerox.TrapText(err)), in.lastWords()}
}

// explain changes the remedy of a timeout, or of fuel that was used up, if the guest was
// refused memory in the call. A guest that asks for memory again and again ends like this.
func (in *Instance) explain(f *Fault) *Fault {
	if in == nil || !in.refused() || f.Remedy != "" || f.Reason != abi.ReasonTimeout && f.Reason != abi.ReasonFuel {
		return f
	}
	if in.HostFull {
		_, remedy := in.noRoom()
		return &Fault{f.Reason, f.Err, fmt.Sprintf("it was refused memory that the host has no room for: %s, or limits.%s", remedy, f.Reason)}
	}
	return &Fault{f.Reason, f.Err, fmt.Sprintf("it was refused more memory than %s: raise limits.memory, or limits.%s",
		units.FormatSize(in.Env.Limits.Memory), f.Reason)}
}

// needsMore is the fault of a guest that failed after it was refused memory.
func (in *Instance) needsMore() *Fault {
	if in.HostFull && in.refusedBy == capacity.ShareReached {
		return &Fault{Reason: abi.ReasonMemory, Err: As(ErrNoRoom, fmt.Errorf("needs more than the plugin's share of the host's memory, %s for all its instances",
			units.FormatSize(in.Env.Limits.Share)))}
	}
	if in.HostFull {
		return &Fault{Reason: abi.ReasonMemory, Err: As(ErrNoRoom, fmt.Errorf("needs more than the host has room for, %s for all plugins together",
			units.FormatSize(in.Env.Limits.Whole)))}
	}
	return Faultf(abi.ReasonMemory, "needs more than %s", units.FormatSize(in.Env.Limits.Memory))
}

// noInput is the fault of a call whose input of n bytes does not fit into the guest's
// memory.
func (in *Instance) noInput(n int) *Fault {
	if in.HostFull {
		what, remedy := in.noRoom()
		return &Fault{abi.ReasonInputTooLarge, As(ErrNoRoom, fmt.Errorf("%s for an input of %d bytes", what, n)), remedy}
	}
	return Faultf(abi.ReasonInputTooLarge, "input of %d bytes does not fit into limits.memory", n)
}

// remedy is the usual remedy of a reason. in may be nil.
func (in *Instance) remedy(r abi.Reason) string {
	if r == abi.ReasonMemory && in != nil && in.HostFull {
		_, remedy := in.noRoom()
		return remedy
	}
	return remedies[r]
}

// lastWords quotes what a guest wrote before it ended, as a remedy. Language runtimes write
// the cause of a panic to stderr.
func (in *Instance) lastWords() string {
	if in == nil {
		return ""
	}
	log := in.WASI.Output.Tail(MaxLog)
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
	return "the guest wrote: " + guesttext.Line(guesttext.Clip(words, MaxQuote))
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

// MaxLog bounds the log that an error carries, in bytes.
const MaxLog = 8 << 10

// MaxQuote bounds a quotation of a guest's output in an error, in bytes.
const MaxQuote = 160

// exitedWell reports whether err is the exit of a guest with code 0.
func exitedWell(err error) bool {
	var exit *sys.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == 0
}
