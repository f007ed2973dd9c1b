package grants

import (
	"fmt"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/internal/config"
)

// CheckPrivate refuses a grant that states a private address, or localhost, and does not allow private
// addresses: it grants nothing. nil is no grant. The error wraps config.ErrInvalid.
func CheckPrivate(g *config.HTTPGrant) error {
	if g == nil || g.Private {
		return nil
	}
	for _, host := range g.Hosts {
		p, err := manifest.ParseHostPattern(host)
		if err != nil {
			continue // others say what is wrong with it
		}
		if a := p.Addr; p.Name == "localhost" || a.IsValid() && (a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast()) {
			return fmt.Errorf("grants.http.hosts: %w: %.100q is a private address (set grants.http.private: true)", config.ErrInvalid, host)
		}
	}
	return nil
}
