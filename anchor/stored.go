package anchor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/costs"
	"github.com/anchor-host/anchor-host/store"
	"github.com/anchor-host/anchor-host/usage"
)

// Stored returns how much the store keeps for a tenant: the number of records, which are facts, turns
// and frames among others, and the bytes of their data. Collections, records of builds and costs do not count. An empty tenant
// means that of the configuration. If the store cannot say it, the error wraps
// [errors.ErrUnsupported].
func (a *App) Stored(ctx context.Context, tenant string) (records, bytes int64, err error) {
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil {
		return 0, 0, err
	}
	sizer, ok := s.(store.Sizer)
	if !ok {
		return 0, 0, errors.ErrUnsupported
	}
	return sizer.Size(ctx, c.TenantName(), builds.KindSummary, builds.KindDetail, costs.Kind)
}

// Collected returns how many bytes the collections of a tenant take with their indexes. Those that other
// tenants share do not count. An empty tenant means that of the configuration.
func (a *App) Collected(ctx context.Context, tenant string) (bytes int64, err error) {
	list, err := a.Collections(ctx, tenant)
	for i := range list {
		if !list[i].Shared {
			bytes += list[i].Bytes + list[i].IndexBytes
		}
	}
	return bytes, err
}

// Store returns the store of the App, which opens it if nothing has needed it yet. [App.Close] closes it.
func (a *App) Store(ctx context.Context) (store.Store, error) {
	_, s, err := a.storeOf(ctx, "")
	return s, err
}

// CheckStore reads from the store, and returns why that fails. It is nil as long as nothing has needed
// the store.
func (a *App) CheckStore(ctx context.Context) error {
	if err := take(ctx, a.opening); err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	s := a.store
	<-a.opening
	if s == nil {
		return nil
	}
	_, err := s.Keys(ctx, a.Status().Tenant, "check")
	return err
}

// Tenants lists the tenants that have or had records in the store, sorted. If the store cannot say
// it, the error wraps [errors.ErrUnsupported].
func (a *App) Tenants(ctx context.Context) ([]string, error) {
	_, s, err := a.storeOf(ctx, "")
	if err != nil {
		return nil, err
	}
	lister, ok := s.(store.Lister)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	names, err := lister.Tenants(ctx)
	return slices.DeleteFunc(names, func(name string) bool { return name == store.ClusterTenant }), err
}

// Spend notes what work for a tenant with a key has asked of models, as the services of its diagnostics say
// it. The costs are written to the store soon. Without prices there is nothing to note. An empty tenant means
// that of the configuration.
func (a *App) Spend(tenant, key string, services []usage.Line) {
	if tenant == "" {
		tenant = a.Status().Tenant
	}
	a.costs.Add(tenant, key, services)
}

// Spent returns what a tenant has spent since midnight in UTC with all of its keys, and with one of them, in
// US dollars, as far as [App.Spend] has noted it. An empty tenant means that of the configuration.
func (a *App) Spent(ctx context.Context, tenant, key string) (byTenant, byKey float64, err error) {
	if tenant == "" {
		tenant = a.Status().Tenant
	}
	return a.costs.Spent(ctx, tenant, key)
}

// Costs returns what a tenant has spent from the first to the last day, both in UTC, the newest day first. The
// store keeps the costs of 400 days. An empty tenant means that of the configuration.
func (a *App) Costs(ctx context.Context, first, last time.Time, tenant string) ([]usage.Cost, error) {
	if err := a.costs.Flush(ctx); err != nil {
		return nil, err
	}
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return costs.List(ctx, s, c.TenantName(), first.UTC().Format(time.DateOnly), last.UTC().Format(time.DateOnly))
}

// storeOfCosts returns the store for the costs. At the end of the App it is the one that is open.
func (a *App) storeOfCosts(ctx context.Context) (store.Store, error) {
	_, s, err := a.storeOf(ctx, "")
	if !errors.Is(err, ErrClosed) {
		return s, err
	}
	if err := take(ctx, a.opening); err != nil {
		return nil, err
	}
	defer func() { <-a.opening }()
	if a.store == nil {
		return nil, errAppClosed
	}
	return a.store, nil
}
