package console

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/server"
)

// App is what the console shows. [*anchor.App] has all of it.
type App interface {
	Status() anchor.Status
	Settings() []anchor.Setting
	Plugins() (list []anchor.Plugin, took time.Duration)
	RecordStats() anchor.RecordStats
	Tenants(ctx context.Context) ([]string, error)
	Builds(ctx context.Context, tenant string, f anchor.BuildFilter, cursor string, limit int) (anchor.BuildPage, error)
	BuildRecord(ctx context.Context, tenant, id string) (*anchor.BuildRecord, error)
	Conversations(ctx context.Context, tenant string) ([]anchor.Stream, error)
	Facts(ctx context.Context, tenant string) (*memory.Manager, error)
	Runs(ctx context.Context, tenant string) ([]anchor.Stream, error)
	Run(ctx context.Context, tenant, id string) (*anchor.Run, error)
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

// Options are what a [Console] needs.
type Options struct {
	// App is what it shows.
	App App
	// Authenticator knows the keys. nil: there are none, and every user of this computer may do
	// everything.
	Authenticator server.Authenticator
	// Totals are read every two seconds.
	Totals func() Totals
	// Rebuild builds the window of a request document again, and returns the id of its record.
	Rebuild func(ctx context.Context, p server.Principal, document []byte, o anchor.BuildOptions) (*pipeline.Result, error)
	// Flush waits until the records of builds are written.
	Flush func(ctx context.Context) error
	// Logger receives mistakes of the console. nil discards them.
	Logger *slog.Logger
}

// Console answers the requests below /console/. It is safe for concurrent use.
type Console struct {
	o        Options
	log      *slog.Logger
	pages    *pages
	sessions *sessions
	attempts *attempts
	history  *history
	docs     *docCache
	// streams and rebuilds bound what runs at the same time.
	streams, rebuilds chan struct{}

	stop    context.CancelFunc
	running sync.WaitGroup
}

// Bounds of what runs at the same time.
const (
	maxStreams  = 16
	maxRebuilds = 1
)

// New returns a console, which reads figures in the background until Close.
func New(o Options) (*Console, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	pages, err := newPages()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &Console{
		o: o, log: o.Logger, pages: pages, sessions: newSessions(time.Now), attempts: newAttempts(time.Now), history: &history{}, docs: &docCache{},
		streams: make(chan struct{}, maxStreams), rebuilds: make(chan struct{}, maxRebuilds), stop: cancel,
	}
	c.history.add(time.Now(), o.Totals(), o.App.Status())
	c.running.Go(func() { c.sample(ctx) })
	return c, nil
}

// Close ends the work in the background.
func (c *Console) Close() {
	c.stop()
	c.running.Wait()
}

// maxForm bounds the body of a form, in bytes.
const maxForm = 64 << 10

// Routes are the routes to mount on the admin listener.
func (c *Console) Routes() []server.Route {
	route := func(method, path, action string) server.Route {
		return server.Route{Method: method, Path: path, Action: action, Scope: server.ScopeNone, Handler: c, MaxBody: maxForm}
	}
	return []server.Route{
		route("GET", "/console", "console"), route("GET", "/console/", "console"),
		route("GET", "/console/assets/", "consoleAsset"), route("GET", "/console/events", "consoleEvents"),
		route("POST", "/console/sign-in", "consoleSignIn"), route("POST", "/console/sign-out", "consoleSignOut"),
		route("POST", "/console/build/again", "consoleRebuild"), route("POST", "/console/fact/delete", "consoleDeleteFact"),
		route("GET", "/console/sign-in", "consoleSignInForm"),
	}
}

// ServeHTTP answers a request.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	v := &visit{c: c, w: w, r: r, ctx: r.Context()}
	if err := v.answer(); err != nil {
		v.fail(err)
	}
}

// secure sets the fields that every answer has.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
	h.Set("Cache-Control", "no-store")
}
