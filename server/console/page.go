package console

import (
	"bytes"
	"errors"
	"net/http"
	"path"
	"slices"
	"strconv"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/store"
)

var assetTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// asset answers with a file. Its name has its digest, so a browser may keep it for good.
func (v *visit) asset(name string) error {
	data, ok := v.c.pages.assets[name]
	if !ok {
		return problemf(http.StatusNotFound, "There is no such file.")
	}
	h := v.w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Type", assetTypes[path.Ext(name)])
	h.Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = v.w.Write(data) // the client is gone
	return nil
}

// shown is what the layout shows, with the data of a page.
type shown struct {
	v     *visit
	Title string
	// Name is the name of the template, by which the layout marks the page in the navigation.
	Name string
	Data any
}

// Link is the address of a page; see [visit.link].
func (s shown) Link(path string, pairs ...string) string { return s.v.link(path, pairs...) }

// Known reports whether the user has signed in, or need not.
func (s shown) Known() bool { return len(s.v.who.Scopes) > 0 }

// May reports whether the user has a scope.
func (s shown) May(scope string) bool { return s.v.may(scope) }

// Sees reports whether the user may read what needs a scope.
func (s shown) Sees(scope string) bool { return s.v.may(scope) || s.v.may(server.ScopeAdmin) }

// Content reports whether the user may see texts.
func (s shown) Content() bool { return s.v.content() }

// CSRF is what forms contain.
func (s shown) CSRF() string { return s.v.csrf }

// Keys reports whether users sign in.
func (s shown) Keys() bool { return s.v.c.o.Authenticator != nil }

// KeyID names the key of the user.
func (s shown) KeyID() string { return s.v.who.KeyID }

// Chosen is the tenant that the address names, empty if it names none.
func (s shown) Chosen() string {
	if s.v.chosen {
		return s.v.tenantName()
	}
	return ""
}

// Tenant is whose data is shown.
func (s shown) Tenant() string { return s.v.tenantName() }

// All reports whether the page is of all tenants.
func (s shown) All() bool {
	return s.v.all && (s.Name == "builds" || s.Name == "now" || s.Name == "costs")
}

// maxTenants is how many tenants can be chosen from.
const maxTenants = 500

// Tenants are the tenants that an admin can choose.
func (s shown) Tenants() []string {
	if !s.v.may(server.ScopeAdmin) {
		return nil
	}
	list, _ := s.v.tenants() // the others can still be chosen
	return list[:min(len(list), maxTenants)]
}

// tenants are those of the store and of the keys, and the one that is shown, sorted.
func (v *visit) tenants() ([]string, error) {
	list, err := v.c.o.App.Tenants(v.ctx)
	if v.c.o.Tenants != nil {
		list = append(list, v.c.o.Tenants()...)
	}
	list = append(list, v.tenantName())
	slices.Sort(list)
	return slices.Compact(list), err
}

// show answers with a page.
func (v *visit) show(status int, name, title string, data any) {
	var b bytes.Buffer
	err := v.c.pages.byName[name].ExecuteTemplate(&b, "layout", shown{v, title, name, data})
	if err != nil {
		v.c.log.Error("console: page fails", "page", v.r.URL.Path, "error", err)
		status = http.StatusInternalServerError
		b.Reset()
		b.WriteString("internal error of the console\n")
		v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	} else {
		v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	}
	v.w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	v.w.WriteHeader(status)
	_, _ = v.w.Write(b.Bytes()) // the client is gone
}

// fail answers with a page that says what is wrong.
func (v *visit) fail(err error) {
	status, text := http.StatusInternalServerError, "Internal error. See the log of the service."
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
