package manifest

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// HostPattern names servers in a permission of the kind http: a scheme, a host and a
// port.
//
//	api.example.com          https, port 443
//	api.example.com:8443     https, that port
//	*.example.com            https, port 443, every name below example.com
//	http://localhost:8080    http, that port
//	http://api.example.com   http, port 80
//	https://[2001:db8::1]:*  https, every port
//
// The zero value matches nothing.
type HostPattern struct {
	// Scheme is "https" or "http".
	Scheme string
	// Name is the host in lower case without a dot at the end. It is empty if Addr is set.
	Name string
	// Below means that the pattern matches the names below Name, but not Name itself.
	Below bool
	// Addr is the host if it is an IP address.
	Addr netip.Addr
	// Port is the port, 0 for every port.
	Port uint16
}

var errHostPattern = errors.New("want a host, with http:// before it for plain http and with its port after it unless that is the usual one: " +
	"api.example.com, *.example.com, localhost:8443, http://127.0.0.1:8080, or https://[::1]:* for every port")

// ParseHostPattern reads a pattern. The error describes the valid forms.
func ParseHostPattern(s string) (HostPattern, error) {
	p := HostPattern{Scheme: "https", Port: 443}
	rest := s
	if scheme, after, ok := strings.Cut(s, "://"); ok {
		p.Scheme, rest = strings.ToLower(scheme), after
	}
	switch p.Scheme {
	case "https":
	case "http":
		p.Port = 80
	default:
		return HostPattern{}, errHostPattern
	}
	host := rest
	if _, bare := HostAddress(rest); !bare { // IPv6 without brackets has no port
		if i := strings.LastIndexByte(rest, ':'); i >= 0 {
			port, ok := parsePort(rest[i+1:])
			if !ok {
				return HostPattern{}, errHostPattern
			}
			host, p.Port = rest[:i], port
		}
	}
	return p.withHost(host)
}

// parsePort reads a port. It returns 0 for "*", which is every port.
func parsePort(s string) (uint16, bool) {
	if s == "*" {
		return 0, true
	}
	n, err := strconv.ParseUint(s, 10, 16)
	return uint16(n), err == nil && n > 0 && s[0] != '+'
}

// withHost returns p with the host that s names: a name, "*." and a name, or an IP
// address.
func (p HostPattern) withHost(host string) (HostPattern, error) {
	if a, ok := HostAddress(host); ok {
		p.Addr = a.Unmap()
		return p, nil
	}
	p.Name, p.Below = strings.CutPrefix(host, "*.")
	p.Name = plainName(p.Name)
	if _, address := HostAddress(p.Name); address || !validName(p.Name) {
		return HostPattern{}, errHostPattern
	}
	return p, nil
}

// plainName returns the canonical form of a host name: lower case, without a dot at the
// end.
func plainName(s string) string { return strings.ToLower(strings.TrimSuffix(s, ".")) }

// validName checks that a host name has the form of the DNS. An internationalized name must
// be in its ASCII form.
func validName(s string) bool {
	return s != "" && len(s) <= 253 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789.-_") == "" &&
		!strings.HasPrefix(s, ".") && !strings.HasSuffix(s, ".") && !strings.Contains(s, "..")
}

// Matches reports whether a URL leads to a server of the pattern. All notations of an
// address match it. A name never matches an address, even if it resolves to it.
func (p HostPattern) Matches(u *url.URL) bool {
	port, ok := portOf(u)
	if !ok || p.Scheme == "" || u.Scheme != p.Scheme || p.Port != 0 && p.Port != port {
		return false
	}
	if a, ok := HostAddress(u.Hostname()); ok || p.Addr.IsValid() {
		return ok && a.Unmap() == p.Addr
	}
	return p.matchesName(plainName(u.Hostname()))
}

func (p HostPattern) matchesName(name string) bool {
	if p.Below {
		return strings.HasSuffix(name, "."+p.Name) && validName(name)
	}
	return name == p.Name
}

// portOf returns the port of a URL, or the default port of its scheme.
func portOf(u *url.URL) (uint16, bool) {
	switch u.Port() {
	case "":
		return map[string]uint16{"http": 80, "https": 443}[u.Scheme], true
	case "*":
		return 0, false
	}
	return parsePort(u.Port())
}

// Covers reports whether every server of q is one of p.
func (p HostPattern) Covers(q HostPattern) bool {
	switch {
	case p.Scheme != q.Scheme || p.Port != 0 && p.Port != q.Port || p.Addr != q.Addr:
		return false
	case p.Below && q.Below:
		return q.Name == p.Name || strings.HasSuffix(q.Name, "."+p.Name)
	case q.Below:
		return false
	}
	return p.Addr.IsValid() || p.matchesName(q.Name)
}

// HostAddress reads a host that is an IP address. An IPv6 address may have the brackets of
// a URL. It returns false for names and for addresses with a zone.
func HostAddress(s string) (netip.Addr, bool) {
	inner, open := strings.CutPrefix(s, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	a, err := netip.ParseAddr(inner)
	if err != nil || a.Zone() != "" || open != closed || open && !a.Is6() {
		return netip.Addr{}, false
	}
	return a, true
}
