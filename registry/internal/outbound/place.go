package outbound

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/registry/internal/kind"
)

// Place says how near to this machine an address is.
type Place int

// The places, the farthest first.
const (
	// Public addresses are the same everywhere.
	Public Place = iota
	// Private addresses mean something else in each network.
	Private
	// Local addresses are those of this machine.
	Local
	// Nowhere is where no registry is. Among these addresses are the metadata services of clouds.
	Nowhere
)

// String says what an address of the place is.
func (p Place) String() string {
	return [...]string{"a public address", "an address of a private network", "an address of this machine", "an address that no registry has"}[p]
}

var (
	private = prefixes("100.64.0.0/10", "198.18.0.0/15", "240.0.0.0/4", "64:ff9b:1::/48", "fec0::/10")
	nowhere = prefixes("0.0.0.0/8", "192.0.0.0/24", "255.255.255.255/32", "::/96", "100::/64",
		// The metadata services outside of the link-local addresses.
		"100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128")
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4 = netip.MustParsePrefix("2002::/16")
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func within(all []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(a) })
}

// placeOf returns the place of an address.
func placeOf(at netip.AddrPort) Place {
	a := unwrap(at.Addr())
	switch {
	case a.IsLoopback():
		return Local
	case !a.IsValid(), a.IsLinkLocalUnicast(), a.IsMulticast(), within(nowhere, a):
		return Nowhere
	case a.IsPrivate(), within(private, a):
		return Private
	}
	return Public
}

// unwrap returns the IPv4 address that an IPv6 address stands for.
func unwrap(a netip.Addr) netip.Addr {
	a = a.WithZone("").Unmap()
	b := a.As16()
	switch {
	case nat64.Contains(a):
		return netip.AddrFrom4([4]byte(b[12:]))
	case sixTo4.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:]))
	}
	return a
}

// refused is the error of a registry that sends the client to an address nearer than its own.
func refused(address string, p Place) error {
	return errkind.As(kind.ErrRedirect, fmt.Errorf("the registry sends this client to %s, %s, which is closer to this host than the registry (report it to its operator)", address, p))
}

// far refuses the addresses of other machines.
func far(address string, p Place) error {
	if p != Local {
		return errkind.As(kind.ErrUnreachable, fmt.Errorf("%s is no address of this machine, and others are only asked without TLS if --plain-http allows it", address))
	}
	return nil
}

// addresses are those of a host, none if they cannot be found out.
func addresses(ctx context.Context, r *net.Resolver, host string) []netip.Addr {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	all, _ := r.LookupNetIP(ctx, "ip", host)
	return all
}
