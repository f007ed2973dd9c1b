package egress

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi/manifest"
)

// ServerHeaders are headers that the host adds to the requests to one server, such as a key.
type ServerHeaders struct {
	// Server is one server: neither "*." nor every port.
	Server manifest.HostPattern
	// Headers have one value for each name.
	Headers map[string]string
}

// Check refuses what no request can be given. The error does not tell a value.
func (h ServerHeaders) Check() error {
	if h.Server.Below || h.Server.Port == 0 {
		return fmt.Errorf("is not one server (want a host without *, such as api.example.com)")
	}
	to := http.Header{}
	if err := SetHeaders(to, h.Headers); err != nil {
		return err
	}
	for name, value := range h.Headers {
		key := http.CanonicalHeaderKey(name)
		switch {
		case to.Get(key) == "" && value != "":
			return fmt.Errorf("header %q: is of the connection (the host sets it itself)", name)
		case value == "":
			return fmt.Errorf("header %q: has no value", name)
		}
	}
	if len(to) != len(h.Headers) {
		return fmt.Errorf("has a header twice")
	}
	return nil
}

// minHidden is the length from which values are hidden in answers, in bytes. A shorter one
// would be found where it is not meant, and is no secret.
const minHidden = 8

// added is what the host adds to the requests to a server.
type added struct {
	server manifest.HostPattern
	header http.Header
	hidden []string // the values, and their parts after a scheme such as Bearer; the longest first
}

func newAdded(h ServerHeaders) *added {
	a := &added{server: h.Server, header: http.Header{}}
	for name, value := range h.Headers {
		a.header.Set(name, value)
		a.hidden = append(a.hidden, value)
		if _, after, ok := strings.Cut(value, " "); ok {
			a.hidden = append(a.hidden, after)
		}
	}
	a.hidden = slices.DeleteFunc(a.hidden, func(s string) bool { return len(s) < minHidden })
	slices.SortFunc(a.hidden, func(x, y string) int { return len(y) - len(x) })
	return a
}

// set adds the headers to a request, in place of those that the guest states. The guest must
// not have the server repeat them, with TRACE or in a coding that hides them from hide.
func (a *added) set(req *http.Request) error {
	if a == nil {
		return nil
	}
	if req.Method == http.MethodTrace {
		return &Refusal{What: "http method TRACE to a server with headers of the host", Remedy: "use another method"}
	}
	req.Header.Del("Accept-Encoding")
	a.remove(req)
	for name, values := range a.header {
		req.Header[name] = slices.Clone(values)
	}
	return nil
}

// remove removes the headers from a request.
func (a *added) remove(req *http.Request) {
	for name := range a.header {
		req.Header.Del(name)
	}
}

// hide writes asterisks over the values where an answer repeats them.
func (a *added) hide(b []byte) []byte {
	if a == nil {
		return b
	}
	for _, s := range a.hidden {
		if bytes.Contains(b, []byte(s)) {
			b = bytes.ReplaceAll(b, []byte(s), bytes.Repeat([]byte("*"), len(s)))
		}
	}
	return b
}

// ReadHeaders reads what is added to requests, by server and name. hosts are the servers that are
// granted. No error tells a value.
func ReadHeaders(all map[string]map[string]string, hosts []string) ([]ServerHeaders, error) {
	var out []ServerHeaders
	for _, name := range slices.Sorted(maps.Keys(all)) {
		server, err := manifest.ParseHostPattern(name)
		if err != nil {
			return nil, fmt.Errorf("host %q (%w)", name, err)
		}
		h := ServerHeaders{Server: server, Headers: all[name]}
		if err := h.Check(); err != nil {
			return nil, fmt.Errorf("host %q: %w", name, err)
		}
		if !slices.ContainsFunc(hosts, func(host string) bool {
			granted, err := manifest.ParseHostPattern(host)
			return err == nil && granted.Covers(server)
		}) {
			return nil, fmt.Errorf("host %q (list the host in hosts too)", name)
		}
		if slices.ContainsFunc(out, func(o ServerHeaders) bool { return o.Server == server }) {
			return nil, fmt.Errorf("host %q (it is there twice, in two forms)", name)
		}
		out = append(out, h)
	}
	return out, nil
}
