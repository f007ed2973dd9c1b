package anchor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/store"
)

// PromoteOptions override the configuration for one call of [App.Promote]. A field with its zero
// value overrides nothing.
type PromoteOptions struct {
	// Tenant owns the conversation and the facts.
	Tenant string
	// User and Session own the promoted facts. Empty: the user that the conversation belongs to or else
	// facts.user, and facts.session. If all of these are empty, the conversation is the session of the
	// facts. Another user than the one that the conversation belongs to is refused; the error wraps
	// [ErrOwned].
	User, Session string
}

// Promote extracts facts from the turns of a stored conversation that were added since its last
// promotion. The plugin or model that facts.extract names does the extraction. Promote waits until a running
// promotion of the conversation by the same App has ended. The error is store.ErrNotFound if there
// is no such conversation.
func (a *App) Promote(ctx context.Context, conversation string, o PromoteOptions) (memory.Promotion, error) {
	var none memory.Promotion
	g, err := a.use(ctx)
	if err != nil {
		return none, err
	}
	defer g.Release()
	c := g.Loaded.Config
	if err := cmp.Or(c.Set("tenant", o.Tenant), c.SetConversation(conversation), config.CheckOwner(o.User, o.Session)); err != nil {
		return none, err
	}
	if c.Facts != nil {
		facts := *c.Facts
		facts.User, facts.Session = cmp.Or(o.User, facts.User), cmp.Or(o.Session, facts.Session)
		c.Facts = &facts
	}
	if err := a.promoteForOwner(ctx, g, &c, o.User); err != nil {
		return none, err
	}
	key := promotionKey{c.TenantName(), conversation}
	ctx, end, err := a.promoting.enter(ctx, key, nil)
	if err != nil {
		return none, fmt.Errorf("conversation %q: wait for its promotion: %w", conversation, err)
	}
	defer end()
	p, err := a.promote(ctx, g, &c, math.MaxInt)
	if err == nil {
		a.promoting.note(key, nil)
	}
	if err == nil && p.Turns == 0 {
		err = a.checkConversation(ctx, g, &c)
	}
	return p, err
}

// promoteForOwner makes the user that the conversation of a configuration belongs to the owner of its facts.
// asked is the user that the caller names, "" for none. Another one is refused.
func (a *App) promoteForOwner(ctx context.Context, g *assemble.Generation, c *config.Config, asked string) error {
	if c.Facts == nil {
		return nil
	}
	s, err := a.openStore(ctx, g.Loaded)
	if err != nil {
		return err
	}
	if asked == "" {
		asked, err = agentstore.Owner(ctx, s, c.TenantName(), agentstore.AConversation, c.Conversation.ID)
	} else {
		_, err = agentstore.Allow(ctx, s, c.TenantName(), agentstore.AConversation, c.Conversation.ID, asked)
	}
	if err == nil && asked != "" {
		c.Facts.User = asked
	}
	return owned(err)
}

// checkConversation returns an error if the conversation of a configuration has no turns and never
// had any that were promoted.
func (a *App) checkConversation(ctx context.Context, g *assemble.Generation, c *config.Config) error {
	s, err := a.openStore(ctx, g.Loaded)
	if err != nil {
		return err
	}
	l := conversation.NewLog(s, c.TenantName(), c.Conversation.ID)
	turns, err := l.Turns(ctx, 0, 1)
	if err != nil || len(turns) > 0 {
		return err
	}
	if through, err := l.Promoted(ctx); err != nil || through > 0 {
		return err
	}
	return fmt.Errorf("conversation %q of tenant %q: no such conversation: %w (list them with: anchor-host memory list --conversations)", c.Conversation.ID, c.TenantName(), store.ErrNotFound)
}

// Consolidate merges, shortens and removes facts of a tenant that a filter selects. The model of
// facts.consolidate, or else the plugin or model of facts.extract, decides what changes. It sees the facts of one user and session at a
// time. An empty tenant means that of the configuration.
func (a *App) Consolidate(ctx context.Context, tenant string, filter memory.Filter) (memory.Promotion, error) {
	var none memory.Promotion
	g, c, s, err := a.held(ctx, tenant)
	if err != nil {
		return none, err
	}
	defer g.Release()
	ctx, used := ledger.Own(host.WithTenant(ctx, c.TenantName()))
	m, err := g.Consolidator(ctx, c, s)
	if err != nil {
		return none, err
	}
	p, err := m.Consolidate(ctx, filter)
	p.Services = used.Lines()
	return p, err
}

// promote promotes at most so many batches of turns of the conversation of a configuration.
func (a *App) promote(ctx context.Context, g *assemble.Generation, c *config.Config, batches int) (memory.Promotion, error) {
	var none memory.Promotion
	s, err := a.openStore(ctx, g.Loaded)
	if err != nil {
		return none, err
	}
	ctx, used := ledger.Own(host.WithTenant(observe.WithOwner(ctx, observe.Owner{Conversation: c.Conversation.ID}), c.TenantName()))
	priced(used, g)
	m, err := g.Promoter(ctx, c, s)
	if err != nil {
		return none, err
	}
	p, err := m.PromoteBatches(ctx, conversation.NewLog(s, c.TenantName(), c.Conversation.ID), batches)
	p.Services = used.Lines()
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errDeleted) || errors.Is(cause, errAppClosed) {
			err = cause
		}
		return p, fmt.Errorf("conversation %q: %w", c.Conversation.ID, err)
	}
	return p, nil
}

// Bounds of a promotion after a build: its duration, and its batches of turns.
const (
	promoteTimeout = 5 * time.Minute
	promoteBatches = 2
)

// promoteLater promotes the conversation of a build that remembered a turn, if enough turns were
// added. The promotion runs in the background; only [App.Close] waits for it. A failure is
// logged and delays the next promotion, which covers the same turns. What it asks of models counts for the
// tenant and the key of the build, if a service asked for the build.
func (a *App) promoteLater(ctx context.Context, b *build) {
	g, c := b.generation, &b.config
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
	key := promotionKey{c.TenantName(), c.Conversation.ID}
	ctx, end := a.promoting.try(context.WithoutCancel(ctx), key)
	if end == nil {
		return
	}
	release := g.Hold()
	go func() {
		defer release()
		defer end()
		ctx, cancel := context.WithTimeout(ctx, promoteTimeout)
		defer cancel()
		done, err := a.promoteDue(ctx, g, c, int64(every))
		if b.options.RequestID != "" {
			a.Spend(c.TenantName(), b.options.Key, done.Services)
		}
		if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) { // otherwise cancelled by the App
			a.promoting.note(key, err)
		}
		if err != nil {
			a.options.Logger.Warn("turns were not promoted", "conversation", c.Conversation.ID, "error", err)
		}
	}()
}

// promoteDue promotes the conversation if at least every turns were added since its last
// promotion.
func (a *App) promoteDue(ctx context.Context, g *assemble.Generation, c *config.Config, every int64) (p memory.Promotion, err error) {
	s, err := a.openStore(ctx, g.Loaded)
	if err != nil {
		return p, err
	}
	n, err := conversation.NewLog(s, c.TenantName(), c.Conversation.ID).Unpromoted(ctx)
	if err == nil && n >= every {
		p, err = a.promote(ctx, g, c, promoteBatches)
	}
	return p, err
}
