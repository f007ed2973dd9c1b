package server

import (
	"context"
	"github.com/anchor-host/anchor-host/server/internal/conns"
	"net/http"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/internal/ledger"
)

// Scopes of a [Principal]. A route needs exactly one of them.
const (
	// ScopeBuild allows builds, reading their records, assemblies and evaluations.
	ScopeBuild = "build"
	// ScopeMemoryRead allows reading facts, turns of conversations and frames of runs.
	ScopeMemoryRead = "memory:read"
	// ScopeMemoryWrite allows adding and deleting them, and deleting records of builds.
	ScopeMemoryWrite = "memory:write"
	// ScopeCollections allows listing and searching collections.
	ScopeCollections = "collections"
	// ScopeCollectionsWrite allows adding documents to them, and deleting them.
	ScopeCollectionsWrite = "collections:write"
	// ScopeAdmin allows everything below /admin/ and /debug/.
	ScopeAdmin = "admin"
	// ScopeContent allows seeing texts of other requests, such as in records of builds.
	ScopeContent = "content"
)

// Principal is who sends a request. The tenant of a request comes from here alone, never from its
// body or its header.
type Principal struct {
	// KeyID names the key of the request. It is no secret. Empty: there was no key.
	KeyID string
	// Tenant owns everything that the request reads and writes. Empty: the tenant of the
	// configuration.
	Tenant string
	// Scopes are what the request may do; see the constants Scope….
	Scopes []string
}

// Has reports whether the principal has a scope.
func (p Principal) Has(scope string) bool { return slices.Contains(p.Scopes, scope) }

// Authenticator says who sends a request. It is called once for each request, before its body is
// read, by many goroutines at the same time. It must not read the body.
//
// An error that is a [*Refusal] is the answer to the request. Any other error answers 401, and its
// text is not shown.
type Authenticator interface {
	Authenticate(r *http.Request) (Principal, error)
}

// Companion is what an [Authenticator] may be, too: it has a file that belongs to the configuration, and
// a reload reads both together.
type Companion interface {
	// Prepare reads the file. If it fails, the reload changes nothing. commit puts what was read in
	// force; it is called at most once, at the moment in which requests use the new configuration.
	Prepare() (commit func(), err error)
	// Problem says why the file was not taken when it was last read. nil: it was.
	Problem() error
}

// Cost is what is known of a request before it runs.
type Cost struct {
	// Action is the operationId of the route in the OpenAPI document, such as "build".
	Action string
	// Scope is the scope that the route needs.
	Scope string
	// Bytes is the size of the request's body after decompression, 0 before it is read.
	Bytes int64
	// RequestID identifies the request in the log.
	RequestID string
	// Answer is the header of the answer, to which fields such as RateLimit may be added. It must not
	// be used later. It may be nil.
	Answer http.Header
}

// Usage is what a request has used. Fields are 0 where nothing is known.
type Usage struct {
	// Status is the HTTP status of the answer, and Reason the word of its error, empty if it is none.
	Status int
	Reason string
	// Took is the time from admission until the answer is ready.
	Took time.Duration
	// Fuel is the fuel that plugins have used.
	Fuel uint64
	// Tokens is the number of tokens in the window that was built.
	Tokens int
	// ModelCalls is the number of requests to models.
	ModelCalls int
	// Services are the requests to models and other services, with what they cost. They must not be changed.
	Services []ledger.Line
	// Bytes is the size of the answer before compression.
	Bytes int64
	// Claims are the conversations and agent runs that belonged to nobody before the request, and belong to
	// the user that it names from then on. They must not be changed.
	Claims []Claim
	// Degraded is the number of things that the answer lacks.
	Degraded int
}

// Claim is what a user got: What is "conversation" or "run".
type Claim struct{ What, Name string }

// Admission decides whether a request may come, and when it runs. It is asked for every route that needs
// a scope but those of the admin listener.
//
// Enter counts a request. It is called after authentication and before the body is read, so that bodies
// cost their sender something.
//
// Admit gives the request a place. It is called after the body was read, so that a client that sends
// slowly holds none, and for each build of an evaluation, which waits as long as a refusal with RetryAfter
// says and then asks again. It may wait, until ctx ends. If err is nil, release is called exactly once,
// before the answer is written: a client that reads slowly holds no place either.
//
// An error that is a [*Refusal] is the answer to the request. If ctx has ended, any other error
// answers as an ended request does; else it answers 503.
type Admission interface {
	Enter(p Principal, c Cost) error
	Admit(ctx context.Context, p Principal, c Cost) (release func(Usage), err error)
}

// Refusal is an error that says how a request is answered. Its texts are shown to the client.
type Refusal struct {
	// Status is the HTTP status of the answer, such as 401, 403, 429 or 503.
	Status int
	// Reason is a stable word for programs, such as "quota_exceeded".
	Reason string
	// Message says what is wrong, and Remedy what the client can do. Remedy may be empty.
	Message, Remedy string
	// RetryAfter is the time after which the client may try again. It is sent as Retry-After in
	// whole seconds, rounded up. 0: it is not sent.
	RetryAfter time.Duration
	// Header has more fields of the answer, such as RateLimit and WWW-Authenticate. It may be nil.
	Header http.Header
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }

type principalKey struct{}

type infoKey struct{}

type withinKey struct{}

// Within marks the context of a request to the API that a route makes while it answers one that counts already. Quotas
// of requests do not count it; all other limits hold.
func Within(ctx context.Context) context.Context { return context.WithValue(ctx, withinKey{}, true) }

// Identify says who sends a request to a mounted route of [ScopeNone] that finds it out by itself, such
// as by a cookie. Observers and the log then name the sender.
func Identify(r *http.Request, p Principal) {
	if info, ok := r.Context().Value(infoKey{}).(*RequestInfo); ok {
		info.Principal = p
		conns.Of(r.Context()).Know(true)
	}
}

// PrincipalOf returns the principal of a request from its context. Without one it returns the zero
// value, which has no scopes.
func PrincipalOf(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}
