package console

import (
	"context"
	"log/slog"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/anchor/shadows"
	"github.com/anchor-host/anchor-host/cluster"
	"github.com/anchor-host/anchor-host/internal/failures"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/jobs"
	"github.com/anchor-host/anchor-host/store"
	"github.com/anchor-host/anchor-host/usage"
)

// App is what the console shows. [*anchor.App] has all of it.
type App interface {
	Status() anchor.Status
	Settings() []anchor.Setting
	Plugins() (list []anchor.Plugin, took time.Duration)
	RecordStats() builds.Stats
	Tenants(ctx context.Context) ([]string, error)
	Builds(ctx context.Context, tenant string, f builds.Filter, cursor string, limit int) (builds.Page, error)
	BuildRecord(ctx context.Context, tenant, id string) (*builds.Record, error)
	Conversations(ctx context.Context, tenant string) ([]anchor.Stream, error)
	Facts(ctx context.Context, tenant string) (*memory.Manager, error)
	Store(ctx context.Context) (store.Store, error)
	Runs(ctx context.Context, tenant string) ([]anchor.Stream, error)
	Run(ctx context.Context, tenant, id string) (*agentrun.Run, error)
	Costs(ctx context.Context, first, last time.Time, tenant string) ([]usage.Cost, error)
	FindBuilds(ctx context.Context, tenant string, f builds.Filter, cursor string, limit int) (builds.Page, error)
	Collections(ctx context.Context, tenant string) ([]retrieve.CollectionInfo, error)
	Stored(ctx context.Context, tenant string) (records, bytes int64, err error)
	Shadows() []shadows.Comparison
}

// Totals are sums since the program began, from which the console makes its live figures.
type Totals struct {
	// Builds and Failed count the builds that ended, and those of them that failed. Skips counts what
	// builds continued without.
	Builds, Failed, Skips float64
	// Buckets count the builds that took at most Bounds seconds, each bucket with those before it.
	// The last bound is infinite.
	Bounds, Buckets []float64
	// In and Out are the tokens of items that are in windows, and of those that were left out, by
	// source.
	In, Out map[string]float64
	// Common and New are the tokens that prompts shared with the one before, and the others.
	Common, New float64
	// CostUSD is what models cost, in US dollars, as far as prices are known.
	CostUSD float64
}

// Key is a key of the service without its secret.
type Key struct {
	ID, Tenant string
	Scopes     []string
	// State is active, expired or revoked. Note says who has the key.
	State, Note string
	// Expires is when it ends; the zero time: never.
	Expires time.Time
	// Limits are those of the key alone, and TenantLimits those of all keys of its tenant.
	Limits, TenantLimits []Limit
}

// Limit is a quota by the name of its setting, such as usd_per_day. Most is what may be used.
type Limit struct {
	Name string
	Most float64
}

// Options are what a [Console] needs.
type Options struct {
	// App is what it shows.
	App App
	// Authenticator knows the keys. nil: there are none, and every user of this computer may do
	// everything.
	Authenticator server.Authenticator
	// Tenants returns the tenants of the keys. nil: there are no keys.
	Tenants func() []string
	// Keys returns the keys without their secrets. nil: there are none.
	Keys func() []Key
	// Failures are the last failed calls of plugins. nil: none are kept.
	Failures *failures.Log
	// Activity is what requests did. nil: nothing is known of it.
	Activity *Activity
	// Totals are read every two seconds.
	Totals func() Totals
	// Rebuild builds the request of a record again, with id as the id of the new record. It returns an error if that did
	// not begin; a build that fails is none.
	Rebuild func(ctx context.Context, p server.Principal, tenant string, r *builds.Record, id string) error
	// Jobs are those of the service. nil: there are none.
	Jobs jobs.Queue
	// Rollout returns what the hosts follow. nil: this host follows nothing.
	Rollout func(ctx context.Context) (*cluster.Status, error)
	// Flush waits until the records of builds are written.
	Flush func(ctx context.Context) error
	// Logger receives mistakes of the console. nil discards them.
	Logger *slog.Logger
}
