package egress

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
)

// Refusal is the error of a request that is not permitted.
type Refusal struct {
	// What is what is not permitted.
	What string
	// Grant is the key of the grant that permits it, "" where none does.
	Grant string
	// Wish says that the manifest has to ask for it as well.
	Wish bool
	// Remedy is what to do where no grant permits it.
	Remedy string
}

// Error says what is not permitted.
func (r *Refusal) Error() string { return r.What + " is not permitted" }

// The keys of grants.
const (
	grantHosts   = "grants.http.hosts"
	grantMethods = "grants.http.methods"
	grantPrivate = "grants.http.private"
)

// Servers are servers, and what may be asked of them.
type Servers struct {
	hosts   []manifest.HostPattern
	methods []string
}

// NewServers returns servers and the methods that may be used with them, GET and HEAD where
// the list is empty.
func NewServers(hosts []manifest.HostPattern, methods []string) Servers {
	if len(methods) == 0 {
		methods = []string{http.MethodGet, http.MethodHead}
	}
	return Servers{hosts, methods}
}

func (s Servers) host(u *url.URL) bool {
	return slices.ContainsFunc(s.hosts, func(p manifest.HostPattern) bool { return p.Matches(u) })
}

func (s Servers) method(name string) bool {
	return slices.ContainsFunc(s.methods, func(m string) bool { return strings.EqualFold(m, name) })
}

// names reports whether an address is named as such, for that port.
func (s Servers) names(a netip.AddrPort) bool {
	return slices.ContainsFunc(s.hosts, func(p manifest.HostPattern) bool {
		return p.Addr == a.Addr() && (p.Port == 0 || p.Port == a.Port())
	})
}

// Rule allows a request when the grant does, and one of the manifest's wishes.
type Rule struct {
	// Grant is what the operator allows, Wishes what the manifest asks for.
	Grant  Servers
	Wishes []Servers
	// Foreign says that there is no manifest that could ask: the grant alone decides.
	Foreign bool
	// Private allows addresses of private and loopback networks.
	Private bool
}

// wished reports whether a condition holds for the grant and one of the wishes.
func (r *Rule) wished(holds func(Servers) bool) bool {
	return holds(r.Grant) && (r.Foreign || slices.ContainsFunc(r.Wishes, holds))
}

// refuse returns the refusal of what a grant and a wish would permit.
func (r *Rule) refuse(grant, format string, args ...any) *Refusal {
	return &Refusal{What: fmt.Sprintf(format, args...), Grant: grant, Wish: !r.Foreign}
}

// Check holds a request, or the next hop of one, to the rule. The error is a [Refusal].
func (r *Rule) Check(method string, u *url.URL) error {
	server := guesttext.Line(u.Scheme + "://" + u.Host)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return &Refusal{What: "http to " + server, Remedy: "only http and https can be granted"}
	case !r.wished(func(s Servers) bool { return s.host(u) }):
		return r.refuse(grantHosts, "http to %q", server)
	case !r.wished(func(s Servers) bool { return s.host(u) && s.method(method) }):
		return r.refuse(grantMethods, "http method %s to %q", guesttext.Line(method), server)
	}
	return nil
}

// CheckAddress holds the address of a connection, with its port, to the rule. It is to be
// called before each connection, after the name was resolved: names that point into private
// networks reach nothing, and names that point to a guarded address never do. The error is
// a [Refusal].
func (r *Rule) CheckAddress(address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &Refusal{What: "http to address " + address, Grant: grantPrivate}
	}
	a := ap.Addr().Unmap().WithZone("")
	named := func(s Servers) bool { return s.names(netip.AddrPortFrom(a, ap.Port())) }
	switch {
	case !r.Private && !public(a):
		return &Refusal{What: "http to private address " + a.String(), Grant: grantPrivate}
	case guarded(a) && !r.wished(named):
		return r.refuse("this address itself in "+grantHosts, "http to guarded address %s", a)
	}
	return nil
}
