package host

import (
	"log/slog"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/host/internal/capacity"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
	"github.com/anchor-host/anchor-host/host/internal/guard"
	"github.com/anchor-host/anchor-host/host/internal/wasi"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// environment is what the instances of one plugin have in common: code, limits, and the owner
// that they are charged to. It is complete before the first instance is made. Afterwards only
// image, resets and withoutWarmUp change, until the first instance is there.
type environment struct {
	// rt makes the instances. features are the parts of wazero without a compatibility promise
	// that they use. interpreted says that rt interprets them.
	rt          wazero.Runtime
	features    *wazerox.States
	interpreted bool
	// kernels makes the kernels that the guest and its links are linked to. It is nil if they
	// use none, or if host functions are the kernel.
	kernels *linkedKernel
	// code is the guest. links are the modules that it imports from. Each comes after those it
	// imports from.
	code  *code
	links []*code

	bounds bounds
	// tables is what the tables of an instance take at most, and stackLeast what calls take at
	// most of the interpreter's stack, 0 with the compiler. Both are in bytes.
	tables, stackLeast int64
	// recycleAfter is how many calls an instance serves.
	recycleAfter int

	// foreign says that the guest has no mailbox and no init. initRequest is the document that
	// init receives. values are what config_get returns.
	foreign     bool
	initRequest []byte
	values      map[string]string

	// log is the log of the plugin, to which the guest's messages go.
	log *slog.Logger
	// account is the processor time that the plugin used lately.
	account *fairness.Account
	owner   owner
	// share is what the plugin has of the host's room. guard runs the embedder's code.
	share *capacity.Share
	guard *guard.Guard
	// wasi says what the guest sees through WASI. descriptors says that the guest can change
	// its file descriptors.
	wasi        wasi.Options
	descriptors bool

	// resets says that instances are reset to the image after calls.
	resets bool
	// image is the state from which instances start, nil if each runs init.
	image *image
	// withoutWarmUp says that the guest failed at its warm-up, so instances are not warmed up
	// before the image is made.
	withoutWarmUp bool
}

// bounds are the limits of an instance and of its calls. Sizes are in bytes.
type bounds struct {
	memory, input, output, logBytes int64
	timeout, initTimeout            time.Duration
	// fuel is the most fuel of a call, initFuel that of start and init.
	fuel, initFuel int64
	// share is the most memory that all instances of the plugin may have together, and whole
	// what those of all plugins may have.
	share, whole int64
	// instances is how many instances all plugins may have.
	instances int
}

// code is a compiled module as instances use it: the guest or one of its links.
type code struct {
	// name is the module name that imports of a link state, "" for the guest.
	name     string
	compiled wazero.CompiledModule
	// open says how the host accesses the state of instances. segments returns the data
	// segments that were taken out of the module; the host writes them into new memories.
	open     *wasmbin.Prepared
	segments func() (wasmbin.Data, error)
	// exports reports whether the original module exports a function of a name.
	exports func(name string) bool
	// memory says that the module has a memory of its own, and lends that another module
	// imports it.
	memory, lends bool
	// stub stands for the link in modules made before it, and filler fills the stub's table.
	// Both are nil if no module needs that.
	stub, filler wazero.CompiledModule
}

// starters are the exports that start a module's language runtime. Where both exist,
// _initialize calls the constructors itself.
func (c *code) starters() []string {
	for _, name := range []string{"_initialize", "__wasm_call_ctors"} {
		if c.exports(name) {
			return []string{name}
		}
	}
	return nil
}

// owner is the plugin that instances belong to. Its methods are safe for concurrent use.
type owner interface {
	// Several reports whether the plugin has several instances, without those of sessions.
	Several() bool
	// Made counts a new instance, Count the other events in its life, and Add what it counted.
	Made(fromImage bool, took time.Duration)
	Count(event)
	Add(*tally)
}

// event is something that happens to an instance.
type event uint8

// An instance is recycled if it has served many calls or has grown too much, and replaced if it
// cannot be used again after a call.
const (
	instanceClosed event = iota
	instanceRecycled
	instanceReplaced
)
