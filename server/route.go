package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// ScopeNone is the scope of routes that everybody may call, such as /livez.
const ScopeNone = "none"

// Route is one way to call a server.
type Route struct {
	// Method is GET, POST, PUT, PATCH or DELETE. GET routes also answer HEAD.
	Method string
	// Path is a pattern of [http.ServeMux] without method and host, such as "/v1/things/{id}", or
	// "/console/" for everything below.
	Path string
	// Action names the route in logs, in [Cost] and in the OpenAPI document.
	Action string
	// Scope is one of the constants Scope….
	Scope string
	// MaxBody bounds the body, in bytes after decompression. 0: the bound of the server.
	MaxBody int64
	// Handler answers. The body of the request is in memory, within the limits of the server, and its
	// context has the principal and the deadline. The body can have any type.
	Handler http.Handler
}

// bodyKind says which body an endpoint takes.
type bodyKind uint8

const (
	noBody     bodyKind = iota // a body is refused
	jsonBody                   // one JSON document
	formBody                   // multipart/form-data
	uploadBody                 // documents, which go to the disk
	anyBody                    // whatever comes
)

// endpoint is a route of the server.
type endpoint struct {
	Route
	// other is a scope that does as well as that of the route. Empty: none does.
	other string
	// params are the parameters that the query of the URL may have, besides timeout.
	params []string
	body   bodyKind
	// optional accepts that there is no body.
	optional bool
	// serve answers: with a document, with a [*reply], or with written if it has written the answer.
	serve func(*call) (any, error)
}

// table finds endpoints.
type table struct {
	mux   *http.ServeMux
	paths map[string]map[string]*endpoint // by path and method
	// exact are the paths without parameters, which need no search.
	exact map[string]map[string]*endpoint
}

func newTable() *table {
	return &table{mux: http.NewServeMux(), paths: map[string]map[string]*endpoint{}, exact: map[string]map[string]*endpoint{}}
}

// mount adds a route of another package.
func (t *table) mount(r Route) error {
	if r.Handler == nil {
		return fmt.Errorf("server: route %s %s: no handler", r.Method, r.Path)
	}
	return t.add(endpoint{Route: r, body: anyBody, optional: true, serve: func(c *call) (any, error) {
		r.Handler.ServeHTTP(c.w, c.r.WithContext(context.WithValue(c.ctx, infoKey{}, &c.info)))
		return written{}, nil
	}})
}

// add adds an endpoint.
func (t *table) add(e endpoint) (err error) {
	name := fmt.Sprintf("server: route %s %s", e.Method, e.Path)
	switch {
	case !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, e.Method):
		return fmt.Errorf("%s: unknown method (want GET, POST, PUT, PATCH or DELETE)", name)
	case !strings.HasPrefix(e.Path, "/"):
		return fmt.Errorf("%s: the path does not begin with a slash", name)
	case !slices.Contains([]string{ScopeNone, ScopeBuild, ScopeMemoryRead, ScopeMemoryWrite, ScopeCollections, ScopeCollectionsWrite, ScopeAdmin, ScopeContent}, e.Scope):
		return fmt.Errorf("%s: unknown scope %q", name, e.Scope)
	case e.Action == "":
		return fmt.Errorf("%s: no action", name)
	case t.paths[e.Path][e.Method] != nil:
		return fmt.Errorf("%s: exists already", name)
	}
	if t.paths[e.Path] == nil {
		defer func() { // the mux panics for a pattern that it cannot use, and for one that overlaps
			if problem := recover(); problem != nil {
				err = fmt.Errorf("%s: %v", name, problem)
			}
		}()
		t.mux.Handle(e.Path, http.NotFoundHandler())
		t.paths[e.Path] = map[string]*endpoint{}
		if !strings.ContainsAny(e.Path, "{}") && !strings.HasSuffix(e.Path, "/") {
			t.exact[e.Path] = t.paths[e.Path]
		}
	}
	t.paths[e.Path][e.Method] = &e
	return nil
}

// find returns the endpoint of a request, or the refusal of one that has none. It sets the values of
// the parameters of the path.
func (t *table) find(r *http.Request) (*endpoint, error) {
	methods := t.exact[r.URL.Path]
	if methods == nil || r.URL.RawPath != "" {
		if !cleanPath(r.URL.EscapedPath()) || !cleanPath(r.URL.Path) {
			return nil, errNoPath
		}
		_, pattern := t.mux.Handler(r)
		if methods = t.paths[pattern]; methods == nil {
			return nil, errNoPath
		}
		setPathValues(r, pattern)
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if e := methods[method]; e != nil {
		return e, nil
	}
	allow := make([]string, 0, len(methods)+1)
	for m := range methods {
		if allow = append(allow, m); m == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	list := strings.Join(allow, ", ")
	return nil, &Refusal{
		Status: http.StatusMethodNotAllowed, Reason: "method_not_allowed",
		Message: fmt.Sprintf("method %.20q: this path does not have it", r.Method), Remedy: "use " + list, Header: http.Header{"Allow": {list}},
	}
}

var errNoPath = &Refusal{Status: http.StatusNotFound, Reason: "no_such_path", Message: "there is no such path", Remedy: "GET /openapi.json lists them"}

// cleanPath reports whether a path has no empty segments and none of dots, with which it could mean
// another one.
func cleanPath(p string) bool {
	if !strings.HasPrefix(p, "/") || strings.Contains(p, "//") {
		return false
	}
	for segment := range strings.SplitSeq(p, "/") {
		if segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

// setPathValues sets the values of the parameters of a pattern, as the mux does for handlers that it
// calls itself. The request matches the pattern.
func setPathValues(r *http.Request, pattern string) {
	if !strings.Contains(pattern, "{") {
		return
	}
	values := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	for i, segment := range strings.Split(strings.TrimPrefix(pattern, "/"), "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok && i < len(values) {
			r.SetPathValue(strings.TrimSuffix(name, "}"), unescape(values[i]))
		}
	}
}
