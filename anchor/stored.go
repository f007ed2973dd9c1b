package anchor

import (
	"context"
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/internal/builds"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// Stored returns how much the store keeps for a tenant: the number of records, which are facts, turns
// and frames among others, and the bytes of their data. Collections and records of builds do not count. An empty tenant
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
	return sizer.Size(ctx, c.TenantName(), builds.KindSummary, builds.KindDetail)
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
	return lister.Tenants(ctx)
}
