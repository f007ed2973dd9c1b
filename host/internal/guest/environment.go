package guest

import (
	"log/slog"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/capacity"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
	"github.com/anchor-host/anchor-host/host/internal/guard"
	"github.com/anchor-host/anchor-host/host/internal/wasi"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/host/record"
)

// Environment is what the instances of one plugin have in common: code, limits, and the owner
// that they are charged to. It is complete before the first instance is made. Afterwards only
// Image, Resets and whether to warm up change, until the first instance is there.
type Environment struct {
	// Runtime makes the instances. Features are the parts of wazero without a compatibility
	// promise that they use. Interpreted says that Runtime interprets them.
	Runtime     wazero.Runtime
	Features    *wazerox.States
	Interpreted bool
	// Kernels makes the kernels that the guest and its links are linked to. It is nil if they
	// use none, or if host functions are the kernel.
	Kernels *Kernels
	// Code is the guest. Links are the modules that it imports from. Each comes after those it
	// imports from.
	Code  *Code
	Links []*Code

	// Limits bound an instance and its calls.
	Limits Limits
	// Tables is what the tables of an instance take at most, and StackLeast what calls take at
	// most of the interpreter's stack, 0 with the compiler. Both are in bytes.
	Tables, StackLeast int64
	// RecycleAfter is how many calls an instance serves.
	RecycleAfter int

	// Foreign says that the guest has no mailbox and no init. InitRequest is the document that
	// init receives. Values are what config_get returns.
	Foreign     bool
	InitRequest []byte
	Values      map[string]string

	// Log is the log of the plugin, to which the guest's messages go. Declared returns the columns
	// that the author's manifest names for an operation, and false if it has no such operation.
	Log      *slog.Logger
	Declared func(abi.Operation) (abi.ColumnSet, bool)
	// told has a key for each message that the log has once for all calls.
	told sync.Map
	// Account is the processor time that the plugin used lately.
	Account *fairness.Account
	// Owner counts the instances and what they did.
	Owner Owner
	// Share is what the plugin has of the host's room. Guard runs the embedder's code.
	Share *capacity.Share
	Guard *guard.Guard
	// WASI says what the guest sees through WASI. Descriptors says that the guest can change
	// its file descriptors.
	WASI        wasi.Options
	Descriptors bool

	// Record collects the calls of the instances, nil if nobody asks.
	Record *record.Plugin
	// Imports is what host functions need of the plugin. Package imports sets and reads it.
	Imports any

	// Resets says that instances are reset to the image after calls.
	Resets bool
	// Image is the state from which instances start, nil if each runs init.
	Image *Image
	// withoutWarmUp says that the guest failed at its warm-up, so instances are not warmed up
	// before the image is made.
	withoutWarmUp bool
}

// Limits are the limits of an instance and of its calls.
type Limits struct {
	// Memory, Input, Output and LogBytes bound the linear memories of an instance, a request,
	// an answer, and what a call writes to stdout, stderr and the log, in bytes.
	Memory, Input, Output, LogBytes int64
	// Timeout is the longest warm-up, InitTimeout the most time for start and init together.
	Timeout, InitTimeout time.Duration
	// Fuel is the most fuel of a call, InitFuel that of start and init.
	Fuel, InitFuel int64
	// Share is the most memory that all instances of the plugin may have together, and Whole
	// what those of all plugins may have, in bytes. Messages state them.
	Share, Whole int64
	// Instances is how many instances all plugins may have. Messages state it.
	Instances int
}

// Owner is the plugin that instances belong to. Its methods are safe for concurrent use.
type Owner interface {
	// Several reports whether the plugin has several instances, without those of sessions.
	Several() bool
	// Made counts a new instance. fromImage says that it started from the image.
	Made(fromImage bool, took time.Duration)
	// Count counts another event in the life of an instance.
	Count(Event)
	// Add adds what an instance counted. The tally is not kept.
	Add(*Tally)
}

// Event is something that happens to an instance.
type Event uint8

// The events in the life of an instance.
const (
	// Closed: the instance is freed.
	Closed Event = iota
	// Recycled: a call went well, but the instance has served many or has grown too much.
	Recycled
	// Replaced: the instance cannot be used again after a call.
	Replaced
)

// Tally is what an instance counted that its owner does not know yet. The owner of the
// instance adds to it as to any other field; to add to what all processors share costs more
// than a short call may.
type Tally struct {
	// OK is the number of calls that succeeded, Fuel what all calls used, In and Out the bytes
	// of requests and answers, and Resets the number of resets.
	OK, Fuel, In, Out, Resets int64
	// Took is the time of the calls, without what they waited for a processor.
	Took time.Duration
	// handed is when the plugin was last given what there was.
	handed time.Duration
}
