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

// httpRule is a rule for requests whose refusals are faults.
type httpRule struct{ egress.Rule }

// newHTTPServers reads the patterns of a grant or a wish.
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

// newHTTPRule is the rule of a grant that was checked.
func newHTTPRule(g *HTTPGrant, foreign bool) *httpRule {
	servers, _ := newHTTPServers(g.Hosts, g.Methods) // an unreadable one grants nothing
	return &httpRule{egress.Rule{Grant: servers, Foreign: foreign, Private: g.Private}}
}

// check holds a request, or the next hop of one, to the rule.
func (r *httpRule) check(method string, u *url.URL) error { return refused(r.Check(method, u)) }

// checkAddress is the Control of a net.Dialer.
func (r *httpRule) checkAddress(_, address string, _ syscall.RawConn) error {
	return refused(r.CheckAddress(address))
}

// leaveOrigin takes what a guest shows to one server out of a redirect to another.
func leaveOrigin(req *http.Request, via []*http.Request) error {
	return refused(egress.LeaveOrigin(req, via))
}

// setHeaders gives a request the headers that a guest states. A malformed one ends the call.
func setHeaders(req *http.Request, headers map[string]string) error {
	if err := egress.SetHeaders(req.Header, headers); err != nil {
		return faultf(abi.ReasonTrap, "http_request: %w", err)
	}
	return nil
}

// refused is the fault of a refusal.
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
