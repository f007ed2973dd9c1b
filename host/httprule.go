package host

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/anchor-host/anchor-host/abi"
)

// httpRule allows a request when the grant does, and one of the manifest's wishes.
// A foreign module wishes for everything.
type httpRule struct {
	grant   httpServers
	wishes  []httpServers
	foreign bool
	private bool
}

// httpServers are servers, and what may be asked of them.
type httpServers struct {
	hosts   []abi.HostPattern
	methods []string
}

// plainMethods are those of a list that is empty.
var plainMethods = []string{http.MethodGet, http.MethodHead}

// newHTTPServers reads the patterns of a grant or a wish.
func newHTTPServers(hosts, methods []string) (s httpServers, err error) {
	for _, h := range hosts {
		p, err := abi.ParseHostPattern(h)
		if err != nil {
			return s, fmt.Errorf("host %q: %w (%w)", h, ErrConfig, err)
		}
		s.hosts = append(s.hosts, p)
	}
	if s.methods = methods; len(methods) == 0 {
		s.methods = plainMethods
	}
	return s, nil
}

// newHTTPRule is the rule of a grant that was checked.
func newHTTPRule(g *HTTPGrant, foreign bool) *httpRule {
	servers, _ := newHTTPServers(g.Hosts, g.Methods) // an unreadable one grants nothing
	return &httpRule{grant: servers, foreign: foreign, private: g.Private}
}

func (s httpServers) host(u *url.URL) bool {
	return slices.ContainsFunc(s.hosts, func(p abi.HostPattern) bool { return p.Matches(u) })
}

func (s httpServers) method(name string) bool {
	return slices.ContainsFunc(s.methods, func(m string) bool { return strings.EqualFold(m, name) })
}

// names reports whether an address is named as such, for that port.
func (s httpServers) names(a netip.AddrPort) bool {
	return slices.ContainsFunc(s.hosts, func(p abi.HostPattern) bool {
		return p.Addr == a.Addr() && (p.Port == 0 || p.Port == a.Port())
	})
}

// wished reports whether a condition holds for the grant and one of the wishes.
func (r *httpRule) wished(holds func(httpServers) bool) bool {
	return holds(r.grant) && (r.foreign || slices.ContainsFunc(r.wishes, holds))
}

// check holds a request, or the next hop of one, to the rule.
func (r *httpRule) check(method string, u *url.URL) error {
	server := oneLine(u.Scheme + "://" + u.Host)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		f := denied("http to "+server, "")
		f.remedy = "only http and https can be granted"
		return f
	case !r.wished(func(s httpServers) bool { return s.host(u) }):
		return denied(fmt.Sprintf("http to %q", server), asked("grants.http.hosts", r.foreign))
	case !r.wished(func(s httpServers) bool { return s.host(u) && s.method(method) }):
		return denied(fmt.Sprintf("http method %s to %q", oneLine(method), server), asked("grants.http.methods", r.foreign))
	}
	return nil
}

// checkAddress runs before each connection, after the name was resolved: names
// that point into private networks reach nothing, and names that point to where a
// cloud tells its secrets never do.
func (r *httpRule) checkAddress(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return denied("http to address "+address, "grants.http.private")
	}
	a := ap.Addr().Unmap().WithZone("")
	named := func(s httpServers) bool { return s.names(netip.AddrPortFrom(a, ap.Port())) }
	switch {
	case !r.private && !publicAddress(a):
		return denied("http to private address "+a.String(), "grants.http.private")
	case guardedAddress(a) && !r.wished(named):
		return denied("http to guarded address "+a.String(), asked("this address itself in grants.http.hosts", r.foreign))
	}
	return nil
}

func ipRanges(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, s := range texts {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// privateRanges are the ranges beyond netip's own notions that are not public.
var privateRanges = slices.Concat(
	ipRanges("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4"),
	nat64Ranges, sixToFour, teredoRanges,
)

// guardedRanges are those that a grant of private addresses does not include: the
// services by which clouds tell machines their credentials, which trust whoever
// asks, and forms of addresses that nobody uses for servers. Link-local addresses hold
// most of the former.
var guardedRanges = ipRanges(
	"169.254.0.0/16", "fe80::/10",
	"fd00:ec2::/32",      // Amazon
	"168.63.129.16/32",   // Azure
	"fd20:ce::254/128",   // Google
	"100.100.100.200/32", // Alibaba
	"192.0.0.192/32",     // Oracle
	"fd00:42::42/128",    // Scaleway
	"fec0::/10", "::/96",
)

func inRanges(a netip.Addr, ranges []netip.Prefix) bool {
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(a) })
}

// publicAddress reports whether an address is one of the internet's servers. a is
// unmapped and has no zone.
func publicAddress(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate() && !inRanges(a, privateRanges) && !guardedAddress(a)
}

// guardedAddress reports whether an address is guarded, or holds an IPv4 address
// that is, for a gateway to unpack.
func guardedAddress(a netip.Addr) bool {
	if a == netip.IPv6Loopback() {
		return false
	}
	inner, ok := innerAddress(a)
	return inRanges(a, guardedRanges) || ok && inRanges(inner, guardedRanges)
}

// The ways of transition whose addresses hold an IPv4 address.
var (
	nat64Ranges  = ipRanges("64:ff9b::/96", "64:ff9b:1::/48")
	sixToFour    = ipRanges("2002::/16")
	teredoRanges = ipRanges("2001::/32")
)

// innerAddress is the IPv4 address that an IPv6 address of a way of transition holds.
func innerAddress(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	v4 := func(at int, mask byte) (netip.Addr, bool) {
		return netip.AddrFrom4([4]byte{b[at] ^ mask, b[at+1] ^ mask, b[at+2] ^ mask, b[at+3] ^ mask}), true
	}
	switch {
	case !a.Is6():
	case inRanges(a, nat64Ranges): // NAT64
		return v4(12, 0)
	case inRanges(a, sixToFour): // 6to4
		return v4(2, 0)
	case inRanges(a, teredoRanges): // Teredo
		return v4(12, 0xff)
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP
		return v4(12, 0)
	}
	return netip.Addr{}, false
}
