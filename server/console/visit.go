package console

import (
	"cmp"
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
	// tenant is whose data is shown; chosen says that the query names it, and foreign that it is not
	// that of the key. all says that the list of builds is that of all tenants.
	tenant               string
	chosen, foreign, all bool
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
	return v.choose(v.query.Get("tenant"))
}

// allTenants is what an address names to see the builds of every tenant.
const allTenants = "*"

// choose takes the tenant that the address names. Without one, admins see the builds of all.
func (v *visit) choose(asked string) error {
	admin := v.who.Has(server.ScopeAdmin)
	own := cmp.Or(v.who.Tenant, v.c.o.App.Status().Tenant)
	switch {
	case asked == "" || asked == allTenants && admin:
		v.all = admin
	case asked == own:
		v.chosen = admin // a link keeps it: without it there are the builds of all
	case !admin:
		return problemf(http.StatusForbidden, "The key belongs to another tenant.")
	default:
		v.tenant, v.chosen, v.foreign = asked, true, true
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
	if v.chosen {
		return linkOf(v.tenantName(), path, pairs...)
	}
	return linkOf("", path, pairs...)
}

// linkOf is the address of a page about a tenant; an empty one is that of the key.
func linkOf(tenant, path string, pairs ...string) string {
	q := url.Values{}
	if tenant != "" {
		q.Set("tenant", tenant)
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

// tenantName is the name of the tenant whose data is shown.
func (v *visit) tenantName() string { return cmp.Or(v.tenant, v.c.o.App.Status().Tenant) }

// authenticate says whose key it is.
func (c *Console) authenticate(r *http.Request, key string) (server.Principal, error) {
	asked := r.Clone(r.Context())
	asked.Header = http.Header{"Authorization": {"Bearer " + key}}
	return c.o.Authenticator.Authenticate(asked)
}
