package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cluster"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/failures"
	"github.com/anchor-host/anchor-host/server/internal/certs"
	"github.com/anchor-host/anchor-host/server/internal/degraded"
	background "github.com/anchor-host/anchor-host/server/internal/jobs"
	"github.com/anchor-host/anchor-host/server/internal/shares"
	"github.com/anchor-host/anchor-host/server/internal/watched"
	"github.com/anchor-host/anchor-host/server/jobs"
)

// TLS is a certificate for a listener: files in PEM, which are read again when they change. Without Cert there
// is none.
type TLS = certs.Files

// Options are the settings of a [Server]. The zero value of a field means the default of the key of
// the same name under server in anchor.yaml.
type Options struct {
	// Listen and AdminListen are the addresses of [Server.Run]. AdminListen "none" has no listener.
	Listen, AdminListen string
	// TLS is the certificate of the API. Without Cert there is none.
	TLS TLS
	// MaxBody bounds a request and MaxBodies all requests that are in memory, in bytes after
	// decompression. MaxBodies also bounds all answers that wait for their clients.
	MaxBody, MaxBodies int64
	// Compress says which answers are compressed for clients that ask for it: "always", "never", or "auto"
	// for those to clients outside of private networks.
	Compress string
	// MaxUpload bounds the documents of one upload, in bytes after decompression. All uploads together may
	// take four times as much of the disk.
	MaxUpload int64
	// MaxValues is the largest number of values of a request.
	MaxValues int
	// MaxConnections bounds the connections of the API, and the requests on them.
	// MaxConnectionsPerAddress bounds those of one address; for IPv6 that is a network of 64 bits.
	MaxConnections, MaxConnectionsPerAddress int
	// MaxTimeout bounds a request. HeaderTimeout is how long a header may take, and how long a
	// connection that has shown no valid key stays open without a request. ClientTimeout is how long a
	// client may take to send a body, and to accept 64 KiB of an answer. IdleTimeout is how long a
	// connection without a request stays open.
	MaxTimeout, HeaderTimeout, ClientTimeout, IdleTimeout time.Duration
	// MinRate is the least speed of a body, in bytes of a second, over 5 seconds.
	MinRate int64
	// DrainDelay and DrainTimeout are the phases of the end; see [Server.Run]. A DrainDelay below 0
	// means none.
	DrainDelay, DrainTimeout time.Duration
	// Unwatched does not reload when a file changes.
	Unwatched bool

	// Logger receives log lines. nil discards them.
	Logger *slog.Logger
	// Authenticator says who sends a request. nil: everybody may do everything for the tenant of the
	// configuration, and [Server.Run] listens on loopback addresses only.
	Authenticator Authenticator
	// Admission decides whether a request may run. nil: every one may.
	Admission Admission
	// Jobs keeps jobs in a database, which the caller opens and closes. nil: uploads are read in the background
	// of this process, and there are no other jobs.
	Jobs jobs.Queue
	// KeptJobs are shown if Jobs is nil: those in a database, on which others work. It may be nil.
	KeptJobs jobs.Queue
	// LimitsProblem says why limits do not count for all hosts at the moment, nil if they do. It may be nil.
	LimitsProblem func() error
	// Observers hear of requests and builds.
	Observers []Observer
	// Candidate says whether a request uses the candidate of the App. It calls conversation, which names what the
	// request belongs to, only if some requests do. nil: none does.
	Candidate func(tenant string, conversation func() string) bool
	// Rollout returns what GET /v1/rollout answers. nil: the service follows no rollout.
	Rollout func(ctx context.Context) (*cluster.Status, error)
	// Failures are the last failed calls of plugins. nil: none are kept.
	Failures *failures.Log
	// TenantClass names the class of a tenant, as metrics know it. nil: the log names none.
	TenantClass func(tenant string) string
	// Logged says that an Observer logs requests, so that Logger gets no line for each.
	Logged bool
	// Version is that of the program, as /openapi.json states it.
	Version string
	// OnListen is called when the listeners are open. admin is nil if there is none. It may be nil.
	OnListen func(data, admin net.Addr)
}

// complete sets the defaults.
func (o *Options) complete() {
	d := config.Server{}.WithDefaults()
	or := func(to *time.Duration, fallback config.Duration) {
		if *to == 0 {
			*to = time.Duration(fallback)
		}
	}
	or(&o.MaxTimeout, d.MaxTimeout)
	or(&o.HeaderTimeout, d.HeaderTimeout)
	or(&o.ClientTimeout, d.ClientTimeout)
	or(&o.IdleTimeout, d.IdleTimeout)
	or(&o.DrainTimeout, d.DrainTimeout)
	or(&o.DrainDelay, config.Duration(d.DrainDelay))
	o.Listen = cmp.Or(o.Listen, d.Listen)
	o.AdminListen = cmp.Or(o.AdminListen, d.AdminListen)
	if o.MaxBody <= 0 {
		o.MaxBody = int64(d.MaxBody)
	}
	if o.MaxUpload <= 0 {
		o.MaxUpload = int64(d.MaxUpload)
	}
	if o.MaxValues <= 0 {
		o.MaxValues = d.MaxValues
	}
	if o.MaxBodies <= 0 {
		o.MaxBodies = max(int64(d.MaxBodies), 2*o.MaxBody)
	}
	if o.MaxConnections <= 0 {
		o.MaxConnections = d.MaxConnections
	}
	if o.MaxConnectionsPerAddress <= 0 {
		o.MaxConnectionsPerAddress = max(1, o.MaxConnections/4)
	}
	if o.MinRate <= 0 {
		o.MinRate = int64(d.MinRate)
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Version = cmp.Or(o.Version, "0")
}

// Server answers requests with an [anchor.App]. It is safe for concurrent use.
type Server struct {
	app *anchor.App
	o   Options
	log *slog.Logger

	data, admin *table
	bodies      *shares.Shares
	answers     *shares.Shares
	requests    *shares.Shares
	joining     sync.Mutex // of pieces of a body
	paceTime    time.Duration
	evals       *background.Set
	ingests     *background.Set
	jobs        jobs.Queue
	uploads     *shares.Shares // bytes on the disk
	document    []byte         // of /openapi.json

	// draining is set when the service begins to end, and cut when running requests are cancelled.
	draining, cut atomic.Bool
	running       atomic.Int64 // requests

	hurry     chan struct{} // closed by Cut
	hurryOnce sync.Once

	warnings reloadWarnings
	degraded degraded.Log
	files    watched.Files
}

// New returns a server for an App, which the caller closes after the server has ended. The Errors
// name the option.
func New(app *anchor.App, o Options) (*Server, error) {
	if app == nil {
		return nil, errors.New("server: no App")
	}
	o.complete()
	if o.MaxBodies/2 < o.MaxBody {
		return nil, fmt.Errorf("server: max_bodies %d: want at least %d, twice max_body, because one tenant has half of it", o.MaxBodies, 2*o.MaxBody)
	}
	s := &Server{
		app: app, o: o, log: o.Logger, hurry: make(chan struct{}), paceTime: paceTime,
		bodies: shares.New(o.MaxBodies), answers: shares.New(o.MaxBodies), requests: shares.New(int64(o.MaxConnections)),
	}
	s.evals, s.ingests, s.uploads, s.document = newEvals(), newIngests(), shares.New(uploadsTimes*o.MaxUpload), OpenAPI(o.Version)
	if s.jobs = o.Jobs; s.jobs == nil {
		s.jobs = background.Queue{Set: s.ingests, Kept: o.KeptJobs}
	}
	s.files.Status, s.files.Log = app.Status, o.Logger
	s.data, s.admin = newTable(), newTable()
	for _, e := range s.dataEndpoints() {
		if err := s.data.add(e); err != nil {
			return nil, err
		}
	}
	for _, e := range s.adminEndpoints() {
		if err := s.admin.add(e); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Handler answers the requests of the API, for programs with listeners of their own.
func (s *Server) Handler() http.Handler { return s.handler(s.data, true) }

// AdminHandler answers the requests of the admin listener.
func (s *Server) AdminHandler() http.Handler { return s.handler(s.admin, false) }

// Close ends the jobs that the server runs in the background, for programs that do not call
// [Server.Run]. It waits for their end.
func (s *Server) Close() {
	s.ingests.Close()
	s.evals.Close()
}

// Mount adds a route to the API. It must be called before requests come.
func (s *Server) Mount(r Route) error { return s.data.mount(r) }

// MountAdmin adds a route to the admin listener. It must be called before requests come.
func (s *Server) MountAdmin(r Route) error { return s.admin.mount(r) }

// tenant returns the name of the tenant of a principal.
func (s *Server) tenant(p Principal) string {
	if p.Tenant != "" {
		return p.Tenant
	}
	return s.app.Status().Tenant
}

// Draining reports whether the service is ending.
func (s *Server) Draining() bool { return s.draining.Load() }

// Running returns the number of requests that are being answered.
func (s *Server) Running() int64 { return s.running.Load() }

// base returns the context of all requests of a listener, which ends when they are cut.
func (s *Server) base(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(ctx))
}
