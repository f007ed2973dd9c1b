package anchor

import (
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/internal/config"
)

// Run returns an agent run of a tenant. The first frame or assembly creates it in the store. An
// empty tenant means that of the configuration.
func (a *App) Run(ctx context.Context, tenant, id string) (*agentrun.Run, error) {
	if err := config.CheckName(id); err != nil {
		return nil, fmt.Errorf("%w: run: %w", ErrInvalid, err)
	}
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil {
		return nil, err
	}
	t, err := a.counter(ctx, c)
	if err != nil {
		return nil, err
	}
	return agentrun.New(s, c.TenantName(), id, t, &a.runs), nil
}
