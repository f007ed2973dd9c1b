package conformance

import (
	"context"
	"encoding/json"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// The lanes.
const (
	JSON  = "json"
	Batch = "batch"
)

// Target is a guest to be tested and the host that runs it. The kit calls it
// from one goroutine.
type Target interface {
	// Describe says what is known of the guest without running it.
	Describe() Description
	// Settings checks settings against the schema of an operation, or of
	// abi.OpInit, as the host does before it uses them, and returns them with
	// defaults filled in; nil when nothing is sent.
	Settings(op abi.Operation, settings map[string]any) (json.RawMessage, error)
	// Load starts the guest and runs its init. Clock and random numbers should
	// be fixed, so that answers can be compared.
	Load(ctx context.Context, o LoadOptions) (Guest, error)
}

// LoadOptions say how a guest is started.
type LoadOptions struct {
	// Settings are the init settings.
	Settings map[string]any
	// Keep asks for one instance that serves every call and keeps its state.
	// Otherwise a host does between calls what it does in production.
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
	// Extism asks that a call in the lane JSON be made as every Extism host makes it:
	// the request is the Extism input, though the guest takes documents through its
	// mailbox. Hosts that never write documents there need not look at it.
	Extism bool
	// Request is the document or the batch.
	Request []byte
}

// Answer is what a guest answered, unchecked.
type Answer struct {
	// Status is abi.StatusDone or abi.StatusNoChange.
	Status abi.Status
	// Output is the document or the change set.
	Output []byte
	// Memory is the size of the linear memory after the call in bytes, 0 when
	// the host cannot tell.
	Memory int64
	// Time is how long the call took.
	Time time.Duration
}

// Description is what is known of a guest without running it.
type Description struct {
	// Manifest is what the plugin says of itself. Required.
	Manifest *abi.Manifest
	// Digest and Size are those of the module.
	Digest string
	Size   int64
	// Operations are the operations with what the host grants them, without
	// init.
	Operations []Operation
	// MaxItems, MaxTokens and MaxOutput bound what one call may add: new items,
	// tokens of new text, and bytes of its answer. 0 is no bound.
	MaxItems, MaxTokens int
	MaxOutput           int64
	// CountTokens counts the tokens of texts. nil: MaxTokens is not checked.
	CountTokens func(ctx context.Context, texts ...string) ([]int, error)
	// Remembers says that the guest is granted something that outlives its
	// calls, such as a store, so that answers may differ for the same request.
	Remembers bool
}

// Operation is one operation of a guest.
type Operation struct {
	Operation abi.Operation
	// Lanes are JSON, Batch or both.
	Lanes []string
	// Reads are the columns it is sent, Writes the changes it may make.
	Reads  abi.ColumnSet
	Writes abi.ChangeSet
	// Sources are the sources that new items may state; none means that they
	// may state none.
	Sources []string
	// MaxPriority is the highest priority that new items and edits may state.
	// 0: 10.
	MaxPriority int
}
