package anchor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/failures"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/store"
)

// Stream is one conversation, or the frames of one agent run.
type Stream struct {
	// ID is its name.
	ID string `json:"id"`
	// Newest is the number of the newest turn or frame record. Older records may have been
	// deleted. It is 0 for a run without frames.
	Newest int64 `json:"newest"`
	// Time is the time at which the newest record was stored.
	Time time.Time `json:"time"`
}

// Conversations lists the conversations of a tenant, by name. An empty tenant means that of the
// configuration.
func (a *App) Conversations(ctx context.Context, tenant string) ([]Stream, error) {
	return a.streams(ctx, tenant, conversation.KindTurn, conversation.KindTurn)
}

// Runs lists the agent runs of a tenant, by name: those that have frames, a state, an intent, a
// plan or a snapshot. An empty tenant means that of the configuration.
func (a *App) Runs(ctx context.Context, tenant string) ([]Stream, error) {
	return a.streams(ctx, tenant, agentstore.KindFrame, agentstore.RunKinds()...)
}

// streams lists the streams that have records of one of the kinds. counted is the kind that Newest
// counts.
func (a *App) streams(ctx context.Context, tenant, counted string, kinds ...string) ([]Stream, error) {
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil {
		return nil, err
	}
	found := make(map[string]Stream)
	for _, kind := range kinds {
		keys, err := s.Keys(ctx, c.TenantName(), kind)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			last, err := s.Last(ctx, key, 1)
			if err != nil {
				return nil, err
			}
			if len(last) > 0 {
				found[key.Stream] = found[key.Stream].with(key, &last[0], counted)
			}
		}
	}
	list := slices.AppendSeq([]Stream{}, maps.Values(found)) // not nil, which JSON writes as null
	slices.SortFunc(list, func(a, b Stream) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// with returns the stream with the newest record of one of its kinds.
func (s Stream) with(key store.Key, rec *store.Record, counted string) Stream {
	s.ID = key.Stream
	if key.Kind == counted {
		s.Newest = rec.Seq
	}
	if rec.Time.After(s.Time) {
		s.Time = rec.Time
	}
	return s
}

// Export writes all records of a tenant as JSON Lines: those of facts, of conversations and of agent
// runs. A damaged record is an error if damaged is nil. Otherwise the
// record is left out and damaged is called. An empty tenant means that of the configuration.
func (a *App) Export(ctx context.Context, tenant string, w io.Writer, damaged func(store.Key, *store.CorruptError)) error {
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil {
		return err
	}
	if damaged == nil {
		return store.Export(ctx, s, w, c.TenantName())
	}
	return store.ExportReadable(ctx, s, w, c.TenantName(), damaged)
}

// Import stores the output of [App.Export] as records of a tenant and returns how many it stored.
// The tenant need not be that of the export. Existing records are replaced. A line whose content
// does not match its kind is an error; earlier lines may have been stored by then. An empty
// tenant means that of the configuration.
func (a *App) Import(ctx context.Context, tenant string, r io.Reader) (int, error) {
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil {
		return 0, err
	}
	n, err := store.ImportChecked(ctx, s, r, c.TenantName(), agentstore.Check)
	if errors.Is(err, store.ErrInvalid) {
		err = errkind.As(ErrInvalid, err)
	}
	return n, err
}

// ForgetTenant deletes the records and collections of a tenant in the store and the values that
// plugins keep for it. The tenant must not be empty. ForgetTenant returns how many records it deleted. It
// cancels the tenant's promotions and compactions by this App first. Builds of the tenant that run at the same time
// may store new records.
func (a *App) ForgetTenant(ctx context.Context, tenant string) (int, error) {
	if tenant == "" {
		return 0, fmt.Errorf("%w: no tenant to forget (name one)", ErrInvalid)
	}
	g, c, s, err := a.held(ctx, tenant)
	if err != nil {
		return 0, err
	}
	defer g.Release()
	defer a.index.Forget(c.TenantName())
	if err := a.promoting.cancelTenant(ctx, c.TenantName()); err != nil {
		return 0, fmt.Errorf("forget tenant %q: wait for its promotions: %w", tenant, err)
	}
	if err := a.keeper.Flush(ctx); err != nil {
		return 0, fmt.Errorf("forget tenant %q: wait for records of builds: %w", tenant, err)
	}
	own := assemble.CompactionName(c.TenantName(), "")
	a.compacting.Cancel(func(name string) bool { return strings.HasPrefix(name, own) })
	keys, err := s.Keys(ctx, c.TenantName(), "")
	if err != nil {
		return 0, fmt.Errorf("forget tenant %q: %w", tenant, err)
	}
	total := 0
	var failed error // a failure must not keep the other records from being deleted
	// Turns go before facts, so that no promotion takes facts from them meanwhile.
	for _, key := range slices.Backward(keys) {
		n, err := s.Clear(ctx, key)
		total, failed = total+n, cmp.Or(failed, err)
	}
	a.costs.Forget(c.TenantName())
	n, err := failures.Forget(ctx, s, failures.Owner{Tenant: c.TenantName()})
	total, failed = total+n, cmp.Or(failed, err)
	failed = cmp.Or(failed, forgetCollections(ctx, s, c.TenantName()))
	if err := errors.Join(failed, a.forgetValues(ctx, g, c.TenantName())); err != nil {
		return total, fmt.Errorf("forget tenant %q: %w", tenant, store.Partly(total > 0, err))
	}
	return total, nil
}

// forgetCollections removes the collections of a tenant.
func forgetCollections(ctx context.Context, s store.Store, tenant string) error {
	index, ok := agentstore.IndexOf(s)
	if !ok {
		return nil
	}
	list, err := index.Collections(ctx, tenant)
	for i := range list {
		err = cmp.Or(err, index.Remove(ctx, list[i].Collection))
	}
	return err
}

// forgetValues deletes the values that plugins keep for a tenant.
func (a *App) forgetValues(ctx context.Context, g *assemble.Generation, tenant string) error {
	if a.options.KV != nil {
		return a.options.KV.Forget(ctx, tenant)
	}
	return g.ForgetTenant(ctx, tenant)
}

// Checkpoint removes deleted data from the log of the store, if the store has a log. The error is
// store.ErrBusy while other processes read the store. The next Checkpoint then removes the data,
// or the last process that closes the store.
func (a *App) Checkpoint(ctx context.Context) error {
	_, s, err := a.storeOf(ctx, "")
	if err != nil {
		return err
	}
	if c, ok := s.(interface{ Checkpoint(context.Context) error }); ok {
		return c.Checkpoint(ctx)
	}
	return nil
}
