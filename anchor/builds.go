package anchor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/aside"
	"github.com/anchor-host/anchor-host/internal/builtdoc"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/failures"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/store"
)

// Builds lists the records of a tenant's builds, the newest first: at most limit, 1 to 1,000, from a
// cursor on, which is empty for the first page. An empty tenant means that of the configuration.
func (a *App) Builds(ctx context.Context, tenant string, f builds.Filter, cursor string, limit int) (builds.Page, error) {
	return a.findBuilds(ctx, tenant, f, cursor, limit, builds.List)
}

// FindBuilds is [App.Builds] for many records: the first search of a tenant reads all of them, and holds in memory
// what searches compare, so that further ones take milliseconds.
func (a *App) FindBuilds(ctx context.Context, tenant string, f builds.Filter, cursor string, limit int) (builds.Page, error) {
	return a.findBuilds(ctx, tenant, f, cursor, limit, a.index.Find)
}

func (a *App) findBuilds(
	ctx context.Context, tenant string, f builds.Filter, cursor string, limit int,
	find func(context.Context, store.Store, string, builds.Filter, string, int) (builds.Page, error),
) (builds.Page, error) {
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil {
		return builds.Page{}, err
	}
	page, err := find(ctx, s, c.TenantName(), f, cursor, limit)
	if errors.Is(err, store.ErrInvalid) {
		err = errkind.As(ErrInvalid, err)
	}
	return page, err
}

// BuildRecord returns the record of a build. The error wraps store.ErrNotFound if there is none. An
// empty tenant means that of the configuration.
func (a *App) BuildRecord(ctx context.Context, tenant, id string) (*builds.Record, error) {
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return builds.Get(ctx, s, c.TenantName(), id)
}

// RemoveBuilds deletes records of a tenant's builds and returns how many there were. Without ids it
// deletes all, those that wait to be written included. An empty tenant means that of the
// configuration.
func (a *App) RemoveBuilds(ctx context.Context, tenant string, ids ...string) (int, error) {
	c, s, err := a.storeOf(ctx, tenant)
	if err != nil {
		return 0, err
	}
	if err := a.keeper.Flush(ctx); err != nil {
		return 0, err
	}
	defer a.index.Forget(c.TenantName())
	if len(ids) == 0 {
		return builds.RemoveAll(ctx, s, c.TenantName())
	}
	return builds.Remove(ctx, s, c.TenantName(), ids...)
}

// forgetBuilds deletes the records of builds that of selects, those that wait to be written included, and returns how many
// there were.
func (a *App) forgetBuilds(ctx context.Context, s store.Store, tenant string, of func(*builds.Summary) bool) (int, error) {
	flushed := a.keeper.Flush(ctx)
	defer a.index.Forget(tenant)
	n, err := builds.RemoveOf(ctx, s, tenant, of)
	return n, cmp.Or(flushed, err)
}

// forgetTexts deletes what has texts of conversations, whose names are sorted, beside them: what plugins failed at, and the
// records of builds. Where records are kept without texts it looks at none, which would take a while: those of
// before, with texts, go by their age.
func (a *App) forgetTexts(ctx context.Context, c *config.Config, s store.Store, conversations ...string) error {
	if len(conversations) == 0 {
		return nil
	}
	tenant := c.TenantName()
	_, err := failures.Forget(ctx, s, conversationOwners(tenant, conversations)...)
	if r := c.Builds.Records; err != nil || r != nil && !r.Content {
		return err
	}
	_, err = a.forgetBuilds(ctx, s, tenant, func(b *builds.Summary) bool {
		_, deleted := slices.BinarySearch(conversations, b.Conversation)
		return b.Content && deleted
	})
	return err
}

// conversationOwners are the owners of what plugins failed at in conversations.
func conversationOwners(tenant string, conversations []string) []failures.Owner {
	owners := make([]failures.Owner, len(conversations))
	for i, id := range conversations {
		owners[i] = failures.Owner{Tenant: tenant, Conversation: id}
	}
	return owners
}

// RecordStats returns how many records of builds were kept and dropped so far.
func (a *App) RecordStats() builds.Stats {
	return a.keeper.Stats()
}

// NewBuildID returns a new ID for [BuildOptions.ID], so that a caller knows the name of the record. It
// is empty if the configuration keeps no records.
func (a *App) NewBuildID(ctx context.Context) (string, error) {
	g, err := a.use(ctx)
	if err != nil {
		return "", err
	}
	defer g.Release()
	if g.Loaded.Builds.Records == nil {
		return "", nil
	}
	return newBuildID()
}

// newBuildID returns a UUID whose parts rise with time.
func newBuildID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("record of the build: %w", err)
	}
	return id.String(), nil
}

// ErrNotKept means that a record does not have the request of its build.
var ErrNotKept = errors.New("the record does not have the request of the build")

// RepeatedBuild is a recorded build that was built again.
type RepeatedBuild struct {
	// Result and Err are those of the new build. Result is nil if it failed.
	Result *pipeline.Result
	Err    error
	// Departure is the first place where the new build departs from the recorded one. nil: there is
	// none.
	Departure *explain.Departure
	// Generation is the digest of the configuration and the plugins that the new build had.
	Generation string
}

// RepeatBuild builds the request of a record again, with the current configuration, plugins and store,
// and compares what each part of the build did. An empty tenant means that of the configuration. Of
// the options, ID, Callbacks, Key and RequestID apply; the others come from the record. Nothing is remembered, and what plugins store is gone with the build. The
// error wraps [ErrNotKept] if the record lacks the request, which needs content: true under records.
// A new build that fails is no error, unless it did not begin or ctx has ended.
func (a *App) RepeatBuild(ctx context.Context, tenant string, r *builds.Record, o BuildOptions) (*RepeatedBuild, error) {
	if !r.Content || r.Detail.Request == nil {
		return nil, fmt.Errorf("build %.100q: %w (records keep it with content: true, and not if they are too large)", r.ID, ErrNotKept)
	}
	before, err := builtdoc.Recorded(r.ID, r.Detail.Result, r.Content)
	if err != nil {
		return nil, err
	}
	again := BuildOptions{Tenant: tenant, ID: o.ID, Callbacks: o.Callbacks, Key: o.Key, RequestID: o.RequestID}
	if asked := r.Detail.Options; asked != nil {
		again.User, again.Session, again.Conversation, again.Only, again.Skip = asked.User, asked.Session, asked.Conversation, asked.Only, asked.Skip
	}
	ctx, _, release, err := a.Pin(ctx) // the digest is that of the build
	if err != nil {
		return nil, err
	}
	defer release()
	result, err := a.buildDocument(aside.Under(ctx), "the request of the record", r.Detail.Request, again, true)
	diagnostics := pipeline.DiagnosticsOf(result, err)
	if diagnostics == nil || ctx.Err() != nil {
		return nil, err
	}
	after := builtdoc.OfFailure(again.ID, diagnostics)
	if result != nil {
		after = builtdoc.Of(again.ID, result)
	}
	out := &RepeatedBuild{Result: result, Err: err, Departure: builtdoc.FirstDeparture(before, after)}
	g, err := a.use(ctx)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	out.Generation = g.Digest(!a.options.Lazy)
	return out, nil
}

// FlushRecords waits until the records of the builds that have ended are written.
func (a *App) FlushRecords(ctx context.Context) error { return a.keeper.Flush(ctx) }

// recordID is a name that a caller may give to a record.
var recordID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
})

// recording prepares the record of a build. It returns nil if no records are kept. The returned
// function is called with how the build ended.
func (a *App) recording(b *build) (func(*pipeline.Result, error), error) {
	r, o := b.generation.Loaded.Builds.Records, b.options
	if o.ID != "" && !recordID().MatchString(o.ID) {
		return nil, fmt.Errorf(`%w: id %.100q (want 1 to 64 letters, digits, "-", "_" and ".")`, ErrInvalid, o.ID)
	}
	if r == nil {
		return nil, nil
	}
	if a.options.Tape.tape().Playing() {
		return func(result *pipeline.Result, err error) { b.conceal(result, err) }, nil
	}
	kept := &builds.Build{ID: o.ID, Tenant: b.config.TenantName(), Pipeline: o.Pipeline, Content: r.Content, User: b.user, Session: o.Session, Key: o.Key, RequestID: o.RequestID, Query: b.query.Text}
	if kept.ID == "" {
		var err error
		if kept.ID, err = newBuildID(); err != nil {
			return nil, err
		}
	}
	if c := b.config.Conversation; c != nil {
		kept.Conversation = c.ID
	}
	asked, err := b.asked()
	if err != nil {
		return nil, err
	}
	kept.RequestDigest = builds.Digest(asked)
	if r.Content && json.Valid(b.document) {
		kept.Request, kept.Options = b.document, besides(o)
	}
	began := time.Now()
	return func(result *pipeline.Result, err error) {
		kept.Time, kept.Took = time.Now(), time.Since(began)
		kept.Generation = b.generation.Digest(!a.options.Lazy)
		if kept.Take(result, err) {
			keep, maxSize := r.Limits()
			a.keeper.SetLimits(builds.Limits{Keep: keep, MaxSize: maxSize})
			a.keeper.Add(kept)
		}
		b.conceal(result, err)
	}, nil
}

// besides are the options beside the document of a request, nil for none.
func besides(o *BuildOptions) *builds.Options {
	if o.User == "" && o.Session == "" && o.Conversation == "" && len(o.Only)+len(o.Skip) == 0 {
		return nil
	}
	return &builds.Options{User: o.User, Session: o.Session, Conversation: o.Conversation, Only: o.Only, Skip: o.Skip}
}

// asked is what the build was asked, for its digest.
func (b *build) asked() ([]byte, error) {
	if b.document != nil {
		return b.document, nil
	}
	values := *b.options
	values.Formatter, values.Callbacks, values.Previous, values.ID = nil, nil, nil, ""
	doc, err := json.Marshal(struct {
		Query   pipeline.Query
		Options BuildOptions
	}{b.query, values})
	if err != nil {
		return nil, fmt.Errorf("%w: record of the build: %w", ErrInvalid, err)
	}
	return doc, nil
}

// conceal takes out of the diagnostics what only the record has asked for.
func (b *build) conceal(result *pipeline.Result, err error) {
	d := pipeline.DiagnosticsOf(result, err)
	if d == nil || b.options.Explain {
		return
	}
	d.Items = nil
	for i := range d.Steps {
		s := &d.Steps[i]
		s.StartMS, s.WaitMS, s.GuestMS = 0, 0, 0
	}
	for i := range d.StepFailures {
		f := &d.StepFailures[i]
		f.StartMS, f.TimeMS, f.WaitMS, f.GuestMS = 0, 0, 0, 0
	}
}
