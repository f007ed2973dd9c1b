package anchor

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

const (
	// agingFirst is how long after its start an App looks for what is too old, and agingEvery how
	// long after the look before.
	agingFirst = time.Minute
	agingEvery = time.Hour
)

// aging deletes now and then what the store has kept for longer than store.keep allows.
type aging struct {
	cancel  context.CancelFunc // nil: it does not run
	running sync.WaitGroup
}

// start begins to look after some time.
func (g *aging) start(look func(context.Context)) {
	var ctx context.Context
	ctx, g.cancel = context.WithCancel(context.Background())
	g.running.Go(func() {
		timer := time.NewTimer(agingFirst)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			look(ctx)
			timer.Reset(agingEvery)
		}
	})
}

// stop ends a look that runs, and waits for it.
func (g *aging) stop() {
	if g.cancel != nil {
		g.cancel()
	}
	g.running.Wait()
}

// Aged says how much was deleted for its age.
type Aged struct {
	// Conversations, Runs and Facts are how many there were.
	Conversations int `json:"conversations"`
	Runs          int `json:"runs"`
	Facts         int `json:"facts"`
}

// age deletes what is too old, of all tenants.
func (a *App) age(ctx context.Context) {
	g, err := a.use(ctx)
	if err != nil {
		return // it is closed
	}
	defer g.Release()
	if g.Loaded.Store.Keep == nil {
		return
	}
	var all Aged
	tenants, err := a.Tenants(ctx)
	for _, tenant := range tenants {
		done, failed := a.DeleteOld(ctx, tenant)
		all.Conversations, all.Runs, all.Facts = all.Conversations+done.Conversations, all.Runs+done.Runs, all.Facts+done.Facts
		err = cmp.Or(err, failed)
	}
	if err != nil && ctx.Err() == nil {
		a.options.Logger.Warn("what is older than store.keep allows is not deleted", "error", err)
	}
	if all != (Aged{}) {
		a.options.Logger.Info("deleted what is older than store.keep allows", "conversations", all.Conversations, "runs", all.Runs, "facts", all.Facts)
	}
}

// DeleteOld deletes what the store has kept of a tenant for longer than store.keep allows:
// conversations and agent runs whose newest record is older, and facts that were not used for that
// long. An App that is not lazy does this for all tenants every hour. An empty tenant means that of
// the configuration.
func (a *App) DeleteOld(ctx context.Context, tenant string) (done Aged, err error) {
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil || c.Store.Keep == nil {
		return done, err
	}
	keep, now := c.Store.Keep, time.Now()
	old := func(keep config.Age, at time.Time) bool { return keep > 0 && now.Sub(at) > time.Duration(keep) }
	talks, err := a.Conversations(ctx, tenant)
	var gone []string
	for i := range talks {
		if old(keep.Conversations, talks[i].Time) {
			gone = append(gone, talks[i].ID)
		}
	}
	if err == nil { // first: nobody finds what is left of a conversation that is gone
		err = a.forgetTexts(ctx, c, s, gone...)
	}
	for _, id := range gone {
		talk, failed := a.Conversation(ctx, tenant, id)
		err = forget(ctx, talk.forget, &done.Conversations, err, failed)
	}
	runs, failed := a.Runs(ctx, tenant)
	err = cmp.Or(err, failed)
	for i := range runs {
		if old(keep.Runs, runs[i].Time) {
			run, failed := a.Run(ctx, tenant, runs[i].ID)
			err = forget(ctx, run.Forget, &done.Runs, err, failed)
		}
	}
	for what, has := range map[agentstore.Ownable]struct {
		keep config.Age
		list []Stream
	}{agentstore.AConversation: {keep.Conversations, talks}, agentstore.ARun: {keep.Runs, runs}} {
		if has.keep > 0 && err == nil { // else the lists may not be whole
			used := func(id string) bool { return slices.ContainsFunc(has.list, func(s Stream) bool { return s.ID == id }) }
			err = agentstore.DisownUnused(ctx, s, c.TenantName(), what, now.Add(-time.Duration(has.keep)), used)
		}
	}
	done.Facts, failed = a.deleteOldFacts(ctx, tenant, time.Duration(keep.Facts))
	return done, cmp.Or(err, failed)
}

// forget deletes a conversation or a run, unless it could not be opened, and counts it. It returns the first of the errors.
func forget(ctx context.Context, what func(context.Context) (int, error), done *int, before, failed error) error {
	if failed == nil {
		_, failed = what(ctx)
	}
	if failed == nil {
		*done++
	}
	return cmp.Or(before, failed)
}

// deleteOldFacts deletes the facts of a tenant that were not used for so long, and those that have
// expired. 0 deletes none.
func (a *App) deleteOldFacts(ctx context.Context, tenant string, keep time.Duration) (int, error) {
	if keep <= 0 {
		return 0, nil
	}
	m, err := a.Facts(ctx, tenant)
	if err != nil {
		return 0, err
	}
	got, err := m.Collect(ctx, memory.Collector{Decay: usedWithin(keep), Threshold: 1}, false)
	return got.Expired + got.Decayed, err
}

// usedWithin is a decay that keeps a fact whole for so long after its last use, and then not at all.
type usedWithin time.Duration

// Retention implements [memory.Decay].
func (u usedWithin) Retention(e *memory.Entry, now time.Time) float64 {
	last := e.CreatedAt
	if e.LastAccessed.After(last) {
		last = e.LastAccessed
	}
	if now.Sub(last) > time.Duration(u) {
		return 0
	}
	return 1
}
