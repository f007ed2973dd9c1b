package conformance

import (
	"context"
	"encoding/json"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
)

// The lanes.
const (
	JSON  = "json"
	Batch = "batch"
)

// Target is a guest to be tested and the host that runs it. The kit calls it from one goroutine
// at a time, unless Options.Beside is set.
type Target interface {
	// Describe describes the guest without running it.
	Describe() Description
	// Settings checks settings against the schema of an operation, or of abi.OpInit, as
	// the host does before it uses them. It returns them with defaults filled in, or nil
	// if the host sends none.
	Settings(op abi.Operation, settings map[string]any) (json.RawMessage, error)
	// Load starts the guest and runs its init. Clock and random numbers should
	// be fixed, so that answers can be compared.
	Load(ctx context.Context, o LoadOptions) (Guest, error)
}

// LoadOptions say how a guest is started.
type LoadOptions struct {
	// Settings are the init settings.
	Settings map[string]any
	// Config is what config_get returns, instead of the configuration of the target. nil: that.
	Config map[string]string
	// Keep asks for one instance that serves every call and keeps its state. Otherwise the
	// host treats the state between calls as in production.
	Keep bool
}

// Guest is a started guest.
type Guest interface {
	// Call calls an operation. A failed call is an error with a method
	// Reason() string that returns an abi.Reason; any other error counts as a
	// trap. ctx cancels the call.
	Call(ctx context.Context, c Call) (*Answer, error)
	// Close frees the guest.
	Close(ctx context.Context) error
}

// Call is one call of a guest.
type Call struct {
	Operation abi.Operation
	// Lane is JSON or Batch.
	Lane string
	// Extism asks for a call in the lane JSON as every Extism host makes it: the request is the
	// Extism input, even if the guest accepts documents through its mailbox. Hosts that never
	// write documents to the mailbox can ignore Extism.
	Extism bool
	// Request is the document or the batch.
	Request []byte
}

// Answer is the unchecked answer of a guest.
type Answer struct {
	// Status is abi.StatusDone or abi.StatusNoChange.
	Status abi.Status
	// Output is the document or the change set.
	Output []byte
	// Memory is the size of the linear memory after the call in bytes, 0 if the host does
	// not know it.
	Memory int64
	// Fuel is the number of units of fuel that the call used, 0 if the host does not count them.
	Fuel int64
	// Time is how long the call took.
	Time time.Duration
}

// Description describes a guest. It is known without running the guest.
type Description struct {
	// Manifest is the manifest of the plugin. Required.
	Manifest *manifest.Manifest
	// Digest and Size are the digest and the size of the module.
	Digest string
	Size   int64
	// Operations are the operations except init, each with what the host grants it.
	Operations []Operation
	// MaxItems, MaxTokens and MaxOutput bound one call: its new items, the tokens of its
	// new text, and the bytes of its answer. 0 means no bound.
	MaxItems, MaxTokens int
	MaxOutput           int64
	// CountTokens counts the tokens of texts. If it is nil, MaxTokens is not checked.
	CountTokens func(ctx context.Context, texts ...string) ([]int, error)
	// Remembers says that the guest has a grant that outlives its calls, such as a store.
	// Its answers to the same request may then differ.
	Remembers bool
}

// Operation is one operation of a guest.
type Operation struct {
	Operation abi.Operation
	// Lanes are JSON, Batch or both.
	Lanes []string
	// Unused says why the host does not call a function for batches that the guest exports.
	Unused string
	// Reads are the columns that it receives, Parts the other parts of its request that it
	// receives, and Writes the changes that it may make.
	Reads  abi.ColumnSet
	Parts  abi.PartSet
	Writes abi.ChangeSet
	// Sources are the sources that new items may state. If it is empty, they may state
	// none.
	Sources []string
	// MaxPriority is the highest priority that new items and edits may state.
	// 0: 10.
	MaxPriority int
}
