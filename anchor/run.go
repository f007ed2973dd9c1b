package anchor

import (
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/internal/agentrun"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/config"
)

// Run is an agent run of a tenant in the store. It has the state of [App.Assemble], frames that
// record what the agent did, an intent, plans, and snapshots of its window. It is safe for
// concurrent use.
type Run = agentrun.Run

// PushOptions are the options of [Run.Push].
type PushOptions = agentrun.PushOptions

// Pushed is the result of [Run.Push].
type Pushed = agentrun.Pushed

// Analyzed is the result of [Run.Analyze].
type Analyzed = agentrun.Analyzed

// StepChange is what [Run.ChangeStep] changes.
type StepChange = agentrun.StepChange

// The labels of snapshots that are taken automatically: when the intent becomes active, and when a
// step begins to progress.
const (
	SnapshotStart = agentrun.SnapshotStart
	SnapshotStep  = agentrun.SnapshotStep
)

// Run returns an agent run of a tenant. The first frame or assembly creates it in the store. An
// empty tenant means that of the configuration.
func (a *App) Run(ctx context.Context, tenant, id string) (*Run, error) {
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
	return agentrun.New(agentstore.Run{Store: s, Tenant: c.TenantName(), ID: id}, t, &a.runs), nil
}
