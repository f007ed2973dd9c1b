package conform

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"

	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/internal/egress"
)

// maxBody bounds the bodies of requests that are compared, in bytes.
const maxBody = 64 << 20

// Exchanges is a transport for [host.Config] that sends nothing. It answers the requests of a
// plugin with the exchanges of the case that runs, or else with those of the run.
type Exchanges struct{ Run *conformance.Exchanges }

// RoundTrip implements http.RoundTripper.
func (t Exchanges) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		defer req.Body.Close()
		var err error
		if body, err = io.ReadAll(io.LimitReader(req.Body, maxBody)); err != nil {
			return nil, err
		}
	}
	e := conformance.ExchangesOf(req.Context())
	if e == nil {
		e = t.Run
	}
	r, err := e.Respond(req.Method, req.URL.String(), req.Header.Get, body)
	if err != nil {
		return nil, err
	}
	if r.Error != "" {
		return nil, noResponse(req.Context(), r.Error, req.URL.Hostname())
	}
	resp := &http.Response{StatusCode: r.Status, Header: http.Header{}, Request: req, Body: io.NopCloser(bytes.NewReader(r.Bytes()))}
	resp.StatusCode = cmp.Or(resp.StatusCode, http.StatusOK)
	if len(r.Body) > 0 && r.Body[0] != '"' {
		resp.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.Headers {
		resp.Header.Set(name, value)
	}
	return resp, nil
}

// noResponse is the error of a request that a word describes, as a real transport has it. A
// request that is late ends at once, as if its time were over. If it has none of its own, the call
// ends, and so it waits for the end of the call.
func noResponse(ctx context.Context, word, name string) error {
	switch word {
	case "timeout":
		if late := egress.Late(ctx); late != nil {
			return late
		}
		<-ctx.Done()
		return ctx.Err()
	case "dns":
		return &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	case "connect":
		return &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	case "certificate":
		return &tls.CertificateVerificationError{Err: errors.New("it is not trusted")}
	case "tls":
		return errors.New("tls: handshake failure")
	case "reset":
		return syscall.ECONNRESET
	case "short_body":
		return io.ErrUnexpectedEOF
	case "too_large":
		return errors.New("server response headers exceeded the limit")
	}
	return errors.New("the network failed")
}

// GrantHTTP returns the grant with which a plugin whose requests are not sent is tested: what
// its manifest asks for, nil for nothing. If it leaves the hosts to the operator, they are all.
func GrantHTTP(m *manifest.Manifest) *host.HTTPGrant {
	var out *host.HTTPGrant
	for _, p := range m.Permissions {
		if p.Kind != manifest.PermissionHTTP {
			continue
		}
		if out == nil {
			out = &host.HTTPGrant{Private: true}
		}
		out.AnyHost = out.AnyHost || p.Hosts.FromGrant()
		out.Hosts, out.Methods = append(out.Hosts, p.Hosts...), append(out.Methods, p.Methods...)
		if len(p.Methods) == 0 {
			out.Methods = append(out.Methods, http.MethodGet, http.MethodHead)
		}
	}
	return out
}
