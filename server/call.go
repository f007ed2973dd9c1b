package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/internal/traceparent"
	"github.com/anchor-host/anchor-host/server/internal/conns"
	"github.com/anchor-host/anchor-host/server/internal/uploads"
)

const (
	// maxFields bounds the fields of a header, and maxQuery the query of a URL, in bytes.
	maxFields, maxQuery = 200, 16 << 10
	// requestIDHeader identifies a request in the log, and timeoutHeader asks for a deadline.
	requestIDHeader, timeoutHeader = "X-Request-Id", "X-Request-Timeout"
	// maxRequestID bounds a request id, in bytes.
	maxRequestID = 128
)

// call is one request.
type call struct {
	s        *Server
	w        *writer
	r        *http.Request
	ctx      context.Context
	endpoint *endpoint
	info     RequestInfo
	query    url.Values
	// body is the body after decompression. read says that nothing of it is left to read.
	body []byte
	read bool
	// upload are the documents of an upload. The request removes them, or the job that takes them.
	upload *uploads.Upload
	// held is what the request has of the memory of bodies, in bytes, and slowest when its body must
	// have come.
	held    int64
	slowest time.Time
	// conn is the connection, nil if the listener is that of another program, and begin when the first
	// byte of the header came.
	conn  *conns.Conn
	begin time.Time
	usage Usage
	// claims become those of usage. A build of a stream claims in a goroutine of its own.
	claims claims
	// why is what the log says of a failure, and the answer does not.
	why error
	// after run in reverse order when the request ends.
	after []func()
	// release gives the place of the request back; see [Admission]. It is nil without one.
	release func(Usage)
	placed  time.Time
}

// written is the answer of an endpoint that has written it.
type written struct{}

func (s *Server) handler(t *table, data bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.running.Add(1)
		defer s.running.Add(-1)
		c := &call{s: s, w: newWriter(s, w), r: r, ctx: r.Context(), conn: conns.Of(r.Context()), begin: time.Now()}
		if c.conn != nil {
			var ok bool
			if c.begin, ok = c.conn.Begin(r.TLS != nil, r.ProtoMajor); !ok {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusServiceUnavailable) // without a body, for which a client could let it wait
				return
			}
			defer c.conn.End()
		}
		c.run(t, data)
	})
}

// run answers the request.
func (c *call) run(t *table, data bool) {
	start := time.Now()
	c.info = RequestInfo{ID: requestID(c.r), Method: c.r.Method, Path: c.r.URL.Path, Remote: c.r.RemoteAddr, Traceparent: traceparent.Of(c.r.Header), Admin: !data}
	h := c.w.Header()
	h.Set(requestIDHeader, c.info.ID)
	h.Set("X-Content-Type-Options", "nosniff")
	if c.info.Traceparent != "" {
		h.Set(traceparent.Header, c.info.Traceparent)
		c.ctx = traceparent.With(c.ctx, c.info.Traceparent)
	}
	if c.r.Body != nil && c.r.Body != http.NoBody {
		c.pace()
	}
	var answer any
	err := c.find(t)
	ended := c.observe()
	defer func() {
		if problem := recover(); problem != nil && problem != http.ErrAbortHandler { //nolint:errorlint // net/http compares it, too
			err = &panicked{problem, debug.Stack()}
			c.reply(nil, err)
		} else if problem != nil {
			defer panic(problem)
		}
		for _, f := range slices.Backward(c.after) {
			f()
		}
		c.usage.Status, c.usage.Bytes, c.usage.Took = c.w.status, c.w.bytes, cmp.Or(c.usage.Took, time.Since(start))
		if c.why != nil {
			err = errors.Join(err, c.why)
		}
		c.usage.Claims = c.claims.all()
		ended(&c.info, c.usage, err)
		c.logLine(time.Since(start), err)
	}()
	if err == nil {
		answer, err = c.answer()
	}
	c.reply(answer, err)
}

// find finds the endpoint of the request, and checks what does not depend on it.
func (c *call) find(t *table) error {
	n := 0
	for _, values := range c.r.Header {
		n += len(values)
	}
	switch {
	case n > maxFields:
		return &Refusal{Status: http.StatusRequestHeaderFieldsTooLarge, Reason: "header_too_large", Message: fmt.Sprintf("the header has %d fields", n), Remedy: fmt.Sprintf("send at most %d", maxFields)}
	case len(c.r.URL.RawQuery) > maxQuery:
		return &Refusal{Status: http.StatusRequestURITooLong, Reason: "url_too_long", Message: "the query of the URL is too long", Remedy: fmt.Sprintf("send at most %d bytes", maxQuery)}
	}
	e, err := t.find(c.r)
	if err != nil {
		return err
	}
	c.endpoint, c.info.Action, c.info.Route = e, e.Action, e.Path
	return nil
}

// answer does what the endpoint does.
func (c *call) answer() (any, error) {
	if err := c.authenticate(); err != nil {
		return nil, err
	}
	if err := c.readQuery(); err != nil {
		return nil, err
	}
	if err := c.limitTime(); err != nil {
		return nil, err
	}
	if err := c.enter(); err != nil {
		return nil, err
	}
	if err := c.readBody(); err != nil {
		return nil, err
	}
	if err := c.admit(); err != nil {
		return nil, err
	}
	if c.endpoint.Scope != ScopeNone {
		if o := &c.s.o; o.Candidate != nil && !c.info.Admin && o.Candidate(c.s.tenant(c.info.Principal), c.belongsTo) {
			c.ctx = anchor.WithCandidate(c.ctx)
		}
		pinned, number, release, err := c.s.app.Pin(c.ctx)
		if err != nil {
			return nil, err
		}
		c.after = append(c.after, release)
		c.ctx, c.info.Generation, c.info.Candidate = pinned, number, anchor.UsesCandidate(pinned)
		if !c.info.Admin {
			c.ctx = observe.Discreet(c.ctx)
		}
	}
	return c.endpoint.serve(c)
}

// authenticate says who sends the request, and checks the scope.
func (c *call) authenticate() error {
	scope, auth := c.endpoint.Scope, c.s.o.Authenticator
	if auth == nil {
		if err := CheckLocal(c.r); err != nil {
			return err
		}
	}
	if scope == ScopeNone {
		return nil
	}
	if auth == nil {
		c.info.Principal = Principal{Scopes: []string{ScopeBuild, ScopeMemoryRead, ScopeMemoryWrite, ScopeCollections, ScopeCollectionsWrite, ScopeAdmin, ScopeContent}}
	} else {
		p, err := auth.Authenticate(c.r)
		if err != nil {
			c.conn.Know(false)
			if _, ok := errors.AsType[*Refusal](err); ok {
				return err
			}
			c.s.log.Warn("request is not authenticated", "request", c.info.ID, "error", err)
			return &Refusal{Status: http.StatusUnauthorized, Reason: "unauthenticated", Message: "the request has no valid key", Remedy: "send one as Authorization: Bearer KEY", Header: http.Header{"Www-Authenticate": {"Bearer"}}}
		}
		c.info.Principal = p
	}
	c.conn.Know(true)
	if !c.info.Principal.Has(scope) && (c.endpoint.other == "" || !c.info.Principal.Has(c.endpoint.other)) {
		return noScope(scope)
	}
	c.ctx = agentstore.OnClaim(context.WithValue(c.ctx, principalKey{}, c.info.Principal), c.claims.add)
	return nil
}

// noScope refuses a key that has not a scope.
func noScope(scope string) error {
	return &Refusal{Status: http.StatusForbidden, Reason: "forbidden", Message: fmt.Sprintf("the key has not the scope %s", scope), Remedy: "use a key that has it"}
}

// CheckLocal refuses requests that a page in a browser sends to a service without keys: those of
// other sites, and those to a name that such a site has pointed to this computer. The error is a
// [*Refusal].
func CheckLocal(r *http.Request) error {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if (err != nil || !address.IsLoopback()) && !strings.EqualFold(host, "localhost") && host != "" && isLoopback(r) {
		return &Refusal{Status: http.StatusForbidden, Reason: "forbidden", Message: fmt.Sprintf("host %.100q is not this computer", host), Remedy: "a service without keys answers to localhost and loopback addresses only"}
	}
	if !sameSite(r) {
		return &Refusal{Status: http.StatusForbidden, Reason: "forbidden", Message: "the request comes from a page of another site", Remedy: "a service without keys answers to programs only"}
	}
	return nil
}

// sameSite reports whether a request comes from a program, from the address bar of a browser, or from a
// page of this service. Unlike [http.CrossOriginProtection] it refuses GET, too: the page of another site
// cannot read the answer, but starts what it costs.
func sameSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "none", "same-origin":
		return true
	case "": // a program, or an old browser
		origin := r.Header.Get("Origin")
		u, err := url.Parse(origin)
		return origin == "" || err == nil && u.Host == r.Host
	}
	return false
}

// isLoopback reports whether the request came to a loopback address.
func isLoopback(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// readQuery parses the query of the URL. Unknown parameters are refused, because a misspelt one
// would have no effect.
func (c *call) readQuery() error {
	if c.r.URL.RawQuery == "" {
		return nil
	}
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return badParam("", "the query of the URL cannot be read")
	}
	c.query = values
	if c.endpoint.body == anyBody {
		return nil // the route knows its parameters
	}
	known := append([]string{"timeout"}, c.endpoint.params...)
	for name := range values {
		if !slices.Contains(known, name) {
			return badParam(name, "unknown parameter"+strict.Hint(name, known))
		}
	}
	return nil
}

// badParam is the refusal of a parameter of the URL.
func badParam(name, problem string) error {
	if name != "" {
		problem = fmt.Sprintf("parameter %.100s: %s", name, problem)
	}
	return &Refusal{Status: http.StatusBadRequest, Reason: "invalid_parameter", Message: problem}
}

// limitTime sets the deadline of the request.
func (c *call) limitTime() error {
	limit := c.s.o.MaxTimeout
	for _, asked := range []struct {
		name, value string
		given       bool
	}{
		{"parameter timeout", c.query.Get("timeout"), c.query.Has("timeout")}, {"header x-request-timeout", c.r.Header.Get(timeoutHeader), c.r.Header.Get(timeoutHeader) != ""},
	} {
		if !asked.given || c.endpoint.body == anyBody {
			continue
		}
		d, err := time.ParseDuration(asked.value)
		if err != nil || d <= 0 {
			return &Refusal{Status: http.StatusBadRequest, Reason: "invalid_parameter", Message: fmt.Sprintf("%s: want a time span such as 500ms, got %.100q", asked.name, asked.value)}
		}
		limit = min(limit, d)
	}
	c.w.end = c.begin.Add(limit)
	ctx, cancel := context.WithDeadline(c.ctx, c.w.end)
	c.ctx, c.after = ctx, append(c.after, cancel)
	return nil
}

// cost is what is known of the request.
func (c *call) cost() Cost {
	size := int64(len(c.body))
	if c.upload != nil {
		size = c.upload.Size()
	}
	return Cost{Action: c.endpoint.Action, Scope: c.endpoint.Scope, Bytes: size, RequestID: c.info.ID, Answer: c.w.Header()}
}

// enter counts the request before its body is read.
func (c *call) enter() error {
	if c.endpoint.Scope == ScopeNone {
		return nil
	}
	if c.info.Admin {
		c.protect()
		return nil
	}
	if c.r.Context().Value(withinKey{}) != nil {
		return nil
	}
	tenant := c.info.Principal.Tenant
	if !c.s.requests.TakeOne(tenant, 1) {
		return &Refusal{
			Status: http.StatusServiceUnavailable, Reason: "busy", Message: "too many requests of this tenant are here at the same time",
			Remedy: "wait for answers, or raise server.max_connections", RetryAfter: time.Second,
		}
	}
	c.after = append(c.after, func() { c.s.requests.Give(tenant, 1) })
	c.protect()
	if c.s.o.Admission == nil {
		return nil
	}
	return c.admitted(c.s.o.Admission.Enter(c.info.Principal, c.cost()))
}

// maxBelongs bounds what is read of a body to find out its version, in bytes.
const maxBelongs = 64 << 10

// belongsTo names what the request belongs to, all requests of which have the same version: the
// conversation, the session, the run, or else the user; without any of them what is asked for.
func (c *call) belongsTo() string {
	for _, name := range []string{"conversation", "session", "run"} {
		if id := c.query.Get(name); id != "" {
			return id
		}
	}
	if id := c.r.PathValue("id"); id != "" && (strings.HasPrefix(c.info.Route, "/v1/conversations/") || strings.HasPrefix(c.info.Route, "/v1/runs/")) {
		return id
	}
	return cmp.Or(c.query.Get("user"), string(c.body[:min(len(c.body), maxBelongs)]), c.r.URL.RequestURI())
}

// protect keeps the connection until the request ends.
func (c *call) protect() {
	c.conn.Count(1)
	c.after = append(c.after, func() { c.conn.Count(-1) })
}

// admitted is the error of an admission as the client sees it.
func (c *call) admitted(err error) error {
	var refusal *Refusal
	if err == nil || errors.As(err, &refusal) || c.ctx.Err() != nil {
		return err
	}
	c.why = fmt.Errorf("admission fails: %w", err)
	return &Refusal{Status: http.StatusServiceUnavailable, Reason: "busy", Message: "the request cannot be admitted now", Remedy: "try again", RetryAfter: time.Second}
}

// admit asks whether the request may run.
func (c *call) admit() error {
	a := c.s.o.Admission
	if a == nil || c.endpoint.Scope == ScopeNone || c.info.Admin {
		return nil
	}
	release, err := a.Admit(c.ctx, c.info.Principal, c.cost())
	if err != nil {
		return c.admitted(err)
	}
	c.release, c.placed = release, time.Now()
	c.after = append(c.after, func() { c.leave(c.w.status, c.w.bytes) })
	return nil
}

// leave gives the place of the request back, unless that is done. size is that of the answer, in
// bytes. It is called before the answer is written: a client that reads slowly would stop others.
func (c *call) leave(status int, size int64) {
	if c.release == nil {
		return
	}
	u, release := c.usage, c.release
	u.Status, u.Bytes, u.Took, c.release = status, size, time.Since(c.placed), nil
	release(u)
}

// logLine logs the request, unless an observer does: at level debug, and at warning if the server is at
// fault. The key says to the operator whose request it was; no line has the name of a tenant.
func (c *call) logLine(took time.Duration, err error) {
	level := slog.LevelDebug
	if c.w.status >= 500 && (err != nil || c.endpoint != nil && c.endpoint.Scope != ScopeNone) {
		level = slog.LevelWarn
	}
	if c.s.o.Logged || !c.s.log.Enabled(c.ctx, level) {
		return
	}
	args := []any{
		"request", c.info.ID, "action", cmp.Or(c.info.Action, "none"), "status", c.w.status, "took", took.Round(time.Microsecond),
		"key", c.info.Principal.KeyID, "bytes", c.w.bytes,
	}
	if err != nil {
		args = append(args, "error", err)
	}
	c.s.log.Log(context.WithoutCancel(c.ctx), level, "request", args...)
}

// requestID returns the id of the client, if it is short and plain, or a new one.
func requestID(r *http.Request) string {
	id := r.Header.Get(requestIDHeader)
	sane := id != "" && len(id) <= maxRequestID && !strings.ContainsFunc(id, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !strings.ContainsRune("-_.:", c)
	})
	if sane {
		return id
	}
	return rand.Text()
}

// unescape decodes a segment of a path. It was decoded before, so it is valid.
func unescape(segment string) string {
	text, err := url.PathUnescape(segment)
	if err != nil {
		return segment
	}
	return text
}
