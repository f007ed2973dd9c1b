// Package extismhost runs portable plugins of ABI 1 on any Extism host. An Extism SDK runs the
// module, and this package does what section 16 of abi/ABI.md asks of the caller: it sends only
// what the manifest reads, checks settings and fills in their defaults, calls init once for each
// instance, and holds every answer to the contract before anybody uses it. README.md has an example.
//
// The SDK bounds the guest: its manifest needs a timeout, a limit of memory, and what permissions grant.
package extismhost

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/fault"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/settings"
)

// ErrNotPortable marks a plugin that no Extism host can run.
var ErrNotPortable = errors.New("not portable")

// Caller is an instance of a module in an Extism SDK. A *Plugin of github.com/extism/go-sdk is one.
type Caller interface {
	// CallWithContext calls an exported function. It returns what the function returned, its
	// output, and an error if the guest set one or did not return; see also [Native].
	CallWithContext(ctx context.Context, function string, input []byte) (status uint32, output []byte, err error)
}

// Native returns the status and the error of a failed call in an SDK over libextism (Python, Ruby,
// .NET, Java, …). Its exception has only the message of the guest, or "Error code: N" without one.
func Native(message string) (status uint32, err error) {
	if message == "Error code: 1" {
		return uint32(abi.StatusNoChange), nil
	}
	return math.MaxUint32, errors.New(message)
}

// Error is a failed call, or an answer that is refused.
type Error struct {
	Plugin    string
	Operation abi.Operation
	// Code is guest_error for every failure inside of the guest, as SDKs do not tell a trap from
	// a message. After timeout and cancelled an instance is not used again.
	Code abi.Reason
	Err  error // the cause
}

// Error names plugin, operation and reason.
func (e *Error) Error() string {
	return fmt.Sprintf("plugin %q: %s: %s: %v", e.Plugin, e.Operation, e.Code, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Reason is Code.
func (e *Error) Reason() string { return string(e.Code) }

// Plugin is a module that was read and not yet run. It is safe for concurrent use.
type Plugin struct{ spec *spec.Spec }

// Read decodes a module and its manifest, and refuses what no Extism host can run: a module
// without the contract, with imports of host services, or with an operation that only takes
// batches. side is the plugin.yaml beside the module, nil for none. Other errors are spec.Read's.
func Read(wasm, side []byte) (*Plugin, error) {
	s, err := spec.Read("", wasm, side)
	if err != nil {
		return nil, fmt.Errorf("extism plugin: read: %w", err)
	}
	if s.Foreign {
		return nil, fmt.Errorf("extism plugin: %w: it does not export %s (call its functions with the SDK alone)", ErrNotPortable, abi.Marker)
	}
	if !s.Portable {
		own := slices.DeleteFunc(slices.Clone(s.Imports), func(name string) bool {
			return strings.HasPrefix(name, "extism:host/env.") || strings.HasPrefix(name, "wasi_snapshot_preview1.")
		})
		return nil, fmt.Errorf("plugin %q: %w: it imports %s (anchor-host offers what it needs)", s.Name, ErrNotPortable, strings.Join(own, ", "))
	}
	for _, o := range s.Operations {
		if !o.HasLane(spec.LaneJSON) {
			return nil, fmt.Errorf("plugin %q: %s: %w: it takes only batches (export %s too)", s.Name, o.Operation, ErrNotPortable, o.Operation.JSONExport())
		}
	}
	return &Plugin{s}, nil
}

// Spec is what is known of the plugin. The permissions and limits of its manifest are wishes, which
// the SDK's manifest grants, and WASI says that the SDK must offer that. It must not be changed.
func (p *Plugin) Spec() *spec.Spec { return p.spec }

// Config is what the SDK's manifest should have as config: the texts, numbers and truth values
// among the settings, with the defaults. Errors are those of Start about settings.
func (p *Plugin) Config(given map[string]any) (map[string]string, error) {
	canonical, err := p.spec.CheckSettings(abi.OpInit, given)
	if err != nil || canonical == nil {
		return nil, err
	}
	var full map[string]any
	exact := json.NewDecoder(bytes.NewReader(canonical))
	exact.UseNumber()
	err = exact.Decode(&full)
	return settings.Scalars(full), err
}

// Start prepares a new instance of the module for calls, and calls its init, if it has one. given
// are the init settings. Nothing may have called the instance before.
func (p *Plugin) Start(ctx context.Context, c Caller, given map[string]any) (*Instance, error) {
	canonical, err := p.spec.CheckSettings(abi.OpInit, given)
	if err != nil {
		return nil, err
	}
	i := &Instance{plugin: p, caller: c}
	if _, none := p.spec.Operation(abi.OpInit); none != nil {
		return i, nil
	}
	doc, err := json.Marshal(abi.InitRequest{Settings: canonical})
	if err != nil {
		return nil, fmt.Errorf("plugin %q: encode settings: %w", p.spec.Name, err)
	}
	if _, _, err = i.Call(ctx, abi.OpInit, doc); err == nil {
		return i, nil
	}
	if failed, ok := errors.AsType[*Error](err); ok {
		failed.Err, failed.Code = fmt.Errorf("%s: %w", failed.Code, failed.Err), abi.ReasonInitFailed
	}
	return nil, err
}

// Instance is an instance after init. Its calls run one after the other, from any goroutine. What
// the guest keeps between calls is the guest's: only anchor-host resets it.
type Instance struct {
	plugin *Plugin
	caller Caller
	mu     sync.Mutex
}

// Call sends a document as it is, and returns the status, which is done or no change, and the
// output, both unchecked. Use an [Operation] unless you made the document by the manifest. The
// error is an *[Error].
func (i *Instance) Call(ctx context.Context, op abi.Operation, doc []byte) (abi.Status, []byte, error) {
	if _, err := i.plugin.spec.Operation(op); err != nil {
		return 0, nil, i.failed(op, fault.New(abi.ReasonDenied, "%w", err))
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, nil, i.failed(op, ended(err))
	}
	raw, out, err := i.caller.CallWithContext(ctx, op.JSONExport(), doc)
	status := abi.Status(int32(raw))
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)):
		err = ended(cmp.Or(ctx.Err(), err))
	case err != nil:
		err = fault.New(abi.ReasonGuestError, "%w", err)
	case status != abi.StatusDone && status != abi.StatusNoChange:
		err = fault.New(abi.ReasonGuestError, "status %d without a message", status)
	default:
		return status, out, nil
	}
	return 0, nil, i.failed(op, err)
}

// ended is the fault of a call whose context has ended, or whose time in the SDK has.
func ended(err error) error {
	reason := abi.ReasonCancelled
	if errors.Is(err, context.DeadlineExceeded) {
		reason = abi.ReasonTimeout
	}
	return fault.New(reason, "%w", err)
}

// failed is the error of an operation. What has no reason is an answer that breaks the contract.
func (i *Instance) failed(op abi.Operation, err error) error {
	out := &Error{Plugin: i.plugin.spec.Name, Operation: op, Code: abi.ReasonInvalidOutput, Err: err}
	var f *fault.Fault
	switch {
	case errors.As(err, &f):
		out.Code, out.Err = f.Reason, f.Err
	case errors.Is(err, abi.ErrNotGranted):
		out.Code = abi.ReasonDenied
	case errors.Is(err, abi.ErrTooLarge):
		out.Code = abi.ReasonOutputTooLarge
	}
	return out
}
