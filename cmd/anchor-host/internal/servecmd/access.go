package servecmd

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/storeurl"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/audit"
	"github.com/anchor-host/anchor-host/server/keys"
	"github.com/anchor-host/anchor-host/server/quota"
)

// watchKeys is how often the file of the keys is looked at.
const watchKeys = 2 * time.Second

// control adds to the options of a server how many requests of the keys may run, and the log of what they
// did. named is nil if there are no keys. end must be called when the server has ended.
func control(o *server.Options, named *keys.Store, loaded *config.Loaded, app *anchor.App) (end func(), _ error) {
	log := o.Logger
	c := &loaded.Server
	q := quota.Options{Stored: app.Stored, Collected: app.Collected, Spent: app.Spent, Spend: app.Spend, Queue: quota.QueueOptions{Builds: c.Queue.Builds, Waiting: c.Queue.Waiting, Bytes: int64(c.Queue.Bytes)}}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	unwatch := func() {
		cancel()
		watching.Wait()
	}
	if named != nil {
		q.Limits = named.Limits
		watching.Go(func() { named.Watch(ctx, watchKeys, log) })
	}
	limits := quota.New(q)
	o.Admission = limits
	if storeurl.Is(loaded.StorePath()) {
		watching.Go(func() { tryStore(ctx, app, log) })
	}
	if named != nil && storeurl.Is(loaded.StorePath()) {
		watching.Go(func() { limits.Share(ctx, quota.Hosts{Open: app.Store, Logger: log}) })
		o.LimitsProblem = limits.Problem
	}
	if c.Audit.Path == "" {
		return unwatch, nil
	}
	trail, err := openAudit(loaded, log)
	if err != nil {
		unwatch()
		return nil, err
	}
	o.Observers = append(o.Observers, trail.Observer())
	if c.Audit.OnError == "stop" {
		o.Admission = trail.Guarded(o.Admission)
	}
	return func() {
		unwatch()
		if err := trail.Close(); err != nil {
			log.Error("audit: the end of the log is not written", "error", err)
		}
	}, nil
}

// tryStore opens the store, so that what is wrong with its address is in the log before a request needs it.
func tryStore(ctx context.Context, app *anchor.App, log *slog.Logger) {
	if _, err := app.Store(ctx); err != nil && ctx.Err() == nil {
		log.Error("the store cannot be used; requests that need it get status 503, and try again", "error", err)
	}
}

func openAudit(loaded *config.Loaded, log *slog.Logger) (*audit.Log, error) {
	c := &loaded.Server.Audit
	key, err := audit.Key(loaded.Path(c.KeyPath()))
	if err != nil {
		return nil, err
	}
	return audit.Open(audit.Options{Path: loaded.Path(c.Path), Key: key, MaxBytes: int64(c.MaxSize), Keep: time.Duration(c.Keep), HeadEvery: time.Duration(c.HeadEvery), Logger: log})
}
