package host

import (
	"cmp"
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/host/internal/kv"
	"github.com/anchor-host/anchor-host/store"
)

// tenantKey is the key of the tenant in a context.
type tenantKey struct{}

// WithTenant returns a context under which plugins are called for a tenant: a user, a
// customer, anyone who must not see what others stored. A tenant's name is any text. An empty
// name, and a context without one, mean [store.DefaultTenant]. Only the embedder names
// tenants, never a guest.
//
// Tenants have separate key-value stores: each plugin has one for each tenant, with its full quota.
//
// Under [StateKeep], tenants also have separate instances, because an instance keeps its
// memory, its Extism variables and the last HTTP response. An instance that served one tenant
// serves no other. If a plugin has as many instances as it may, one of another tenant is
// closed, and a new one with its own init replaces it. When tenants take turns this way, they
// find nothing of their earlier calls, and each call costs an init; [Plugin.NewSession] avoids
// that. Under [StateReset] and [StateFresh] an instance keeps nothing.
//
// Grants, limits, the image and the files of a mount belong to the plugin, and all tenants
// share them.
//
// [Host.Load] ignores the tenant of its context. Init uses the store of [store.DefaultTenant],
// and what it reads there is in the image that serves all tenants.
//
// A [Function] is called under a context with the tenant of the guest's call, so it calls
// plugins for the same tenant.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// TenantOf returns the tenant that [WithTenant] set, or [store.DefaultTenant]. The look-up costs
// time.
func TenantOf(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return cmp.Or(tenant, store.DefaultTenant)
}

// Tenant returns the tenant of the guest's call; see [WithTenant].
func (g *Guest) Tenant() string { return TenantOf(g.call.Context) }

// embedderStore is a KVStore as package kv knows it.
type embedderStore struct{ KVStore }

func (s embedderStore) Get(ctx context.Context, at kv.Owner, key string) ([]byte, error) {
	return s.KVStore.Get(ctx, KVOwner(at), key)
}

func (s embedderStore) Set(ctx context.Context, at kv.Owner, key string, value []byte) error {
	return kv.NotWritten(s.KVStore.Set(ctx, KVOwner(at), key, value), store.ErrReadOnly, store.ErrFull)
}

func (s embedderStore) Delete(ctx context.Context, at kv.Owner, key string) error {
	return kv.NotWritten(s.KVStore.Delete(ctx, KVOwner(at), key), store.ErrReadOnly, store.ErrFull)
}

func (s embedderStore) Usage(ctx context.Context, at kv.Owner) (keys, bytes int64, err error) {
	return s.KVStore.Usage(ctx, KVOwner(at))
}

// newStores returns the key-value stores of a host.
func newStores(cfg *Config) *kv.Stores {
	if cfg.KVStore == nil {
		return kv.New(cfg.KVMemory, nil)
	}
	return kv.New(0, embedderStore{cfg.KVStore})
}

// ForgetTenant empties the key-value stores of a tenant, those of all plugins. Otherwise
// they last as long as the host, or as Config.KVStore keeps them, whose errors it returns.
func (h *Host) ForgetTenant(ctx context.Context, tenant string) error {
	tenant = cmp.Or(tenant, store.DefaultTenant)
	if err := h.kv.Forget(ctx, tenant); err != nil {
		return fmt.Errorf("key-value store: forget tenant %q: %w", tenant, err)
	}
	return nil
}
