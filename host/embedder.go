package host

import (
	"context"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/spec"
)

// Features switches off what the host takes from wazero without a promise of wazero's,
// one by one. The zero value leaves everything on that was tested with the wazero in the
// program and that works when it is tried out; [Host.Features] says what that is.
type Features struct {
	// NoStacks (stacks) has the stacks of guests grow with the depth of calls. Growing one
	// takes up to 40 ms, in which nothing stops a guest, and twice its memory.
	NoStacks bool
	// NoStackSizes (stack-sizes) has stacks that grow be let go whenever they are looked
	// at: how large they are is not known.
	NoStackSizes bool
	// NoMemories (memories) leaves linear memories to wazero. They move when they grow, and
	// are compared with the image as a whole. No instances share an image, and none is
	// made smaller.
	NoMemories bool
	// NoShrinking (shrinking) has instances be replaced whose memory grew.
	NoShrinking bool
	// NoLinking (linking) has Extism's functions be calls of the host, and refuses
	// PluginConfig.Links.
	NoLinking bool
	// NoTrapTexts (trap-texts) has instances be closed after each trap, as what ended the
	// call is not known.
	NoTrapTexts bool
	// NoOpenFiles (open-files) has an instance be replaced after a call that may have
	// changed its file descriptors, and made afresh for each call where init may have.
	NoOpenFiles bool
	// NoMounts (mounts) has grants of files be refused.
	NoMounts bool
	// NoTailCalls (tail-calls) and NoExtendedConst (extended-const) have modules be refused
	// that use what WebAssembly 2.0 has not.
	NoTailCalls, NoExtendedConst bool
	// NoCodeFiles (code-files) keeps no machine code on disk. NoShells (shells) keeps it
	// under the names that wazero gives it, so that modules are decoded and metered by
	// each process.
	NoCodeFiles, NoShells bool
}

// Function is a function of the embedder that guests can import. [NewFunction] makes one
// that takes and returns bytes.
type Function struct {
	// Module is the import module, Name the name in it. The modules of WASI, of Extism and
	// of this host are reserved, and so are names in UserModule that begin with "anchor_".
	Module, Name string
	// Params and Results are the types of its parameters and results. A block of bytes is
	// passed as an I64, its handle.
	Params, Results []abi.ValueType
	// Call is the function. The stack holds the parameters, each in 64 bits, and receives
	// the results. An error or a panic ends the call of the guest.
	//
	// Call runs on the goroutine of the guest's call, so instances may run it at the same
	// time. Its time counts for the guest's call. The context ends with the time of that
	// call, and Call must return then, as nothing else can stop it. Under that context it
	// may call plugins, even the one that it serves, up to four calls deep. Such a call
	// uses the fuel of the guest's call, and fails if all instances are lent. Call must not
	// close plugins.
	Call func(ctx context.Context, g *Guest, stack []uint64) error
}

// Guest is the caller of a [Function]. It is valid during the call, on the goroutine of the
// call.
type Guest struct{ call *guest.Call }

// CallInfo says how a call of a plugin went; see Config.OnCall.
type CallInfo struct {
	// Plugin is the name of the configured plugin, Step that of the step of a build, if
	// any, and Operation what was called, or the name of a plain export.
	Plugin, Step string
	Operation    abi.Operation
	// Tenant is whom the call was for; see [WithTenant].
	Tenant string
	// Lane is LaneBatch, or LaneJSON where one document crossed each way, as with plain
	// exports. It is empty where the guest was sent nothing.
	Lane Lane
	// Depth is in how many calls of plugins this one lies; 0 for one of its own.
	Depth int
	// Fuel is the number of units the call used, those of calls within it included.
	Fuel int64
	// BytesIn are the bytes of the request, BytesOut those of the answer.
	BytesIn, BytesOut int64
	// InstanceWait is how long the call waited for an instance, ProcessorWait for a
	// processor, before it began and later, and Running how long it ran or blocked.
	// Reset is how long it then took to put the instance back, 0 where that is left to
	// others: the next call's InstanceWait may have a part of it.
	InstanceWait, ProcessorWait, Running, Reset time.Duration
	// Reason is why the call failed, empty where it did not. Err is its error then, a
	// *PluginError.
	Reason abi.Reason
	Err    error
}

// Link is a module that another module imports from.
type Link struct {
	// Name is the module name that the imports state. It may be UserModule; the link then
	// replaces the functions of that module.
	Name string
	// Spec is the linked module, which must be foreign. It may import from other links, and
	// they from it.
	Spec *spec.Spec
}

// KVStore keeps what plugins store, in place of the memory of the host: on a disk, or where
// several hosts find it. It must be safe for concurrent use.
//
// Its methods are called on goroutines of the host, within the time of the guest's call, at
// whose end their context ends. One that goes on nevertheless is left behind, and what it
// returns is lost. An error, or a panic, ends the guest's call with the reason trap; but of a change
// that fails with [store.ErrReadOnly] or [store.ErrFull] the guest is told. They must not call plugins.
//
// Names of owners come from the embedder, keys and values from guests: a key is any bytes,
// at most 4 KiB of them, and need not be UTF-8. Values that the host gives are the store's
// to keep, and the host does not change those that it is given.
type KVStore interface {
	// Get returns the value of a key, nil where there is none.
	Get(ctx context.Context, owner KVOwner, key string) ([]byte, error)
	// Set stores a value, which is not empty, in place of an earlier one.
	Set(ctx context.Context, owner KVOwner, key string, value []byte) error
	// Delete removes a key, if it is there.
	Delete(ctx context.Context, owner KVOwner, key string) error
	// Usage returns how many keys an owner has, and the bytes of keys and values. The host
	// asks before each Set and holds the owner to its quota. Meanwhile it changes nothing
	// else of that owner; where several hosts share a store, each may add one value more.
	Usage(ctx context.Context, owner KVOwner) (keys, bytes int64, err error)
	// Forget removes all that plugins stored for a tenant; see [Host.ForgetTenant].
	Forget(ctx context.Context, tenant string) error
}

// KVOwner is whose keys and values they are: one plugin's for one tenant.
type KVOwner struct {
	// Plugin is the name of the configured plugin, Tenant that of [WithTenant], never
	// empty.
	Plugin, Tenant string
}

// A Tokenizer counts tokens. It must be safe for concurrent use. The tokenizers of package
// pipeline implement it.
type Tokenizer interface {
	// Name identifies the vocabulary: tokenizers of the same name count the same.
	Name() string
	// Count returns the number of tokens of each text, in order.
	Count(ctx context.Context, texts ...string) ([]int, error)
}
