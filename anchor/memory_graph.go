package anchor

import (
	"context"

	"github.com/anchor-host/anchor-host/pipeline/memory"
)

// Graph returns the graph of a tenant: what its entities have to do with each other and
// with facts. An empty tenant is that of the configuration.
func (a *App) Graph(ctx context.Context, tenant string) (*memory.StoreGraph, error) {
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return memory.NewStoreGraph(s, c.TenantName()), nil
}
