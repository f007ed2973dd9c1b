package host

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// httpDocument is the request in the form in which guests state it.
type httpDocument struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
}

// maxRedirects is the number of redirects that a request may follow, the same as in
// http.Client.
const maxRedirects = 10

// httpRequest sends a request for a guest and returns the block of the body, 0 if the body
// is empty. A request that is not permitted ends the call. If a server cannot be reached,
// the status is 0 and the guest's log gets a line. For a foreign module this ends the call,
// as in other Extism hosts.
func httpRequest(c *callState, s []uint64) {
	in := c.inst
	doc, ok := in.kernel.Bytes(s[0])
	if !ok {
		panic(faultf(abi.ReasonTrap, "http_request: the request is not a block"))
	}
	body, _ := in.kernel.Bytes(s[1])
	c.spend(costHTTP + int64(len(doc)+len(body)))
	in.http, in.outside = lastHTTP{}, true
	answer, err := pluginOf(in).client.send(c, doc, body)
	s[0] = 0
	var f *fault
	switch {
	case errors.As(err, &f):
		panic(f)
	case err != nil && in.env.foreign:
		panic(&fault{code: abi.ReasonTrap, err: err, remedy: networkRemedy(err)})
	case err != nil:
		in.out.line("warn", oneLine(err.Error()))
		return
	}
	in.http = answer.lastHTTP
	if len(answer.body) == 0 {
		return
	}
	if s[0] = c.put(answer.body); s[0] == 0 {
		panic(faultf(abi.ReasonMemory, "http_request: no room for a response of %d bytes", len(answer.body)))
	}
}

// httpClient sends the requests of one plugin.
type httpClient struct {
	rule   *httpRule
	limit  int64
	client *http.Client
}

// newHTTPClient returns a client that checks every request and redirect against the rule.
// With the host's own transport it also checks every address that it connects to, and
// counts its connections among files. given is the embedder's transport, or nil.
func newHTTPClient(rule *httpRule, limit int64, files *fileBudget, given http.RoundTripper) *httpClient {
	h := &httpClient{rule: rule, limit: limit}
	if rule == nil {
		return h
	}
	h.client = &http.Client{
		Transport: newTransport(rule, files, given),
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) >= maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			if err := leaveOrigin(req, via); err != nil {
				return err
			}
			return rule.check(req.Method, req.URL)
		},
	}
	return h
}

// newTransport returns the embedder's transport, or the host's own if given is nil.
func newTransport(rule *httpRule, files *fileBudget, given http.RoundTripper) http.RoundTripper {
	if given != nil {
		return givenTransport{given, rule}
	}
	dialer := &net.Dialer{Control: rule.checkAddress, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext: countedDial(files, dialer.DialContext), ForceAttemptHTTP2: true,
		MaxIdleConns: 8, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: maxHTTPHeader,
	}
}

// countedConn is a connection that gives its descriptor back to the plugin's budget when it
// is closed.
type countedConn struct {
	net.Conn
	give func()
}

func (c countedConn) Close() error {
	c.give()
	return c.Conn.Close()
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// countedDial dials if files has room for another connection.
func countedDial(files *fileBudget, dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := files.take(); err != nil {
			return nil, err
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			files.give()
			return nil, err
		}
		return countedConn{conn, sync.OnceFunc(files.give)}, nil
	}
}

func (h *httpClient) close() {
	if h.client != nil {
		h.client.CloseIdleConnections()
	}
}

// httpAnswer is a response whose body was read.
type httpAnswer struct {
	lastHTTP
	body []byte
}

// send sends one request within the time of the call. A *fault ends the call. Any other
// error is a failure of the network.
func (h *httpClient) send(c *callState, doc, body []byte) (httpAnswer, error) {
	if h.rule == nil {
		return httpAnswer{}, denied("http", asked("grants.http", c.inst.env.foreign))
	}
	switch {
	case len(doc) > maxHTTPDocument:
		return httpAnswer{}, faultf(abi.ReasonTrap, "http_request: URL and headers take %d bytes, allowed %d", len(doc), maxHTTPDocument)
	case int64(len(body)) > h.limit:
		return httpAnswer{}, tooMuchHTTP("http request body of %d bytes, allowed %d", len(body), h.limit)
	}
	ctx, cancel := c.context()
	defer cancel()
	req, err := h.request(ctx, doc, body)
	if err != nil {
		return httpAnswer{}, err
	}
	got, err := h.fetch(c, req)
	if got.Response != nil {
		req = got.Request // that of the last redirect
	}
	switch {
	case err != nil:
		return httpAnswer{}, networkError(c, req, err)
	case int64(len(got.content)) > h.limit:
		return httpAnswer{}, tooMuchHTTP("http response of more than %d bytes", h.limit)
	}
	return httpAnswer{lastHTTP{got.StatusCode, headerDocument(got.Header)}, got.content}, nil
}

// tooMuchHTTP is the fault of a body that exceeds limits.http_body.
func tooMuchHTTP(format string, args ...any) *fault {
	return &fault{code: abi.ReasonInputTooLarge, err: fmt.Errorf(format, args...), remedy: "raise limits.http_body"}
}

// request makes a request of the guest's document and checks it against the rule.
func (h *httpClient) request(ctx context.Context, doc, body []byte) (*http.Request, error) {
	var d httpDocument
	if err := json.Unmarshal(doc, &d); err != nil {
		return nil, faultf(abi.ReasonTrap, "http_request: %v", err)
	}
	if d.Method == "" {
		d.Method = http.MethodGet
	}
	// The body lies in memory that the next call uses again.
	req, err := http.NewRequestWithContext(ctx, strings.ToUpper(d.Method), d.URL, bytes.NewReader(bytes.Clone(body)))
	if err != nil {
		return nil, faultf(abi.ReasonTrap, "http_request: %s", oneLine(err.Error()))
	}
	if err := setHeaders(req, d.Headers); err != nil {
		return nil, err
	}
	return req, h.rule.check(req.Method, req.URL)
}

// networkError returns the fault if err was caused by the end of the call's time or by
// something that is not permitted. Any other error is a failure of the network, and wraps a
// *url.Error that names the request or redirect that failed.
func networkError(c *callState, req *http.Request, err error) error {
	if f := c.check(); f != nil {
		return f
	}
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	ue := &url.Error{Op: req.Method, URL: req.URL.Redacted(), Err: err}
	var hop *url.Error
	if errors.As(err, &hop) {
		ue.Err = hop.Err
		if u, err := url.Parse(hop.URL); err == nil && u.Host != "" { // it may be what a server stated
			ue.Op, ue.URL = strings.ToUpper(hop.Op), u.Redacted()
		}
	}
	return as(ue, fmt.Errorf("http %s %s: %w", ue.Op, ue.URL, ue.Err))
}

// networkRemedy says which server a request did not reach, and why. It is for foreign
// modules, whose call such an error ends though the plugin is not at fault.
func networkRemedy(err error) string {
	host := "the host"
	var ue *url.Error
	if errors.As(err, &ue) {
		if u, err := url.Parse(ue.URL); err == nil {
			host = fmt.Sprintf("host %q", clip(u.Hostname(), maxWords))
		}
	}
	var name *net.DNSError
	var dial *net.OpError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return host + " has no address: check the name, and the name server of this machine"
	case errors.As(err, &name):
		return "the name server of this machine did not resolve " + host + ": check it and the network"
	case errors.As(err, &dial) && dial.Op == "dial":
		return host + " could not be reached: check that it serves this port, and the network"
	case errors.As(err, &cert):
		return host + " has a certificate that this machine does not trust: check both"
	}
	return host + " or the network failed the request, not the plugin"
}

// headerDocument is the JSON that http_headers returns: an object of names in lower case.
// Several values of a name are joined with commas.
func headerDocument(h http.Header) []byte {
	flat := make(map[string]string, len(h))
	for k, v := range h {
		flat[strings.ToLower(k)] = strings.Join(v, ", ")
	}
	doc, err := json.Marshal(flat)
	if err != nil {
		return nil
	}
	return doc
}
