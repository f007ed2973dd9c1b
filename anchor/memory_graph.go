package anchor

import (
	"context"

	"github.com/anchor-host/anchor-host/pipeline/memory"
)

// Graph returns the graph of a tenant: relations between entities, and links from entities to
// facts. An empty tenant means that of the configuration.
func (a *App) Graph(ctx context.Context, tenant string) (*memory.StoreGraph, error) {
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return memory.NewStoreGraph(s, c.TenantName()), nil
}
