// Package outbound sends the requests of package registry, and decides which servers one may
// reach.
//
// There is one rule. A server that the user names may be anywhere. Where that server sends its
// client, be it by a redirect, by a token server or by a location, must not be nearer to this
// machine than the server is itself, and credentials go there only over TLS. What counts is the
// address of each connection, so that no name means something else by then.
package outbound

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/registry/internal/kind"
)

const (
	// maxRedirects is how many redirects of one request are followed.
	maxRedirects = 5
	// connecting is how long it may take to reach a server.
	connecting = 15 * time.Second
)

// Transport sends requests.
type Transport struct {
	proxy func(*http.Request) (*url.URL, error)
	// open reaches every address, near those of this machine. sent are for where a server sends
	// its client, by the nearest place that they reach.
	open, near *http.Transport
	sent       [Nowhere]*http.Transport
	// Near says which hosts are asked without TLS only if they are at an address of this machine.
	// nil says none.
	Near func(host string) bool
	// Tell is told in a line why a request is not sent again at once. nil tells nobody.
	Tell func(line string)
	// Stall is how long a request goes on while next to nothing moves, Pause the first wait before
	// a request is sent again.
	Stall, Pause time.Duration
	// Resolver looks up names, nil is that of the system. Place says where an address is.
	Resolver *net.Resolver
	Place    func(netip.AddrPort) Place

	mu sync.Mutex
	// reached is the farthest place at which a server was reached, by host and port.
	reached map[string]Place
}

// New returns a transport. A nil proxy obeys the environment.
func New(proxy func(*http.Request) (*url.URL, error), config *tls.Config) *Transport {
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	t := &Transport{proxy: proxy, Place: placeOf, Stall: time.Minute, Pause: 250 * time.Millisecond, reached: map[string]Place{}}
	t.open = t.reaching(proxy, config, func(string, Place) error { return nil })
	t.near = t.reaching(nil, config, far)
	for most := range Nowhere {
		t.sent[most] = t.reaching(nil, config, func(address string, p Place) error {
			if p > most {
				return refused(address, p)
			}
			return nil
		})
	}
	return t
}

// reaching returns a transport that connects to the addresses that check accepts.
func (t *Transport) reaching(proxy func(*http.Request) (*url.URL, error), config *tls.Config, check func(address string, p Place) error) *http.Transport {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		d := &net.Dialer{Timeout: connecting, Resolver: t.Resolver, Control: func(_, at string, _ syscall.RawConn) error {
			return check(at, t.place(at))
		}}
		conn, err := d.DialContext(ctx, network, address)
		if err == nil {
			t.note(address, t.place(conn.RemoteAddr().String()))
		}
		return conn, err
	}
	return &http.Transport{Proxy: proxy, DialContext: dial, TLSClientConfig: config.Clone(), ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: connecting, ExpectContinueTimeout: time.Second, IdleConnTimeout: 30 * time.Second,
		MaxIdleConnsPerHost: 8, MaxResponseHeaderBytes: 64 << 10}
}

// place returns the place of an address with a port.
func (t *Transport) place(address string) Place {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return Nowhere
	}
	return t.Place(at)
}

// note keeps the farthest place of a server: its name may have several addresses, and mean others
// later.
func (t *Transport) note(server string, p Place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	server = strings.ToLower(server)
	if before, ok := t.reached[server]; !ok || p < before {
		t.reached[server] = p
	}
}

// nearest returns the nearest place to which a server may send its client. One that was reached
// through a proxy, or nowhere, counts as public.
func (t *Transport) nearest(named string) Place {
	t.mu.Lock()
	defer t.mu.Unlock()
	most := Nowhere
	for _, scheme := range []string{"https", "http"} { // without a port the name alone does not say which
		if p, known := t.reached[server(named, scheme)]; known {
			most = min(most, p)
		}
	}
	if most == Nowhere {
		return Public
	}
	return most
}

// Close closes the connections that are kept for later requests.
func (t *Transport) Close() {
	for _, each := range append(t.sent[:], t.open, t.near) {
		each.CloseIdleConnections()
	}
}

// Client returns a client for a server that the user has named, as addresses name it. It sends
// requests again where that can help.
func (t *Transport) Client(named string) *http.Client {
	return &http.Client{Transport: again{from{t, named}}, CheckRedirect: checkRedirect}
}

// checkRedirect bounds a chain of redirects and keeps it encrypted.
func checkRedirect(req *http.Request, via []*http.Request) error {
	last := via[len(via)-1].URL
	switch {
	case len(via) > maxRedirects:
		return errkind.As(kind.ErrRedirect, fmt.Errorf("the registry redirects more than %d times", maxRedirects))
	case last.Scheme == "https" && req.URL.Scheme != "https":
		return errkind.As(kind.ErrRedirect, fmt.Errorf("the registry redirects from https to %s on %s", plain.Name(req.URL.Scheme), plain.Name(req.URL.Host)))
	}
	return nil
}

// from sends the requests to one server that the user has named, and to where it sends its client.
type from struct {
	*Transport
	named string
}

// RoundTrip implements http.RoundTripper. It ends a request during which next to nothing moves.
func (f from) RoundTrip(req *http.Request) (*http.Response, error) {
	through, err := f.choose(req)
	if err != nil {
		return nil, err
	}
	w, ctx := watching(req.Context(), f.Stall)
	req = req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &sending{ReadCloser: req.Body, watch: w, report: reporting(ctx)}
	}
	answer, err := through.RoundTrip(req)
	if err != nil {
		return nil, w.end(err)
	}
	w.begin()
	answer.Body = &receiving{ReadCloser: answer.Body, watch: w}
	return answer, nil
}

// Direct sends a request to a server that the user has named as it is, once.
func (t *Transport) Direct() http.RoundTripper { return direct{t} }

type direct struct{ *Transport }

func (d direct) RoundTrip(req *http.Request) (*http.Response, error) {
	return d.chosen(req.URL).RoundTrip(req)
}

// chosen returns the transport for an address that the user chose.
func (t *Transport) chosen(u *url.URL) *http.Transport {
	if u.Scheme == "http" && t.Near != nil && t.Near(u.Host) {
		return t.near
	}
	return t.open
}

// choose returns the transport for a request.
func (f from) choose(req *http.Request) (*http.Transport, error) {
	if server(req.URL.Host, req.URL.Scheme) == server(f.named, req.URL.Scheme) {
		return f.chosen(req.URL), nil
	}
	if err := f.secret(req); err != nil {
		return nil, err
	}
	most := f.nearest(f.named)
	through, err := f.proxy(req)
	if err != nil || through == nil {
		return f.sent[most], err
	}
	// The proxy makes the connection, so the name can only be judged beforehand.
	for _, a := range addresses(req.Context(), f.Resolver, req.URL.Hostname()) {
		if p := f.Place(netip.AddrPortFrom(a, 0)); p > most {
			return nil, refused(fmt.Sprintf("%s (%s)", plain.Name(req.URL.Host), a), p)
		}
	}
	return f.open, nil
}

// secret refuses to send credentials to another host without TLS: they are in the header, or in
// the form for a token. Redirects have lost them by now.
func (f from) secret(req *http.Request) error {
	bare := req.Header.Get("Authorization") == "" && (req.Body == nil || req.Body == http.NoBody)
	host, _, _ := net.SplitHostPort(server(f.named, "https"))
	if bare || req.URL.Scheme == "https" || strings.EqualFold(req.URL.Hostname(), host) {
		return nil
	}
	return errkind.As(kind.ErrRedirect, fmt.Errorf("the registry asks for its credentials at %s without TLS (report it to its operator, or log out of it)", plain.Name(req.URL.Host)))
}

// server returns a host with its port in the one way to write it.
func server(host, scheme string) string {
	u := url.URL{Host: host}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[scheme]
	}
	return strings.ToLower(net.JoinHostPort(u.Hostname(), port))
}
