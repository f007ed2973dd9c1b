package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/store"
	"github.com/anchor-host/anchor-host/server"
)

// visit is one request.
type visit struct {
	c   *Console
	w   http.ResponseWriter
	r   *http.Request
	ctx context.Context
	// who sends it. session is nil without keys. csrf is what forms of the user must contain.
	who     server.Principal
	session *session
	csrf    string
	query   url.Values
	// tenant is whose data is shown; chosen says that the query names it.
	tenant string
	chosen bool
}

// problem is an error that is shown with a status of its own.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

func problemf(status int, format string, args ...any) error {
	return &problem{status, fmt.Sprintf(format, args...)}
}

// page is one address: who may see it, and what answers.
type page struct {
	// scope is the scope that a key must have. Empty: any key. A key with the scope admin may see
	// every page, but changes nothing without the scope of the change.
	scope  string
	answer func(*visit) error
}

// pageOf are the addresses that need a key.
var pageOf = map[string]page{
	"GET /console/":              {"", (*visit).now},
	"GET /console/events":        {server.ScopeAdmin, (*visit).events},
	"GET /console/builds":        {"", (*visit).builds},
	"GET /console/build":         {"", (*visit).build},
	"GET /console/build/request": {server.ScopeContent, (*visit).buildRequest},
	"POST /console/build/again":  {server.ScopeBuild, (*visit).rebuild},
	"GET /console/diff":          {"", (*visit).diff},
	"GET /console/conversations": {"", (*visit).conversations},
	"GET /console/conversation":  {"", (*visit).conversation},
	"GET /console/plugins":       {server.ScopeAdmin, (*visit).plugins},
	"GET /console/memory":        {server.ScopeMemoryRead, (*visit).memory},
	"GET /console/fact":          {server.ScopeMemoryRead, (*visit).fact},
	"POST /console/fact/delete":  {server.ScopeMemoryWrite, (*visit).deleteFact},
	"GET /console/run":           {server.ScopeMemoryRead, (*visit).run},
	"GET /console/configuration": {server.ScopeAdmin, (*visit).configuration},
	"POST /console/sign-out":     {"", (*visit).signOut},
}

// answer answers the request.
func (v *visit) answer() error {
	if v.r.URL.Path == "/console" {
		http.Redirect(v.w, v.r, "/console/", http.StatusMovedPermanently)
		return nil
	}
	if name, ok := strings.CutPrefix(v.r.URL.Path, "/console/assets/"); ok {
		return v.asset(name)
	}
	v.query = v.r.URL.Query()
	if v.r.URL.Path == "/console/sign-in" {
		return v.signIn()
	}
	if err := v.identify(); err != nil {
		return err
	}
	if v.session == nil && v.c.o.Authenticator != nil {
		return v.askToSignIn()
	}
	method := v.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	p, ok := pageOf[method+" "+v.r.URL.Path]
	if !ok {
		return problemf(http.StatusNotFound, "There is no such page.")
	}
	if err := v.allow(method, p.scope); err != nil {
		return err
	}
	return p.answer(v)
}

// identify says who sends the request.
func (v *visit) identify() error {
	if v.c.o.Authenticator == nil {
		if err := server.CheckLocal(v.r); err != nil {
			return err
		}
		v.who = server.Principal{Scopes: []string{
			server.ScopeBuild, server.ScopeMemoryRead, server.ScopeMemoryWrite, server.ScopeCollections, server.ScopeAdmin, server.ScopeContent,
		}}
		v.csrf = v.c.sessions.open
	} else if v.session = v.c.sessions.find(v.r); v.session != nil {
		who, err := v.c.authenticate(v.r, v.session.key)
		if err != nil { // the key was revoked, or has expired
			v.c.sessions.end(v.session)
			v.session = nil
			return nil
		}
		v.who, v.csrf = who, v.session.csrf
	}
	server.Identify(v.r, v.who)
	v.tenant = v.who.Tenant
	if asked := v.query.Get("tenant"); asked != "" && asked != v.tenant {
		if !v.who.Has(server.ScopeAdmin) {
			return problemf(http.StatusForbidden, "The key belongs to another tenant.")
		}
		v.tenant, v.chosen = asked, true
	}
	return nil
}

// allow checks the scope, and that a change comes from a form of the console.
func (v *visit) allow(method, scope string) error {
	reads := method == http.MethodGet && v.who.Has(server.ScopeAdmin) && scope != server.ScopeContent
	if scope != "" && !v.who.Has(scope) && !reads {
		return problemf(http.StatusForbidden, "This needs a key with the scope %s.", scope)
	}
	if method == http.MethodGet {
		return nil
	}
	if err := v.readForm(); err != nil {
		return err
	}
	if !same(v.r.PostForm.Get("csrf"), v.csrf) {
		return problemf(http.StatusForbidden, "The form is too old. Load the page again.")
	}
	return nil
}

// crossOrigin refuses what pages of other sites send with the browser of a user.
var crossOrigin = http.NewCrossOriginProtection()

// readForm reads the form of a change.
func (v *visit) readForm() error {
	if crossOrigin.Check(v.r) != nil {
		return problemf(http.StatusForbidden, "The form comes from another site.")
	}
	if !strings.HasPrefix(v.r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return problemf(http.StatusUnsupportedMediaType, "Send a form.")
	}
	if err := v.r.ParseForm(); err != nil {
		return problemf(http.StatusBadRequest, "The form cannot be read.")
	}
	return nil
}

// may reports whether the user has a scope.
func (v *visit) may(scope string) bool { return v.who.Has(scope) }

// content reports whether the user may see texts.
func (v *visit) content() bool { return v.may(server.ScopeContent) }

// fail answers with a page that says what is wrong.
func (v *visit) fail(err error) {
	status, text := http.StatusInternalServerError, "The console has a mistake. The log of the service has more."
	var p *problem
	var refusal *server.Refusal
	switch {
	case errors.As(err, &p):
		status, text = p.status, p.text
	case errors.As(err, &refusal):
		status, text = refusal.Status, refusal.Message
	case errors.Is(err, store.ErrNotFound), errors.Is(err, memory.ErrNotFound):
		status, text = http.StatusNotFound, "There is no such thing, or no more."
	case errors.Is(err, anchor.ErrInvalid), errors.Is(err, store.ErrInvalid):
		status, text = http.StatusBadRequest, failure.Of(err).Error.Message
		if !v.content() {
			text = "The store or the configuration does not accept this."
		}
	case v.ctx.Err() != nil:
		status, text = http.StatusServiceUnavailable, "It took too long, or the service ends."
	default:
		v.c.log.Error("console: page fails", "page", v.r.URL.Path, "error", err)
	}
	v.show(status, "problem", http.StatusText(status), text)
}

// link is the address of a page, with the chosen tenant and pairs of names and values.
func (v *visit) link(path string, pairs ...string) string {
	q := url.Values{}
	if v.chosen {
		q.Set("tenant", v.tenant)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return "/console/" + path
	}
	return "/console/" + path + "?" + q.Encode()
}
