package egress

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/guard"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
)

const (
	// maxDocument bounds the document that states URL, method and headers, in bytes.
	maxDocument = 256 << 10
	// maxTimeout bounds the time that a request may state, in milliseconds: a day.
	maxTimeout = 24 * 60 * 60 * 1000
	// maxRedirects is the number of redirects that a request may follow, the same as in
	// http.Client.
	maxRedirects = 10
)

// Options define a [Client].
type Options struct {
	// Rule is what every request and every redirect is held to.
	Rule *Rule
	// MaxBody bounds the bodies of requests and of responses, in bytes.
	MaxBody int64
	// Headers are what the host adds to the requests to some servers.
	Headers []ServerHeaders
	// Take reserves a file descriptor for a connection, and Give gives it back. They are not
	// called for a Transport.
	Take func() error
	Give func()
	// Transport is the embedder's, run by Guard. It is held to the rule, but for the addresses
	// that names resolve to. nil: the client connects by itself, and holds every address to
	// the rule.
	Transport http.RoundTripper
	Guard     *guard.Guard
}

// Client sends the requests of one plugin. It is safe for concurrent use.
type Client struct {
	rule   *Rule
	limit  int64
	adds   []*added
	guard  *guard.Guard // nil: the transport is the client's own
	client *http.Client
}

// NewClient returns a client.
func NewClient(o Options) *Client {
	c := &Client{rule: o.Rule, limit: o.MaxBody}
	for _, h := range o.Headers {
		c.adds = append(c.adds, newAdded(h))
	}
	c.client = &http.Client{CheckRedirect: c.redirect}
	if o.Transport != nil {
		c.guard, c.client.Transport = o.Guard, givenTransport{o.Transport, o.Rule}
	} else {
		c.client.Transport = newTransport(o.Rule, o.Take, o.Give)
	}
	return c
}

// redirect holds a redirect to the rule.
func (c *Client) redirect(req *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if err := LeaveOrigin(req, via); err != nil {
		return err
	}
	if a := c.added(via[0].URL); a != nil && leavesOrigin(req, via) {
		a.remove(req)
	}
	return c.rule.Check(req.Method, req.URL)
}

// added returns what the host adds to the requests to the server of a URL, nil for nothing.
func (c *Client) added(u *url.URL) *added {
	for _, a := range c.adds {
		if a.server.Matches(u) {
			return a
		}
	}
	return nil
}

// Close closes idle connections. The embedder's transport keeps its own.
func (c *Client) Close() {
	if c.guard == nil {
		c.client.CloseIdleConnections()
	}
}

// Answer is a response whose body was read.
type Answer struct {
	Status int
	// Headers is a JSON object of names in lower case. Several values of a name are joined
	// with commas.
	Headers []byte
	Body    []byte
}

// Request is a request as a guest states it.
type Request struct {
	URL string `json:"url"`
	// Method is GET if it is empty.
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
	// Timeout is the time in milliseconds after which the request has no answer. 0: it has the
	// time of the call.
	Timeout int64  `json:"timeout_ms"`
	Body    []byte `json:"-"`
}

// Send sends one request, until ctx ends, whatever the transport does. document is the request
// in the form in which guests state it: a JSON object with the members of a [Request]. Neither
// it nor body is kept.
//
// Errors: a [*Refusal] if a request or a redirect is not permitted, a [*TooLarge], a [*Failure]
// if it was sent and is not answered. Any other error says what is wrong with the document.
func (c *Client) Send(ctx context.Context, document, body []byte) (Answer, error) {
	switch {
	case len(document) > maxDocument:
		return Answer{}, fmt.Errorf("URL and headers take %d bytes, allowed %d", len(document), maxDocument)
	case int64(len(body)) > c.limit:
		return Answer{}, c.bodyTooLarge(body)
	}
	r := Request{}
	if err := json.Unmarshal(document, &r); err != nil {
		return Answer{}, err
	}
	r.Body = body
	p, err := c.prepare(r, newBound(c.limit))
	if err != nil {
		return Answer{}, err
	}
	return c.send(ctx, p, newBound(c.limit))
}

// prepared is a request that may be sent.
type prepared struct {
	*http.Request
	timeout time.Duration
	added   *added // what the host adds to it, nil for nothing
}

// prepare makes a request of what the guest states and checks it against the rule.
func (c *Client) prepare(r Request, bodies *bound) (prepared, error) {
	if !bodies.take(len(r.Body)) {
		return prepared{}, c.bodyTooLarge(r.Body)
	}
	r.Method = cmp.Or(r.Method, http.MethodGet)
	if r.Timeout < 0 || r.Timeout > maxTimeout {
		return prepared{}, fmt.Errorf("timeout_ms: is %d (want 1 to %d, or 0 for none)", r.Timeout, int64(maxTimeout))
	}
	// The body lies in memory that the next call uses again.
	req, err := http.NewRequest(strings.ToUpper(r.Method), r.URL, bytes.NewReader(bytes.Clone(r.Body)))
	if err != nil {
		return prepared{}, errors.New(guesttext.Line(err.Error()))
	}
	if err := SetHeaders(req.Header, r.Headers); err != nil {
		return prepared{}, err
	}
	if err := c.rule.Check(req.Method, req.URL); err != nil {
		return prepared{}, err
	}
	p := prepared{req, time.Duration(r.Timeout) * time.Millisecond, c.added(req.URL)}
	return p, p.added.set(req)
}

func (c *Client) bodyTooLarge(body []byte) error {
	return &TooLarge{fmt.Sprintf("http request body of %d bytes, allowed %d", len(body), c.limit)}
}

// send sends a request. Its answer takes its body from bodies.
func (c *Client) send(ctx context.Context, p prepared, bodies *bound) (Answer, error) {
	whole := ctx
	if p.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithValue(ctx, lateKey{}, p.timeout), p.timeout)
		defer cancel()
	}
	got, err := c.fetch(ctx, p.WithContext(ctx), bodies)
	req := p.Request
	if got.Response != nil {
		req = got.Request // that of the last redirect
	}
	switch {
	case err == nil:
		return Answer{got.StatusCode, headerDocument(got.Header, p.added), p.added.hide(got.content)}, nil
	case ctx.Err() != nil && whole.Err() == nil:
		return Answer{}, &Failure{Method: req.Method, URL: req.URL.Redacted(), Err: lateError{p.timeout}}
	}
	return Answer{}, failed(req, err)
}

// fetched is the response to a request and its body.
type fetched struct {
	*http.Response
	content []byte
}

// fetch sends a request, until ctx ends.
func (c *Client) fetch(ctx context.Context, req *http.Request, bodies *bound) (fetched, error) {
	if c.guard == nil {
		return c.do(req, bodies)
	}
	return guard.Run(ctx, c.guard, "HTTP transport", func(context.Context) (fetched, error) { return c.do(req, bodies) }, nil)
}

// do sends a request. Where only the body cannot be read, there is a response with the
// error.
func (c *Client) do(req *http.Request, bodies *bound) (fetched, error) {
	resp, err := c.client.Do(req)
	if err != nil {
		return fetched{}, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(&boundedReader{resp.Body, bodies, c.limit})
	return fetched{resp, content}, err
}

// headerDocument is the Headers of an Answer, without what the host added to the request.
func headerDocument(h http.Header, a *added) []byte {
	flat := make(map[string]string, len(h))
	for k, v := range h {
		flat[strings.ToLower(k)] = string(a.hide([]byte(strings.Join(v, ", "))))
	}
	doc, err := json.Marshal(flat)
	if err != nil {
		return nil
	}
	return doc
}
