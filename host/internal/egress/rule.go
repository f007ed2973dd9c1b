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
	"github.com/anchor-host/anchor-host/internal/addresses"
)

// Refusal is the error of a request that is not permitted.
type Refusal struct {
	// What is what is not permitted.
	What string
	// Remedy is what to do about it, and where: in the manifest, in the grants, or in both.
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
	any     bool // every server, besides hosts
	methods []string
}

// NewServers returns servers and the methods that may be used with them, GET and HEAD where
// the list is empty.
func NewServers(hosts []manifest.HostPattern, methods []string) Servers {
	if len(methods) == 0 {
		methods = []string{http.MethodGet, http.MethodHead}
	}
	return Servers{hosts: hosts, methods: methods}
}

// Anywhere returns every server, with the same methods. An address counts as named only if s names it.
func (s Servers) Anywhere() Servers {
	s.any = true
	return s
}

// ReadServers is NewServers for hosts in the form of grants.
func ReadServers(hosts, methods []string) (Servers, error) {
	patterns := make([]manifest.HostPattern, len(hosts))
	for i, h := range hosts {
		p, err := manifest.ParseHostPattern(h)
		if err != nil {
			return Servers{}, fmt.Errorf("host %q (%w)", h, err)
		}
		patterns[i] = p
	}
	return NewServers(patterns, methods), nil
}

func (s Servers) host(u *url.URL) bool {
	return s.any || slices.ContainsFunc(s.hosts, func(p manifest.HostPattern) bool { return p.Matches(u) })
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
	// FromGrant says that the manifest leaves the servers to the operator. Wishes has those
	// that are granted.
	FromGrant bool
	// Private allows addresses of private and loopback networks.
	Private bool
}

// wished reports whether a condition holds for one of the wishes.
func (r *Rule) wished(holds func(Servers) bool) bool {
	return r.Foreign || slices.ContainsFunc(r.Wishes, holds)
}

// hold returns the refusal of what a condition does not hold for: the grant, the wishes, or both.
// It returns nil if it holds for both. key is the key of the grant.
func (r *Rule) hold(holds func(Servers) bool, key, what string) error {
	granted, wished := holds(r.Grant), r.wished(holds)
	out := &Refusal{What: what}
	switch {
	case granted && wished:
		return nil
	case r.Foreign:
		out.Remedy = "grant it with " + key
	case wished:
		out.Remedy = "its manifest asks for it: grant it with " + key
	case r.FromGrant && key != grantMethods:
		out.Remedy = "its manifest leaves the servers to you: grant it with " + key
	case granted:
		out.Remedy = "it is granted, but its manifest does not ask for it: add it to permissions in plugin.yaml"
	default:
		out.Remedy = "its manifest does not ask for it: add it to permissions in plugin.yaml, and grant it with " + key
	}
	return out
}

// otherScheme names the scheme with which a request would be permitted, "" if there is none.
func (r *Rule) otherScheme(u *url.URL) string {
	other := *u
	if other.Scheme = "https"; u.Scheme == "https" {
		other.Scheme = "http"
	}
	if holds := func(s Servers) bool { return s.host(&other) }; holds(r.Grant) && r.wished(holds) {
		return other.Scheme
	}
	return ""
}

// Check holds a request, or the next hop of one, to the rule. The error is a [Refusal].
func (r *Rule) Check(method string, u *url.URL) error {
	server := guesttext.Line(u.Scheme + "://" + u.Host)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return &Refusal{What: "http to " + server, Remedy: "only http and https can be granted"}
	}
	if err := r.hold(func(s Servers) bool { return s.host(u) }, grantHosts, fmt.Sprintf("http to %q", server)); err != nil {
		if scheme := r.otherScheme(u); scheme != "" {
			places := "in the manifest and in " + grantHosts
			if r.FromGrant {
				places = "in " + grantHosts
			}
			return &Refusal{What: fmt.Sprintf("http to %q", server), Remedy: fmt.Sprintf("only %s is permitted for this host: request %s, or name the host with %s:// %s",
				scheme, scheme, u.Scheme, places)}
		}
		return err
	}
	return r.hold(func(s Servers) bool { return s.host(u) && s.method(method) }, grantMethods, fmt.Sprintf("http method %s to %q", guesttext.Line(method), server))
}

// CheckAddress holds the address of a connection, with its port, to the rule. It is to be
// called before each connection, after the name was resolved: names that point into private
// networks reach nothing, and names that point to a guarded address never do. The error is
// a [Refusal].
func (r *Rule) CheckAddress(address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &Refusal{What: "http to address " + address, Remedy: "grant it with " + grantPrivate}
	}
	a := ap.Addr().Unmap().WithZone("")
	named := func(s Servers) bool { return s.names(netip.AddrPortFrom(a, ap.Port())) }
	switch {
	case !r.Private && !addresses.Public(a):
		return &Refusal{What: "http to private address " + a.String(), Remedy: "grant it with " + grantPrivate}
	case addresses.Guarded(a):
		return r.hold(named, "this address itself in "+grantHosts, "http to guarded address "+a.String())
	}
	return nil
}
