package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

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

// identify says who sends the request.
func (v *visit) identify() error {
	if v.c.o.Authenticator == nil {
		if err := server.CheckLocal(v.r); err != nil {
			return err
		}
		v.who = server.Principal{Scopes: []string{
			server.ScopeBuild, server.ScopeMemoryRead, server.ScopeMemoryWrite, server.ScopeCollections, server.ScopeCollectionsWrite, server.ScopeAdmin, server.ScopeContent,
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

// authenticate says whose key it is.
func (c *Console) authenticate(r *http.Request, key string) (server.Principal, error) {
	asked := r.Clone(r.Context())
	asked.Header = http.Header{"Authorization": {"Bearer " + key}}
	return c.o.Authenticator.Authenticate(asked)
}
