package egress

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"syscall"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/guesttext"
)

// maxHeader bounds the headers of a response, in bytes.
const maxHeader = 1 << 20

// newTransport returns a transport that connects only to addresses that the rule permits, and
// takes a file descriptor for each connection.
func newTransport(rule *Rule, take func() error, give func()) *http.Transport {
	dialer := &net.Dialer{
		Control:   func(_, address string, _ syscall.RawConn) error { return rule.CheckAddress(address) },
		KeepAlive: 30 * time.Second,
	}
	return &http.Transport{
		DialContext: countedDial(take, give, dialer.DialContext), ForceAttemptHTTP2: true,
		MaxIdleConns: 8, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: maxHeader,
	}
}

// countedConn is a connection that gives its file descriptor back when it is closed.
type countedConn struct {
	net.Conn
	give func()
}

func (c countedConn) Close() error {
	c.give()
	return c.Conn.Close()
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// countedDial dials if there is a file descriptor for another connection.
func countedDial(take func() error, give func(), dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := take(); err != nil {
			return nil, err
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			give()
			return nil, err
		}
		return countedConn{conn, sync.OnceFunc(give)}, nil
	}
}

// givenTransport is the embedder's, of whose idle connections it is the owner. It holds
// what it does not see for itself to the grant.
type givenTransport struct {
	http.RoundTripper
	rule *Rule
}

func (t givenTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.rule.checkStated(req.URL); err != nil {
		return nil, err
	}
	resp, err := t.RoundTripper.RoundTrip(req)
	if err != nil || resp == nil {
		return resp, err
	}
	if resp.Request == nil {
		resp.Request = req
	}
	size := 0
	for name, values := range resp.Header {
		for _, v := range values {
			size += len(name) + len(v)
		}
	}
	if size > maxHeader {
		if resp.Body != nil {
			_ = resp.Body.Close()
		}
		return nil, fmt.Errorf("response headers of %d bytes, allowed %d", size, maxHeader)
	}
	return resp, nil
}

// checkStated holds an address that a URL states as such to the rule. The error is a
// [Refusal].
func (r *Rule) checkStated(u *url.URL) error {
	a, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return nil // a name
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "http":
		port = "80"
	default:
		port = "443"
	}
	p, err := netip.ParseAddrPort("0.0.0.0:" + port)
	if err != nil {
		return &Refusal{What: "http to port " + guesttext.Line(port), Remedy: "a port is a number up to 65535"}
	}
	return r.CheckAddress(netip.AddrPortFrom(a, p.Port()).String())
}
