package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// KVStore keeps what plugins store, in place of the memory of the host: on a disk, or where
// several hosts find it. It must be safe for concurrent use.
//
// Its methods are called on goroutines of the host, within the time of the guest's call, at
// whose end their context ends. One that goes on nevertheless is left behind, and what it
// returns is lost. An error, or a panic, ends the guest's call with the reason trap. They
// must not call plugins.
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

// ForgetTenant empties the key-value stores of a tenant, those of all plugins. Otherwise
// they last as long as the host, or as Config.KVStore keeps them, whose errors it returns.
func (h *Host) ForgetTenant(ctx context.Context, tenant string) error {
	tenant = cmp.Or(tenant, store.DefaultTenant)
	if h.cfg.KVStore == nil {
		h.kv.forget(tenant)
		return nil
	}
	if err := h.cfg.KVStore.Forget(ctx, tenant); err != nil {
		return fmt.Errorf("key-value store: forget tenant %q: %w", tenant, err)
	}
	return nil
}

// stored returns the value of a key, which nobody changes.
func (c *callState) stored(at KVOwner, key string) (value []byte, ok bool) {
	h := pluginOf(c.inst).host
	given := h.cfg.KVStore
	if given == nil {
		return h.kv.get(at, key)
	}
	var err error
	c.away(func() {
		value, err = beside(c, "key-value store", func(ctx context.Context) ([]byte, error) { return given.Get(ctx, at, key) }, nil)
		c.storeLate("get", err)
	})
	if err != nil {
		panic(c.storeFailed("get", err))
	}
	return value, len(value) > 0
}

// keep stores a copy of value, or deletes the key when value is empty. The error is
// errKVQuota or errKVFull.
func (c *callState) keep(at KVOwner, key string, value []byte) (err error) {
	p := pluginOf(c.inst)
	given := p.host.cfg.KVStore
	if given == nil {
		return p.host.kv.set(at, p.granted.kvQuota, key, value)
	}
	value = bytes.Clone(value) // the guest's memory may change while the store has it
	c.away(func() {
		_, err = beside(c, "key-value store", func(ctx context.Context) (struct{}, error) {
			return struct{}{}, p.host.owners.set(ctx, given, at, p.granted.kvQuota, key, value)
		}, nil)
		c.storeLate("set", err)
	})
	if err == nil || errors.Is(err, errKVQuota) {
		return err
	}
	panic(c.storeFailed("set", err))
}

// storeFailed is the fault of a call that the embedder's store failed.
func (c *callState) storeFailed(what string, err error) *fault {
	return &fault{code: abi.ReasonTrap, remedy: noRemedy,
		err: as(ErrEmbedder, fmt.Errorf("anchor_kv_%s: the key-value store of the embedder: %w", what, err))}
}

// storeLate notes that the embedder's store used up the time of the call, so that nobody
// blames the plugin for it.
func (c *callState) storeLate(what string, err error) {
	if errors.Is(err, errNotInTime) {
		c.excuse = &fault{code: abi.ReasonTimeout, remedy: noRemedy, err: as(ErrEmbedder, as(context.DeadlineExceeded,
			fmt.Errorf("not done within %v: anchor_kv_%s: the key-value store of the embedder did not answer", c.limit, what)))}
	}
}

// owners have at most one change at a time made to what belongs to each of them, so that
// two cannot both take the last room of a quota.
type owners struct {
	mu   sync.Mutex
	busy map[KVOwner]*ownerTurn
}

// ownerTurn has room for the one that changes something. waiting are all who want to.
type ownerTurn struct {
	turn    chan struct{}
	waiting int
}

// enter waits until nobody else changes what belongs to an owner. The caller calls leave.
func (o *owners) enter(ctx context.Context, at KVOwner) (leave func(), err error) {
	o.mu.Lock()
	t := o.busy[at]
	if t == nil {
		t = &ownerTurn{turn: make(chan struct{}, 1)}
		if o.busy == nil {
			o.busy = map[KVOwner]*ownerTurn{}
		}
		at.Tenant = strings.Clone(at.Tenant) // it may be a part of a longer text
		o.busy[at] = t
	}
	t.waiting++
	o.mu.Unlock()
	forget := func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if t.waiting--; t.waiting == 0 {
			delete(o.busy, at)
		}
	}
	select {
	case t.turn <- struct{}{}:
		return func() { <-t.turn; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
}

// set stores a value within the quota, or removes the key of an empty one.
func (o *owners) set(ctx context.Context, in KVStore, at KVOwner, quota int64, key string, value []byte) error {
	leave, err := o.enter(ctx, at)
	if err != nil {
		return err
	}
	defer leave()
	if len(value) == 0 {
		return in.Delete(ctx, at, key)
	}
	keys, used, err := in.Usage(ctx, at)
	if err != nil {
		return err
	}
	if over := entrySize(key, value) - (quota - used - entryOverhead*keys); over > 0 {
		old, err := in.Get(ctx, at, key)
		if err != nil {
			return err
		}
		if len(old) == 0 || over > entrySize(key, old) {
			return errKVQuota
		}
	}
	return in.Set(ctx, at, key, value)
}
