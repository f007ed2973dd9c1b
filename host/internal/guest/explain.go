package guest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/capacity"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/units"
)

// Explain explains the error of a call. in may be nil. If start or init failed, the reason is
// init_failed, and the cause begins with the original reason. A *Failure is returned as it is.
func Explain(in *Instance, err error) *Failure {
	if known, ok := errors.AsType[*Failure](err); ok {
		return known
	}
	f := &Failure{Fault: *in.FaultOf(err)}
	if f.Remedy == "" {
		f.Remedy = in.remedy(f.Reason)
	}
	if _, ok := errors.AsType[*initError](err); ok && f.Reason != abi.ReasonBusy {
		if f.Reason == abi.ReasonTimeout {
			f.Remedy = "raise limits.init_timeout, or have the plugin do less when it starts"
		}
		f.Reason, f.Err = abi.ReasonInitFailed, &initCause{f.Reason, f.Err}
	}
	if f.Remedy == NoRemedy {
		f.Remedy = ""
	}
	if in != nil {
		f.Log, f.Stack = in.WASI.Output.Tail(MaxLog), guesttext.Clip(in.withLines(wazerox.TrapStack(err)), MaxLog)
	}
	return f
}

// withLines is a call stack with the lines of source of the guest and of its links.
func (in *Instance) withLines(stack string) string {
	for _, code := range append([]*Code{in.Env.Code}, in.Env.Links...) {
		if code.Lines != nil && stack != "" {
			stack = code.Lines(stack)
		}
	}
	return stack
}

// resettable reports whether an instance can be reset after a call that ended with err. It
// can if this package or a trap that WebAssembly defines stopped the guest: then the call
// has left nothing but memory and globals. It cannot after an exit, which closes the
// instance and frees its memory, even if err says that the call was late or cancelled by then.
// Nor can it after a stack overflow on a stack of wazero's, which stays grown, or after any
// other error, whose effects are not known.
func (in *Instance) resettable(err error) bool {
	if err == nil {
		return true
	}
	var f *Fault
	var exit *sys.ExitError
	switch {
	case in.exited() || errors.As(err, &exit):
		return false
	case errors.As(err, &f):
		return true
	case !in.Env.Features.On(wazerox.TrapTexts):
		return false
	case wazerox.Overflowed(err):
		return in.Stacks.callStack != nil
	}
	return wazerox.Trapped(err)
}

// exited reports whether the guest ended itself, in its own code or in that of a link.
func (in *Instance) exited() bool {
	return in.Guest.mod.IsClosed() || slices.ContainsFunc(in.members, func(m *part) bool { return m.mod.IsClosed() })
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
		return &Fault{Reason: abi.ReasonExit, Err: fmt.Errorf("the guest ended itself with exit code %d", exit.ExitCode()), Remedy: in.lastWords()}
	case in != nil && in.refused():
		return in.Memory.needsMore()
	case in != nil && wazerox.Overflowed(err):
		return in.Stacks.tooDeep(err)
	}
	words, text := in.lastWords(), wazerox.TrapText(err)
	if words == "" && strings.HasPrefix(text, "out of bounds memory access") {
		words = "the plugin used an address outside of its memory: a wrong pointer, or more on its stack than fits, which is 64 KiB in projects of C, Zig and Rust"
	}
	return &Fault{Reason: abi.ReasonTrap, Err: errors.New(text), Remedy: words}
}

// explain changes the remedy of a timeout, or of fuel that was used up, if the guest was
// refused memory in the call. A guest that asks for memory again and again ends like this.
func (in *Instance) explain(f *Fault) *Fault {
	if in == nil || !in.refused() || f.Remedy != "" || f.Reason != abi.ReasonTimeout && f.Reason != abi.ReasonFuel {
		return f
	}
	if in.Memory.HostFull {
		_, remedy := in.Memory.noRoom()
		return &Fault{Reason: f.Reason, Err: f.Err, Remedy: fmt.Sprintf("it was refused memory that the host has no room for: %s, or limits.%s", remedy, f.Reason)}
	}
	return &Fault{Reason: f.Reason, Err: f.Err, Remedy: fmt.Sprintf("it was refused more memory than %s: raise limits.memory, or limits.%s",
		units.FormatSize(in.Env.Limits.Memory), f.Reason)}
}

// needsMore is the fault of a guest that failed after it was refused memory.
func (m *memory) needsMore() *Fault {
	if m.HostFull && m.refusedBy == capacity.ShareReached {
		return &Fault{Reason: abi.ReasonMemory, Err: errkind.As(ErrNoRoom, fmt.Errorf("needs more than the plugin's share of the host's memory, %s for all its instances",
			units.FormatSize(m.env.Limits.Share)))}
	}
	if m.HostFull {
		return &Fault{Reason: abi.ReasonMemory, Err: errkind.As(ErrNoRoom, fmt.Errorf("needs more than the host has room for, %s for all plugins together",
			units.FormatSize(m.env.Limits.Whole)))}
	}
	return Faultf(abi.ReasonMemory, "needs more than %s", units.FormatSize(m.env.Limits.Memory))
}

// noInput is the fault of a call whose input of n bytes does not fit into the guest's
// memory.
func (m *memory) noInput(n int) *Fault {
	if m.HostFull {
		what, remedy := m.noRoom()
		return &Fault{Reason: abi.ReasonInputTooLarge, Err: errkind.As(ErrNoRoom, fmt.Errorf("%s for an input of %d bytes", what, n)), Remedy: remedy}
	}
	return Faultf(abi.ReasonInputTooLarge, "input of %d bytes does not fit into limits.memory", n)
}

// remedy is the usual remedy of a reason. in may be nil.
func (in *Instance) remedy(r abi.Reason) string {
	if r == abi.ReasonMemory && in != nil && in.Memory.HostFull {
		_, remedy := in.Memory.noRoom()
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
	words := reason(log)
	if words == "" {
		return ""
	}
	if strings.Contains(words, "wasmexport function called before runtime initialization") {
		return "the Go runtime was not started: build the module with -buildmode=c-shared, as anchor-host plugin build does"
	}
	return "the guest wrote: " + guesttext.Line(guesttext.Clip(words, MaxQuote))
}

// reason returns the line of a log that says most about its end: what Go writes about a panic, or
// else the last error, or else the first line of what is not a message of the log. Rust writes the
// place of a panic, and the reason on the next line.
func reason(log string) string {
	var last, first string
	for rest := log; rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: "):
			return line
		case strings.HasPrefix(line, "debug: ") || strings.HasPrefix(line, "info: ") || strings.HasPrefix(line, "warn: "):
			continue
		}
		if strings.Contains(line, "panicked at ") && strings.HasSuffix(line, ":") {
			line = strings.TrimSpace(line + " " + firstLine(rest))
		}
		if strings.HasPrefix(line, "error: ") {
			last = line
		}
		first = cmp.Or(first, line)
	}
	return cmp.Or(last, first)
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
