package host

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"syscall"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/egress"
)

// httpRule is an egress.Rule that returns refusals as faults.
type httpRule struct{ egress.Rule }

// newHTTPServers parses the host patterns of a grant or of a manifest's request. Errors
// wrap ErrConfig.
func newHTTPServers(hosts, methods []string) (egress.Servers, error) {
	patterns := make([]abi.HostPattern, len(hosts))
	for i, h := range hosts {
		p, err := abi.ParseHostPattern(h)
		if err != nil {
			return egress.Servers{}, fmt.Errorf("host %q: %w (%w)", h, ErrConfig, err)
		}
		patterns[i] = p
	}
	return egress.NewServers(patterns, methods), nil
}

// newHTTPRule makes the rule of a grant, which was checked before.
func newHTTPRule(g *HTTPGrant, foreign bool) *httpRule {
	servers, _ := newHTTPServers(g.Hosts, g.Methods) // an unreadable one grants nothing
	return &httpRule{egress.Rule{Grant: servers, Foreign: foreign, Private: g.Private}}
}

// check checks a request, or a redirect of one, against the rule.
func (r *httpRule) check(method string, u *url.URL) error { return refused(r.Check(method, u)) }

// checkAddress is the Control of a net.Dialer.
func (r *httpRule) checkAddress(_, address string, _ syscall.RawConn) error {
	return refused(r.CheckAddress(address))
}

// leaveOrigin removes from a redirect to another server what the guest meant for the first
// one.
func leaveOrigin(req *http.Request, via []*http.Request) error {
	return refused(egress.LeaveOrigin(req, via))
}

// setHeaders sets the headers that a guest states. A malformed one ends the call.
func setHeaders(req *http.Request, headers map[string]string) error {
	if err := egress.SetHeaders(req.Header, headers); err != nil {
		return faultf(abi.ReasonTrap, "http_request: %w", err)
	}
	return nil
}

// refused turns a refusal into a fault. It returns any other error unchanged.
func refused(err error) error {
	var r *egress.Refusal
	if !errors.As(err, &r) {
		return err
	}
	f := denied(r.What, asked(r.Grant, !r.Wish))
	if r.Grant == "" {
		f.remedy = r.Remedy
	}
	return f
}
