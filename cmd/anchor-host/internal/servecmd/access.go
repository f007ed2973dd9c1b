package servecmd

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/audit"
	"github.com/anchor-host/anchor-host/server/keys"
	"github.com/anchor-host/anchor-host/server/quota"
)

// watchKeys is how often the file of the keys is looked at.
const watchKeys = 2 * time.Second

// control adds to the options of a server how many requests of the keys may run, and the log of what they
// did. store is nil if there are no keys. end must be called when the server has ended.
func control(o *server.Options, store *keys.Store, loaded *config.Loaded, app *anchor.App) (end func(), _ error) {
	log := o.Logger
	c := &loaded.Server
	q := quota.Options{Stored: app.Stored, Collected: app.Collected, Spent: app.Spent, Spend: app.Spend, Queue: quota.QueueOptions{Builds: c.Queue.Builds, Waiting: c.Queue.Waiting, Bytes: int64(c.Queue.Bytes)}}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	unwatch := func() {
		cancel()
		watching.Wait()
	}
	if store != nil {
		q.Limits = store.Limits
		watching.Go(func() { store.Watch(ctx, watchKeys, log) })
	}
	o.Admission = quota.New(q)
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

func openAudit(loaded *config.Loaded, log *slog.Logger) (*audit.Log, error) {
	c := &loaded.Server.Audit
	key, err := audit.Key(loaded.Path(c.KeyPath()))
	if err != nil {
		return nil, err
	}
	return audit.Open(audit.Options{Path: loaded.Path(c.Path), Key: key, MaxBytes: int64(c.MaxSize), Keep: time.Duration(c.Keep), HeadEvery: time.Duration(c.HeadEvery), Logger: log})
}
