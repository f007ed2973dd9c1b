// Package addresses says which addresses are those of servers on the internet, for all that sends requests.
package addresses

import (
	"net/netip"
	"slices"
)

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

// Public reports whether an address is one of the internet's servers. a is
// unmapped and has no zone.
func Public(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate() && !inRanges(a, privateRanges) && !Guarded(a)
}

// Guarded reports whether an address is one that is never meant, such as that of the service by which a cloud
// tells its machines their credentials, or holds an IPv4 address that is, for a gateway to unpack.
func Guarded(a netip.Addr) bool {
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
