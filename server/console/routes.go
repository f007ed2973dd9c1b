package console

import (
	"net/http"
	"strings"

	"github.com/anchor-host/anchor-host/server"
)

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
		route("POST", "/console/notes/change", "consoleChangeNote"),
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
	"GET /console/costs":         {"", (*visit).costs},
	"GET /console/collections":   {server.ScopeCollections, (*visit).collections},
	"GET /console/jobs":          {server.ScopeCollectionsWrite, (*visit).jobs},
	"GET /console/keys":          {server.ScopeAdmin, (*visit).keys},
	"GET /console/plugins":       {server.ScopeAdmin, (*visit).plugins},
	"GET /console/plugins/case":  {server.ScopeContent, (*visit).failureCase},
	"GET /console/memory":        {server.ScopeMemoryRead, (*visit).memory},
	"GET /console/fact":          {server.ScopeMemoryRead, (*visit).fact},
	"POST /console/fact/delete":  {server.ScopeMemoryWrite, (*visit).deleteFact},
	"GET /console/notes":         {server.ScopeMemoryRead, (*visit).notes},
	"POST /console/notes/change": {server.ScopeMemoryWrite, (*visit).changeNote},
	"GET /console/run":           {server.ScopeMemoryRead, (*visit).run},
	"GET /console/configuration": {server.ScopeAdmin, (*visit).configuration},
	"GET /console/rollout":       {server.ScopeAdmin, (*visit).rollout},
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
