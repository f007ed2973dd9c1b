package egress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/anchor-host/anchor-host/host/internal/guard"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
)

const (
	// maxDocument bounds the document that states URL, method and headers, in bytes.
	maxDocument = 256 << 10
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
	guard  *guard.Guard // nil: the transport is the client's own
	client *http.Client
}

// NewClient returns a client.
func NewClient(o Options) *Client {
	c := &Client{rule: o.Rule, limit: o.MaxBody}
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
	return c.rule.Check(req.Method, req.URL)
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

// TooLarge is the error of a body that exceeds the bound of a client.
type TooLarge struct{ text string }

// Error says which body, and what is allowed.
func (e *TooLarge) Error() string { return e.text }

// Send sends one request, until ctx ends, whatever the transport does. document is the request
// in the form in which guests state it: a JSON object of url, method and headers. Neither it
// nor body is kept.
//
// Errors: a [*Refusal] if a request or a redirect is not permitted, a [*TooLarge], a [*Failure]
// if it was sent and is not answered. Any other error says what is wrong with the document.
func (c *Client) Send(ctx context.Context, document, body []byte) (Answer, error) {
	switch {
	case len(document) > maxDocument:
		return Answer{}, fmt.Errorf("URL and headers take %d bytes, allowed %d", len(document), maxDocument)
	case int64(len(body)) > c.limit:
		return Answer{}, &TooLarge{fmt.Sprintf("http request body of %d bytes, allowed %d", len(body), c.limit)}
	}
	req, err := c.request(ctx, document, body)
	if err != nil {
		return Answer{}, err
	}
	got, err := c.fetch(ctx, req)
	if got.Response != nil {
		req = got.Request // that of the last redirect
	}
	switch {
	case err != nil:
		return Answer{}, failed(req, err)
	case int64(len(got.content)) > c.limit:
		return Answer{}, &TooLarge{fmt.Sprintf("http response of more than %d bytes", c.limit)}
	}
	return Answer{got.StatusCode, headerDocument(got.Header), got.content}, nil
}

// request makes a request of the guest's document and checks it against the rule.
func (c *Client) request(ctx context.Context, document, body []byte) (*http.Request, error) {
	var d struct {
		URL     string            `json:"url"`
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	if d.Method == "" {
		d.Method = http.MethodGet
	}
	// The body lies in memory that the next call uses again.
	req, err := http.NewRequestWithContext(ctx, strings.ToUpper(d.Method), d.URL, bytes.NewReader(bytes.Clone(body)))
	if err != nil {
		return nil, errors.New(guesttext.Line(err.Error()))
	}
	if err := SetHeaders(req.Header, d.Headers); err != nil {
		return nil, err
	}
	return req, c.rule.Check(req.Method, req.URL)
}

// fetched is the response to a request and the beginning of its body.
type fetched struct {
	*http.Response
	content []byte
}

// fetch sends a request, until ctx ends.
func (c *Client) fetch(ctx context.Context, req *http.Request) (fetched, error) {
	if c.guard == nil {
		return c.do(req)
	}
	return guard.Run(ctx, c.guard, "HTTP transport", func(context.Context) (fetched, error) { return c.do(req) }, nil)
}

// do sends a request. Where only the body cannot be read, there is a response with the
// error.
func (c *Client) do(req *http.Request) (fetched, error) {
	resp, err := c.client.Do(req)
	if err != nil {
		return fetched{}, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(io.LimitReader(resp.Body, max(c.limit, c.limit+1))) // which may wrap around
	return fetched{resp, content}, err
}

// headerDocument is the Headers of an Answer.
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
