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

// shown is what the layout shows, with the data of a page. Templates call no methods: package html of DataDog
// executes them without, so that the linker can drop the methods that nothing calls.
type shown struct {
	Title string
	// Name is the name of the template, by which the layout marks the page in the navigation.
	Name string
	Data any
	// Link is the address of a page; see [visit.link].
	Link func(path string, pairs ...string) string
	// May reports whether the user has a scope, and Sees whether the user may read what needs a scope.
	May, Sees func(scope string) bool
	// Known says that the user has signed in, or need not, and Content that the user may see texts.
	Known, Content bool
	// Jobs says that the service has jobs, and Keys that users sign in.
	Jobs, Keys bool
	// All says that the page is of all tenants.
	All bool
	// CSRF is what forms contain, and KeyID names the key of the user.
	CSRF, KeyID string
	// Tenant is whose data is shown, and Chosen the tenant that the address names, empty if it names none.
	Tenant, Chosen string
	// Tenants are the tenants that an admin can choose.
	Tenants []string
}

// shown returns what the layout shows on a page.
func (v *visit) shown(name, title string, data any) shown {
	s := shown{
		Title: title, Name: name, Data: data, Link: v.link, May: v.may,
		Sees:  func(scope string) bool { return v.may(scope) || v.may(server.ScopeAdmin) },
		Known: len(v.who.Scopes) > 0, Content: v.content(), Jobs: v.c.o.Jobs != nil, Keys: v.c.o.Authenticator != nil,
		All:  v.all && (name == "builds" || name == "now" || name == "costs"),
		CSRF: v.csrf, KeyID: v.who.KeyID, Tenant: v.tenantName(), Tenants: v.choices(),
	}
	if v.chosen {
		s.Chosen = s.Tenant
	}
	return s
}

// maxTenants is how many tenants can be chosen from.
const maxTenants = 500

// choices are the tenants that an admin can choose.
func (v *visit) choices() []string {
	if !v.may(server.ScopeAdmin) {
		return nil
	}
	list, _ := v.tenants() // the others can still be chosen
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
	err := v.c.pages.byName[name].ExecuteTemplate(&b, "layout", v.shown(name, title, data))
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
