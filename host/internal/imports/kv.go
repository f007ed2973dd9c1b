package imports

import (
	"context"
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guard"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/internal/kv"
	"github.com/anchor-host/anchor-host/internal/aside"
	"github.com/anchor-host/anchor-host/internal/errkind"
)

// kvGet returns the value of a key, 0 if there is none.
func kvGet(c *guest.Call, s []uint64) {
	store := storeOf(c)
	if c.Instance.Extism.Kernel.Length(s[0]) == 0 {
		s[0] = 0
		return
	}
	key := c.Key(s[0], "anchor_kv_get: the key")
	value := stored(c, store, key)
	c.Record.Stored(key, value, false)
	s[0] = 0
	if len(value) == 0 {
		return
	}
	if s[0] = c.Put(value); s[0] == 0 {
		panic(guest.Faultf(abi.ReasonMemory, "value of key %q: no room for %d bytes", guesttext.Line(key), len(value)))
	}
}

// The statuses of anchor_kv_set.
const (
	kvDone  = 0
	kvQuota = 1 // the quota of the plugin has no room
	kvFull  = 2 // the host has no room, for any plugin, or cannot write
)

// kvSet stores a value. An empty value, or the handle 0, deletes the key.
func kvSet(c *guest.Call, s []uint64) {
	store := storeOf(c)
	p := of(c)
	key := c.Key(s[0], "anchor_kv_set: the key")
	value, _ := c.Instance.Extism.Kernel.Bytes(s[1])
	c.Spend(min(int64(len(value)), p.Quota))
	err := keep(c, store, key, value)
	switch {
	case err == nil:
		c.Record.Stored(key, value, true)
		s[0] = kvDone
	case errors.Is(err, kv.ErrFull), errors.Is(err, kv.ErrNotWritten):
		s[0] = kvFull
		c.Instance.WASI.Output.Line("warn", "anchor_kv_set: "+err.Error())
	default:
		s[0] = kvQuota
	}
}

// storeOf names the key-value store of the plugin and the call's tenant. Without a grant the
// call ends.
func storeOf(c *guest.Call) kv.Owner {
	p := of(c)
	if p.Quota == 0 {
		panic(missing(c, "kv", "grants.kv"))
	}
	c.Instance.Life.Outside = true
	return kv.Owner{Plugin: p.Name, Tenant: p.Tenant(c.Context)}
}

// stored returns the value of a key, empty where there is none. Nobody changes it.
func stored(c *guest.Call, at kv.Owner, key string) []byte {
	if v := aside.Of(c.Context); v != nil {
		if value, found := v.Get(aside.Owner(at), key); found {
			return value
		}
	}
	value, err := of(c).Stores.Get(asking(c), at, key)
	if err != nil {
		panic(storeFailed("get", err))
	}
	return value
}

// keep stores a copy of value, or deletes the key when value is empty. The error is
// kv.ErrQuota, kv.ErrFull or kv.ErrNotWritten.
func keep(c *guest.Call, at kv.Owner, key string, value []byte) error {
	p := of(c)
	if v := aside.Of(c.Context); v != nil {
		if !v.Set(aside.Owner(at), p.Quota, key, value) {
			return kv.ErrQuota
		}
		return nil
	}
	err := p.Stores.Set(asking(c), at, p.Quota, key, value)
	if err == nil || errors.Is(err, kv.ErrQuota) || errors.Is(err, kv.ErrFull) || errors.Is(err, kv.ErrNotWritten) {
		return err
	}
	panic(storeFailed("set", err))
}

// asking is the kv.Ask of a call.
func asking(c *guest.Call) kv.Ask {
	return func(what string, f func(context.Context) ([]byte, error)) ([]byte, error) {
		return askStore(c, what, f)
	}
}

// askStore asks the embedder's store. If that uses up the time of the call, nobody blames the
// plugin for it.
func askStore(c *guest.Call, what string, f func(context.Context) ([]byte, error)) (value []byte, err error) {
	c.Away(func() {
		value, err = guest.Beside(c, "key-value store", f, nil)
		if errors.Is(err, guard.ErrLate) {
			c.Excuse = &guest.Fault{Reason: abi.ReasonTimeout, Remedy: guest.NoRemedy, Err: errkind.As(guard.ErrEmbedder, errkind.As(context.DeadlineExceeded,
				fmt.Errorf("not done within %v: anchor_kv_%s: the key-value store of the embedder did not answer", c.Limit, what)))}
		}
	})
	return value, err
}

// storeFailed is the fault of a call that the embedder's store failed.
func storeFailed(what string, err error) *guest.Fault {
	return &guest.Fault{Reason: abi.ReasonTrap, Remedy: guest.NoRemedy,
		Err: errkind.As(guard.ErrEmbedder, fmt.Errorf("anchor_kv_%s: the key-value store of the embedder: %w", what, err))}
}
