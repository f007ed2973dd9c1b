package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// fault is an error that already knows its reason: host functions panic with
// one to stop the guest, and the host returns one for an answer it refuses.
type fault struct {
	code   abi.Reason
	err    error
	remedy string
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// kindError marks an error as one of the sentinels without naming it in the
// text: the cause says the same in more detail.
type kindError struct{ kind, err error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

func as(kind, err error) error { return &kindError{kind, err} }

func faultf(code abi.Reason, format string, args ...any) *fault {
	return &fault{code: code, err: fmt.Errorf(format, args...)}
}

// denied is the fault of a call that needs a grant the plugin does not have.
func denied(what, key string) *fault {
	return &fault{code: abi.ReasonDenied, err: fmt.Errorf("%s is not permitted", what), remedy: "grant it with " + key}
}

// asked adds to the key of a grant that the manifest has to ask for it. A foreign
// module has none.
func asked(key string, foreign bool) string {
	if foreign {
		return key
	}
	return key + ", and ask for it in the manifest's permissions"
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

// What to do where all plugins together have as much as they may.
const (
	moreMemory    = "raise plugins.memory, Config.Memory of the host"
	moreShare     = "raise plugins.plugin_share, Config.PluginShare of the host, or lower limits.instances"
	moreInstances = "raise plugins.max_instances, Config.MaxInstances of the host"
	moreFiles     = "raise the limit of open files of the process, ulimit -n"
)

// noRemedy as a fault's remedy suppresses the reason's usual one.
const noRemedy = " "

// initError marks an error of start or init.
type initError struct{ err error }

func (e *initError) Error() string { return e.err.Error() }
func (e *initError) Unwrap() error { return e.err }

// failure makes the error of a call that failed. in may be nil. A failed start
// or init has the reason init_failed, and the reason of its failure as text.
func (p *Plugin) failure(op abi.Operation, in *instance, err error) *PluginError {
	var known *PluginError
	if errors.As(err, &known) {
		return known
	}
	f := in.faultOf(err)
	e := &PluginError{Plugin: p.name, Operation: op, Code: f.code, Err: f.err, Remedy: f.remedy}
	if e.Remedy == "" {
		e.Remedy = in.remedy(e.Code)
	}
	var start *initError
	if errors.As(err, &start) && e.Code != abi.ReasonBusy {
		if e.Code == abi.ReasonTimeout {
			e.Remedy = "raise limits.init_timeout, or have the plugin do less when it starts"
		}
		e.Code, e.Err = abi.ReasonInitFailed, fmt.Errorf("%s: %w", e.Code, e.Err)
	}
	if e.Remedy == noRemedy {
		e.Remedy = ""
	}
	if in != nil {
		e.Log, e.Stack = in.out.tail(), clip(wazerox.TrapStack(err), maxErrorLog)
	}
	return e
}

// resettable reports whether an instance is sound after a call that ended with
// err: the guest was stopped by this package or by a trap that WebAssembly
// defines, so that memory and globals are all that is left of the call. An
// exit closes the instance, a stack overflow on a stack of wazero's leaves that
// behind, and after anything else nothing is known.
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
	case !in.plugin.engine.features.On(wazerox.TrapTexts):
		return false
	case wazerox.Overflowed(err):
		return in.callStack != nil
	}
	return wazerox.Trapped(err)
}

// faultOf classifies the error of a call. The remedy is empty where the
// reason's usual one serves. in may be nil.
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

// explain points to the memory where a guest that was refused more of it used up
// its time or fuel, as one that asks again and again does.
func (in *instance) explain(f *fault) *fault {
	if in == nil || !in.refused() || f.remedy != "" || f.code != abi.ReasonTimeout && f.code != abi.ReasonFuel {
		return f
	}
	if in.crowded {
		_, remedy := in.noRoom()
		return &fault{f.code, f.err, fmt.Sprintf("it was refused memory that the host has no room for: %s, or limits.%s", remedy, f.code)}
	}
	return &fault{f.code, f.err, fmt.Sprintf("it was refused more memory than %s: raise limits.memory, or limits.%s",
		abi.FormatSize(in.plugin.limits.Memory), f.code)}
}

// needsMore is the fault of a guest that was refused memory and gave up.
func (in *instance) needsMore() *fault {
	if in.crowded && in.overShare {
		return faultf(abi.ReasonMemory, "needs more than the plugin's share of the host's memory, %s for all its instances",
			abi.FormatSize(in.plugin.share))
	}
	if in.crowded {
		return faultf(abi.ReasonMemory, "needs more than the host has room for, %s for all plugins together",
			abi.FormatSize(in.plugin.host.memory.limit))
	}
	return faultf(abi.ReasonMemory, "needs more than %s", abi.FormatSize(in.plugin.limits.Memory))
}

// noInput is the fault of a guest with no room for an input of n bytes.
func (in *instance) noInput(n int) *fault {
	if in.crowded {
		what, remedy := in.noRoom()
		return &fault{abi.ReasonInputTooLarge, fmt.Errorf("%s for an input of %d bytes", what, n), remedy}
	}
	return faultf(abi.ReasonInputTooLarge, "input of %d bytes does not fit into limits.memory", n)
}

// remedy is what an operator can do about a reason. in may be nil.
func (in *instance) remedy(r abi.Reason) string {
	if r == abi.ReasonMemory && in != nil && in.crowded {
		_, remedy := in.noRoom()
		return remedy
	}
	return remedies[r]
}

// lastWords quotes what a guest wrote before it died: language runtimes write
// the cause of a panic to stderr.
func (in *instance) lastWords() string {
	if in == nil {
		return ""
	}
	log := in.out.tail()
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
	return "the guest wrote: " + oneLine(clip(words, maxWords))
}

// maxWords bounds what an error quotes of a guest's output.
const maxWords = 160

// exitedWell reports whether err is the exit of a guest with code 0.
func exitedWell(err error) bool {
	var exit *sys.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == 0
}
