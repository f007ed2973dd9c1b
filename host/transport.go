package host

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
)

// maxHTTPHeader bounds the headers of a response, in bytes.
const maxHTTPHeader = 1 << 20

// givenTransport is the embedder's, of whose idle connections it is the owner. It holds
// what it does not see for itself to the grant.
type givenTransport struct {
	http.RoundTripper
	rule *httpRule
}

// RoundTrip implements http.RoundTripper.
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
	if size > maxHTTPHeader {
		if resp.Body != nil {
			_ = resp.Body.Close()
		}
		return nil, fmt.Errorf("response headers of %d bytes, allowed %d", size, maxHTTPHeader)
	}
	return resp, nil
}

// checkStated holds an address that a URL states as such to the rule.
func (r *httpRule) checkStated(u *url.URL) error {
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
		return denied("http to port "+oneLine(port), asked("grants.http.hosts", r.Foreign))
	}
	return r.checkAddress("", netip.AddrPortFrom(a, p.Port()).String(), nil)
}

// fetched is the response to a request and the beginning of its body.
type fetched struct {
	*http.Response
	content []byte
}

// fetch sends a request, within the time of the call whatever the transport does.
func (h *httpClient) fetch(c *callState, req *http.Request) (fetched, error) {
	if _, given := h.client.Transport.(givenTransport); !given {
		return h.do(req)
	}
	return beside(c, "HTTP transport", func(context.Context) (fetched, error) { return h.do(req) }, nil)
}

// do sends a request. Where only the body cannot be read, there is a response with the
// error.
func (h *httpClient) do(req *http.Request) (fetched, error) {
	resp, err := h.client.Do(req)
	if err != nil {
		return fetched{}, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(io.LimitReader(resp.Body, max(h.limit, h.limit+1))) // which may wrap around
	return fetched{resp, content}, err
}
