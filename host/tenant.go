package host

import (
	"cmp"
	"context"

	"github.com/anchor-host/anchor-host/pipeline/store"
)

// tenantKey is the key of a tenant in a context.
type tenantKey struct{}

// WithTenant returns a context under which plugins are called for a tenant: a
// user, a customer, whoever must not see what others stored. A name is any text;
// an empty one and no name at all are [store.DefaultTenant]. Only the embedder
// names tenants, never a guest.
//
// It separates the key-value stores: each plugin has one for each tenant, with
// its full quota. It separates what instances keep under [StateKeep], too, variables of
// Extism and the last HTTP response included: an instance that served a tenant serves
// no other one. Where a plugin has as many instances as it may, that of another tenant is
// closed, and a new one, with an init of its own, takes its place: tenants in turn then
// find nothing of their own, and an init for each call. [Plugin.NewSession] avoids that.
// Under [StateReset] and [StateFresh] an instance keeps nothing.
//
// Nothing else is separate: grants, limits, the image and the files of a mount are the
// plugin's.
//
// [Host.Load] serves no tenant, whatever its context says: init has the store of
// [store.DefaultTenant], and what it reads there is in the image from which
// all tenants are served.
//
// A [Function] is called under a context with the tenant of the guest's call, and
// so calls plugins for the same one.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// tenantOf returns whose call it is. It is asked where a call needs to know it,
// so that others pay nothing for it.
func tenantOf(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return cmp.Or(tenant, store.DefaultTenant)
}

// Tenant returns the tenant that the guest's call is for; see [WithTenant].
func (g *Guest) Tenant() string { return tenantOf(g.call.Context) }
