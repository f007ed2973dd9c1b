// Package startup reads what a service needs before it serves: for serve, which then begins, and for
// "config validate" and doctor, which only say what is wrong.
package startup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/tracing"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/audit"
	"github.com/anchor-host/anchor-host/server/keys"
	"github.com/anchor-host/anchor-host/telemetry"
)

// Ready is what [Read] has read.
type Ready struct {
	// Options are those of the server, with absolute paths, and with Keys as the Authenticator if there are
	// any.
	Options server.Options
	// Keys are the keys, nil if the configuration names no file.
	Keys *keys.Store
	// Telemetry is that of the service. [tracing.Flush] ends it.
	Telemetry *telemetry.Telemetry
	// Checks say of each part what is wrong, in the order in which they were made.
	Checks []Check
}

// Check is one part that was read.
type Check struct {
	// Part names it, such as "keys".
	Part string
	// Err is what is wrong, nil if nothing is.
	Err error
	// Detail says what was read, in a few words. It is empty if the configuration has nothing of it.
	Detail string
}

// Store is the name of the part that is the store.
const Store = "store"

// Read reads everything that a start of the service reads: variables and secrets, prices, variables OTEL_*,
// keys, addresses and the certificate, the audit log and its key, the store. It writes nothing that stays,
// takes no lock, opens no listener, and asks no server, so that it can run beside the service. The error has
// all mistakes, and what was read is there all the same.
func Read(ctx context.Context, loaded *config.Loaded, log *slog.Logger) (*Ready, error) {
	r := &Ready{Options: server.Options{Logger: log}}
	own := *loaded
	if err := own.Absolute(); err != nil { // messages name files in the same way wherever they are read
		return r, err
	}
	loaded = &own
	r.Options = options(loaded)
	r.Options.Logger = log
	var all []error
	for _, part := range []struct {
		name string
		read func(context.Context, *config.Loaded) (string, error)
	}{
		{"models", r.readModels}, {"telemetry", r.readTelemetry}, {"keys", r.readKeys}, {"addresses", r.readAddresses}, {"audit", r.readAudit}, {Store, r.readStore},
	} {
		detail, err := part.read(ctx, loaded)
		r.Checks = append(r.Checks, Check{part.name, err, detail})
		all = append(all, err)
	}
	return r, errors.Join(all...)
}

// readModels reads variables and secrets, the files of embedders, and prices.
func (r *Ready) readModels(_ context.Context, loaded *config.Loaded) (detail string, err error) {
	prices, err := assemble.CheckStart(loaded)
	if n := len(loaded.Models) + len(loaded.Embedders); n > 0 {
		detail = fmt.Sprintf("%d models and embedders have their files and keys; no server was asked", n)
	}
	if prices != nil && detail != "" {
		detail += fmt.Sprintf("; the prices are of %s", prices.Date.Format(time.DateOnly))
	}
	return detail, err
}

func (r *Ready) readTelemetry(_ context.Context, loaded *config.Loaded) (detail string, err error) {
	r.Telemetry, err = tracing.New(&loaded.Config, r.Options.Logger)
	return "", err
}

// readKeys reads the keys. A file that cannot be read says nothing about the addresses, so they count as
// those of a service with keys.
func (r *Ready) readKeys(_ context.Context, loaded *config.Loaded) (detail string, err error) {
	path := loaded.Server.Keys
	if path == "" {
		return "", nil
	}
	if r.Keys, err = keys.Open(loaded.Path(path)); err != nil {
		r.Options.Authenticator = new(keys.Store)
		return "", err
	}
	r.Options.Authenticator = r.Keys
	if loaded.Telemetry.Prices == "" && r.Keys.LimitsMoney() {
		return "", fmt.Errorf("%w: %s: usd_per_day: there are no prices to count by (set telemetry.prices in anchor.yaml)", config.ErrInvalid, loaded.Path(path))
	}
	return fmt.Sprintf("%s of %s in %s", cli.Count(r.Keys.Len(), "key"), cli.Count(len(r.Keys.Tenants()), "tenant"), loaded.Path(path)), nil
}

func (r *Ready) readAddresses(context.Context, *config.Loaded) (detail string, err error) {
	return "", r.Options.Check()
}

func (r *Ready) readAudit(_ context.Context, loaded *config.Loaded) (detail string, err error) {
	c := &loaded.Server.Audit
	if c.Path == "" {
		return "", nil
	}
	return loaded.Path(c.Path) + " can be written", audit.Check(loaded.Path(c.Path), loaded.Path(c.KeyPath()))
}

func (r *Ready) readStore(ctx context.Context, loaded *config.Loaded) (detail string, err error) {
	if _, err := agentstore.Path(loaded.StorePath()); err != nil && !usesStore(loaded) {
		return "", nil // nothing opens it
	}
	return "", agentstore.Usable(ctx, loaded.StorePath())
}

// usesStore reports whether a pipeline needs the store.
func usesStore(loaded *config.Loaded) bool {
	return slices.ContainsFunc(append(loaded.PipelineNames(), ""), func(name string) bool {
		c, err := loaded.Pipeline(name)
		return err == nil && assemble.UsesStore(c)
	})
}

// Close ends what [Read] has begun, for those who do not serve.
func (r *Ready) Close(ctx context.Context) {
	if r.Telemetry != nil {
		tracing.Flush(ctx, r.Telemetry, r.Options.Logger)
	}
}

// options returns the options of a server with the settings of a configuration.
func options(loaded *config.Loaded) server.Options {
	s := loaded.Server.WithDefaults()
	o := server.Options{
		Listen: s.Listen, AdminListen: s.AdminListen, TLS: server.TLS(s.TLS),
		MaxBody: int64(s.MaxBody), MaxUpload: int64(s.MaxUpload), MaxBodies: int64(s.MaxBodies), MaxValues: s.MaxValues, MaxConnections: s.MaxConnections, MaxConnectionsPerAddress: s.PerAddress,
		Compress: s.Compress, MaxTimeout: time.Duration(s.MaxTimeout), HeaderTimeout: time.Duration(s.HeaderTimeout), ClientTimeout: time.Duration(s.ClientTimeout), IdleTimeout: time.Duration(s.IdleTimeout),
		MinRate:    int64(s.MinRate),
		DrainDelay: time.Duration(s.DrainDelay), DrainTimeout: time.Duration(s.DrainTimeout), Unwatched: !*s.Watch,
	}
	if o.DrainDelay < 0 { // none
		o.DrainDelay = -1
	}
	o.TLS.Cert, o.TLS.Key, o.TLS.ClientCA = loaded.Path(o.TLS.Cert), loaded.Path(o.TLS.Key), loaded.Path(o.TLS.ClientCA)
	return o
}
