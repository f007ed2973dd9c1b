// Package outbound sends the requests of package registry, and decides which servers one may
// reach.
package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/registry/internal/kind"
)

const (
	// maxRedirects is how many redirects of one request are followed.
	maxRedirects = 5
	// MaxRetries is how often a request is sent again.
	MaxRetries = 4
	// maxPause is the longest wait before a request is sent again. A registry that asks for a
	// longer one is not asked again.
	maxPause = 30 * time.Second
)

// Transport sends requests. Where one may go depends on how it came about: the user chose the
// first address, a registry chose the ones it redirects to.
type Transport struct {
	proxy func(*http.Request) (*url.URL, error)
	// open reaches every address. beyond is for redirects of public registries, within for those
	// of registries in a private network, near for this machine alone.
	open, beyond, within, near *http.Transport
	// Near says which hosts are asked without TLS only if they are at an address of this machine.
	// nil says none.
	Near func(host string) bool
	// Inside says whether a host is in a private network.
	Inside func(ctx context.Context, host string) bool
	// Stall is how long no byte may move, Pause the first wait before a retry.
	Stall, Pause time.Duration
}

// New returns a transport. A nil proxy obeys the environment.
func New(proxy func(*http.Request) (*url.URL, error), config *tls.Config) *Transport {
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	t := &Transport{proxy: proxy, Inside: inside, Stall: time.Minute, Pause: 250 * time.Millisecond}
	reaching := func(proxy func(*http.Request) (*url.URL, error), refused func(netip.Addr, string) error) *http.Transport {
		d := &net.Dialer{Timeout: 15 * time.Second}
		if refused != nil {
			d.Control = func(_, address string, _ syscall.RawConn) error {
				a, _ := netip.ParseAddrPort(address) // all refuse the zero address
				return refused(a.Addr(), address)
			}
		}
		return &http.Transport{Proxy: proxy, DialContext: d.DialContext, TLSClientConfig: config.Clone(), ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: 15 * time.Second, ExpectContinueTimeout: time.Second, IdleConnTimeout: 30 * time.Second,
			MaxIdleConnsPerHost: 8, MaxResponseHeaderBytes: 64 << 10}
	}
	t.open, t.beyond, t.within, t.near = reaching(proxy, nil), reaching(nil, redirected(private)), reaching(nil, redirected(special)), reaching(nil, far)
	return t
}

// redirected refuses the addresses that a redirect must not lead to.
func redirected(refuse func(netip.Addr) bool) func(netip.Addr, string) error {
	return func(a netip.Addr, address string) error {
		if refuse(a) {
			return kind.As(kind.ErrRedirect, fmt.Errorf("the registry redirects to %s, an address that only this network has", address))
		}
		return nil
	}
}

// far refuses the addresses of other machines.
func far(a netip.Addr, address string) error {
	if !unwrap(a).IsLoopback() {
		return kind.As(kind.ErrUnreachable, fmt.Errorf("%s is no address of this machine, and others are only asked without TLS if --plain-http allows it", address))
	}
	return nil
}

// Close closes the connections that are kept for later requests.
func (t *Transport) Close() {
	for _, each := range []*http.Transport{t.open, t.beyond, t.within, t.near} {
		each.CloseIdleConnections()
	}
}

// Client returns a client that sends requests again where that can help.
func (t *Transport) Client() *http.Client {
	return &http.Client{
		Transport:     &retry.Transport{Base: t, Policy: func() retry.Policy { return patience{t.Pause} }},
		CheckRedirect: checkRedirect,
	}
}

// checkRedirect bounds a chain of redirects and keeps it encrypted.
func checkRedirect(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	switch {
	case len(via) > maxRedirects:
		return kind.As(kind.ErrRedirect, fmt.Errorf("the registry redirects more than %d times", maxRedirects))
	case from.Scheme == "https" && req.URL.Scheme != "https":
		return kind.As(kind.ErrRedirect, fmt.Errorf("the registry redirects from https to %s on %s", plain.Name(req.URL.Scheme), plain.Name(req.URL.Host)))
	}
	return nil
}

// RoundTrip implements http.RoundTripper. It ends a request during which no byte moves.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	through, err := t.choose(req)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	w := &watch{cancel: cancel, stall: t.Stall, stalled: kind.As(kind.ErrUnreachable, fmt.Errorf("no byte came or went for %s", t.Stall))}
	w.timer = time.AfterFunc(t.Stall, func() { cancel(w.stalled) })
	req = req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &sending{ReadCloser: req.Body, watch: w, report: reporting(ctx)}
	}
	answer, err := through.RoundTrip(req)
	if err != nil {
		w.timer.Stop()
		if errors.Is(context.Cause(ctx), w.stalled) {
			err = w.stalled
		}
		cancel(nil)
		return nil, err
	}
	w.moved()
	answer.Body = &receiving{ReadCloser: answer.Body, watch: w, ctx: ctx}
	return answer, nil
}

// Direct sends a request that no redirect caused as it is, once.
func (t *Transport) Direct() http.RoundTripper { return direct{t} }

type direct struct{ *Transport }

// RoundTrip implements http.RoundTripper.
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

// choose returns the transport for a request. What a redirect leads to must not be an address
// that the registry itself cannot reach. The address is checked when the connection is made, so
// that a name cannot mean something else by then.
func (t *Transport) choose(req *http.Request) (*http.Transport, error) {
	if req.Response == nil {
		return t.chosen(req.URL), nil
	}
	first := req
	for first.Response != nil && first.Response.Request != nil {
		first = first.Response.Request
	}
	if strings.EqualFold(first.URL.Host, req.URL.Host) {
		return t.chosen(req.URL), nil
	}
	refuse, direct := private, t.beyond
	if t.Inside(req.Context(), first.URL.Hostname()) {
		refuse, direct = special, t.within
	}
	if through, err := t.proxy(req); err != nil || through == nil {
		return direct, err
	}
	// The proxy makes the connection, so the name can only be judged beforehand.
	for _, a := range addresses(req.Context(), req.URL.Hostname()) {
		if refuse(a) {
			return nil, kind.As(kind.ErrRedirect, fmt.Errorf("the registry redirects to %s (%s), an address that only this network has", plain.Name(req.URL.Host), a))
		}
	}
	return t.open, nil
}

// addresses are those of a host, none if they cannot be found out.
func addresses(ctx context.Context, host string) []netip.Addr {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	all, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	return all
}

// inside says whether all addresses of a host are those of a private network.
func inside(ctx context.Context, host string) bool {
	all := addresses(ctx, host)
	for _, a := range all {
		if !private(a) {
			return false
		}
	}
	return len(all) > 0
}

var (
	carrier = netip.MustParsePrefix("100.64.0.0/10")
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
	zero    = netip.MustParsePrefix("0.0.0.0/8")
)

// private says whether an address means something else in each network.
func private(a netip.Addr) bool {
	a = unwrap(a)
	return a.IsPrivate() || a.IsLoopback() || carrier.Contains(a) || special(a)
}

// special says whether an address is none that a registry is at: among the link-local ones are
// the metadata services of clouds.
func special(a netip.Addr) bool {
	a = unwrap(a)
	return !a.IsValid() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || zero.Contains(a) ||
		a == netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

// unwrap returns the IPv4 address that an IPv6 address stands for.
func unwrap(a netip.Addr) netip.Addr {
	a = a.WithZone("").Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

// patience says when a request is sent again.
type patience struct{ pause time.Duration }

// Retry implements retry.Policy.
func (p patience) Retry(attempt int, answer *http.Response, err error) (time.Duration, error) {
	if attempt >= MaxRetries {
		return -1, nil
	}
	if again, err := retry.DefaultPredicate(answer, err); !again || err != nil {
		return -1, err
	}
	wait := p.pause << attempt
	if answer != nil {
		wait = max(wait, retryAfter(answer.Header))
	}
	if wait > maxPause {
		return -1, nil
	}
	return wait + rand.N(wait/4+1), nil
}

// retryAfter is how long a registry asks to wait, 0 if it does not say.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// watch ends a request when nothing has moved for a time.
type watch struct {
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	stall   time.Duration
	stalled error
}

func (w *watch) moved() { w.timer.Reset(w.stall) }

// sending is the body of a request.
type sending struct {
	io.ReadCloser
	watch  *watch
	report func(int64)
	n      int64
}

func (s *sending) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.watch.moved()
	if s.n += int64(n); s.report != nil && n > 0 {
		s.report(s.n)
	}
	return n, err
}

// receiving is the body of an answer.
type receiving struct {
	io.ReadCloser
	watch *watch
	ctx   context.Context
}

func (r *receiving) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && errors.Is(context.Cause(r.ctx), r.watch.stalled) {
		err = r.watch.stalled
	}
	r.watch.moved()
	return n, err
}

func (r *receiving) Close() error {
	r.watch.timer.Stop()
	err := r.ReadCloser.Close()
	r.watch.cancel(nil)
	return err
}

type reportKey struct{}

// WithReport has the bytes of request bodies reported under a context.
func WithReport(ctx context.Context, report func(int64)) context.Context {
	return context.WithValue(ctx, reportKey{}, report)
}

func reporting(ctx context.Context) func(int64) {
	report, _ := ctx.Value(reportKey{}).(func(int64))
	return report
}
