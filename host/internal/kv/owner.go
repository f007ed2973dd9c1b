package kv

import (
	"context"
	"errors"
	"fmt"
)

// Owner is whose keys and values they are.
type Owner struct {
	// Plugin is the name of a plugin, Tenant that of a tenant.
	Plugin, Tenant string
}

// The reasons for which a value is refused.
var (
	// ErrQuota says that the owner has reached its quota.
	ErrQuota = errors.New("the quota has no room")
	// ErrFull says that the owners together have reached the bound of memory.
	ErrFull = errors.New("the key-value stores of the host have no room (raise its KVMemory, or forget tenants)")
	// ErrNotWritten says that the store of the embedder cannot be written.
	ErrNotWritten = errors.New("the key-value store cannot be written")
)

// NotWritten returns an error of a store that changes nothing. It wraps [ErrNotWritten] if the error is
// one of those that say that the medium is the reason.
func NotWritten(err error, medium ...error) error {
	for _, reason := range medium {
		if errors.Is(err, reason) {
			return fmt.Errorf("%w: %w", ErrNotWritten, err)
		}
	}
	return err
}

// Store is a store of the embedder. It is safe for concurrent use.
type Store interface {
	// Get returns the value of a key, nil where there is none.
	Get(ctx context.Context, owner Owner, key string) ([]byte, error)
	// Set stores a value, which is not empty, in place of an earlier one.
	Set(ctx context.Context, owner Owner, key string, value []byte) error
	// Delete removes a key, if it is there.
	Delete(ctx context.Context, owner Owner, key string) error
	// Usage returns how many keys an owner has, and the bytes of keys and values.
	Usage(ctx context.Context, owner Owner) (keys, bytes int64, err error)
	// Forget removes all that plugins stored for a tenant.
	Forget(ctx context.Context, tenant string) error
}
