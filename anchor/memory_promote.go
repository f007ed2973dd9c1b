package anchor

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// PromoteOptions override the configuration for one call of [App.Promote]. A field with its zero
// value overrides nothing.
type PromoteOptions struct {
	// Tenant owns the conversation and the facts.
	Tenant string
	// User and Session own the promoted facts. Empty: facts.user and facts.session.
	User, Session string
}

// Promote extracts facts from the turns of a stored conversation that were added since its last
// promotion. The plugin that facts.extract names does the extraction. The error is store.ErrNotFound
// if there is no such conversation.
func (a *App) Promote(ctx context.Context, conversation string, o PromoteOptions) (memory.Promotion, error) {
	var none memory.Promotion
	g, err := a.use()
	if err != nil {
		return none, err
	}
	defer g.users.Done()
	c := g.loaded.Config
	if o.Tenant != "" {
		if err := config.Set(&c, "tenant", o.Tenant); err != nil {
			return none, err
		}
	}
	if err := config.Set(&c, "conversation.id", conversation); err != nil {
		return none, err
	}
	if c.Facts != nil {
		facts := *c.Facts
		facts.User, facts.Session = cmp.Or(o.User, facts.User), cmp.Or(o.Session, facts.Session)
		c.Facts = &facts
	}
	p, err := a.promote(ctx, g, &c)
	if err == nil && p.Turns == 0 {
		err = a.checkConversation(ctx, g, &c)
	}
	return p, err
}

// checkConversation returns an error if the conversation of a configuration has no turns and never
// had any that were promoted.
func (a *App) checkConversation(ctx context.Context, g *generation, c *config.Config) error {
	s, err := a.openStore(ctx, g.loaded)
	if err != nil {
		return err
	}
	l := memory.NewLog(s, c.TenantName(), c.Conversation.ID)
	turns, err := l.Turns(ctx, 0, 1)
	if err != nil || len(turns) > 0 {
		return err
	}
	if through, err := l.Promoted(ctx); err != nil || through > 0 {
		return err
	}
	return fmt.Errorf("conversation %q of tenant %q: no such conversation: %w (list them with: anchor-host memory list --conversations)", c.Conversation.ID, c.TenantName(), store.ErrNotFound)
}

// Consolidate merges, shortens and removes facts of a tenant that a filter selects. The plugin
// that facts.extract names decides what changes. It sees the facts of one user and session at a
// time. An empty tenant means that of the configuration.
func (a *App) Consolidate(ctx context.Context, tenant string, filter memory.Filter) (memory.Promotion, error) {
	var none memory.Promotion
	g, err := a.use()
	if err != nil {
		return none, err
	}
	defer g.users.Done()
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil {
		return none, err
	}
	ctx = host.WithTenant(ctx, c.TenantName())
	m, err := g.plugins.Promoter(ctx, c, s)
	if err != nil {
		return none, err
	}
	return m.Consolidate(ctx, filter)
}

// promote promotes the conversation of a configuration.
func (a *App) promote(ctx context.Context, g *generation, c *config.Config) (memory.Promotion, error) {
	var none memory.Promotion
	s, err := a.openStore(ctx, g.loaded)
	if err != nil {
		return none, err
	}
	ctx = host.WithTenant(ctx, c.TenantName())
	m, err := g.plugins.Promoter(ctx, c, s)
	if err != nil {
		return none, err
	}
	p, err := m.PromoteLog(ctx, memory.NewLog(s, c.TenantName(), c.Conversation.ID))
	if err != nil {
		return p, fmt.Errorf("conversation %q: %w", c.Conversation.ID, err)
	}
	return p, nil
}

// promoteTimeout bounds the duration of a promotion after a build.
const promoteTimeout = 5 * time.Minute

// promoteLater promotes the conversation of a build that remembered a turn, if enough turns were
// added. The promotion runs in the background; only [App.Close] waits for it. A failure is
// logged, and the next promotion covers the same turns.
func (a *App) promoteLater(ctx context.Context, g *generation, c *config.Config) {
	if c.Facts == nil || c.Facts.Extract == nil || c.Conversation == nil || c.Conversation.ID == "" {
		return
	}
	every := config.DefaultEvery
	if e := c.Facts.Extract.Every; e != nil {
		every = *e
	}
	if every == 0 {
		return
	}
	key := [2]string{c.TenantName(), c.Conversation.ID}
	if _, running := a.promoting.LoadOrStore(key, true); running {
		return
	}
	g.users.Add(1) // the caller is one of them
	go func() {
		defer g.users.Done()
		defer a.promoting.Delete(key)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), promoteTimeout)
		defer cancel()
		if err := a.promoteDue(ctx, g, c, int64(every)); err != nil {
			a.options.Logger.Warn("turns were not promoted", "conversation", c.Conversation.ID, "error", err)
		}
	}()
}

// promoteDue promotes the conversation if at least every turns were added since its last
// promotion.
func (a *App) promoteDue(ctx context.Context, g *generation, c *config.Config, every int64) error {
	s, err := a.openStore(ctx, g.loaded)
	if err != nil {
		return err
	}
	n, err := memory.NewLog(s, c.TenantName(), c.Conversation.ID).Unpromoted(ctx)
	if err == nil && n >= every {
		_, err = a.promote(ctx, g, c)
	}
	return err
}
