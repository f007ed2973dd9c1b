// Package apiclient sends requests to the APIs of models. It repeats a request if that may help,
// bounds what it reads, follows no redirect, because the key would go along, and shows no secret
// in an error.
package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/internal/traceparent"
)

const (
	// longestPause bounds the pause before a repetition, also one that the server asks for.
	longestPause = time.Minute
	// firstPause is the pause before the first repetition. Each further one is twice as long.
	firstPause = time.Second / 2
	// maxProblem bounds what is read of an answer that says what went wrong, in bytes, and
	// maxShown what an error shows of it.
	maxProblem, maxShown = 8 << 10, 200
	// minSecret is the length from which secrets are looked for in texts of servers, in bytes.
	minSecret = 4
)

// Options define a [Client].
type Options struct {
	// Header is sent with each request. Secrets are the values in it that no error may show,
	// such as the key.
	Header  http.Header
	Secrets []string
	// Timeout bounds one try.
	Timeout time.Duration
	// Retries is how often a request is repeated.
	Retries int
	// MaxAnswer bounds an answer, in bytes.
	MaxAnswer int64
	// Connections is how many idle connections are kept.
	Connections int
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	o      Options
	client *http.Client
	pause  time.Duration
}

// New returns a client.
func New(o Options) *Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost, t.MaxResponseHeaderBytes = o.Connections, 64<<10
	return &Client{o: o, pause: firstPause, client: &http.Client{
		Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes connections that no request uses. The client can be used on.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// Kind says what an error means for the caller.
type Kind int

// The kinds of errors.
const (
	// Unavailable: the server cannot be reached, or refuses for now.
	Unavailable Kind = iota
	// Timeout: there was no answer in time.
	Timeout
	// Refused: the server refuses this request.
	Refused
	// TooLarge: the answer has more bytes than it may.
	TooLarge
)

// Error is why a request has no answer. Its text has no secret.
type Error struct {
	Kind Kind
	// Status is that of the answer, 0 if there was none.
	Status int
	text   string
	after  time.Duration // how long the server asks to wait
	again  bool          // a repetition may help
}

// Error says what went wrong and what to do.
func (e *Error) Error() string { return e.text }

// Post sends a JSON document and returns the answer with status 200. It returns when ctx ends,
// with the cause of that. Any other error is an [*Error].
func (c *Client) Post(ctx context.Context, address string, body []byte) ([]byte, error) {
	pause := c.pause
	for try := 0; ; try++ {
		answer, failed := c.once(ctx, address, body)
		switch {
		case failed == nil:
			return answer, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !failed.again || try >= c.o.Retries:
			return nil, failed
		}
		wait := min(pause+rand.N(pause/4+1), longestPause)
		if failed.after > 0 {
			wait = min(failed.after, longestPause)
		}
		if until, ok := ctx.Deadline(); ok && time.Until(until) < wait { // the pause would take all that is left
			return nil, failed
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		pause = min(2*pause, longestPause)
	}
}

// once sends a request once.
func (c *Client) once(ctx context.Context, address string, body []byte) ([]byte, *Error) {
	limited, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(limited, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Kind: Refused, text: "the address of the server is not valid"}
	}
	r.Header = c.o.Header.Clone()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	traceparent.Set(ctx, r.Header)
	observe.Header(ctx, r.Header)
	answer, err := c.client.Do(r)
	if err != nil {
		return nil, c.unanswered(limited, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, c.refused(answer)
	}
	large := &Error{Kind: TooLarge, Status: answer.StatusCode, text: fmt.Sprintf("the answer has more than %d bytes", c.o.MaxAnswer)}
	if answer.ContentLength > c.o.MaxAnswer {
		return nil, large
	}
	b, err := io.ReadAll(io.LimitReader(answer.Body, c.o.MaxAnswer+1))
	switch {
	case err != nil:
		return nil, c.unanswered(limited, err)
	case int64(len(b)) > c.o.MaxAnswer:
		return nil, large
	}
	return b, nil
}

// unanswered says why there is no answer, or only a part of one.
func (c *Client) unanswered(ctx context.Context, err error) *Error {
	var of *url.Error
	if errors.As(err, &of) { // which shows the whole address
		err = of.Err
	}
	if ctx.Err() != nil {
		return &Error{Kind: Timeout, text: fmt.Sprintf("no answer within %v (raise timeout)", c.o.Timeout)}
	}
	return &Error{Kind: Unavailable, again: true, text: fmt.Sprintf("%s (is the server running, and base_url right?)", c.Safe(err.Error()))}
}

// refused says what an answer with another status than 200 means.
func (c *Client) refused(answer *http.Response) *Error {
	said, _ := io.ReadAll(io.LimitReader(answer.Body, maxProblem)) // what was read is enough
	e := &Error{Kind: Unavailable, Status: answer.StatusCode}
	remedy := ""
	switch status := answer.StatusCode; {
	case status == http.StatusTooManyRequests:
		e.again, e.after, remedy = true, retryAfter(answer.Header), "it has too many requests: lower concurrency, or wait"
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status >= 500:
		e.again, e.after, remedy = true, retryAfter(answer.Header), "try later, or look at the log of the server"
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		remedy = "check key"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		remedy = "check base_url and model"
	case status >= 300 && status < 400:
		remedy = "redirects are not followed: write the right address as base_url"
	default:
		e.Kind, remedy = Refused, "change the request"
	}
	e.text = fmt.Sprintf("the server answers %d %s%s (%s)", e.Status, http.StatusText(e.Status), c.problem(said), remedy)
	return e
}

// problem returns what an answer says went wrong, after a colon.
func (c *Client) problem(said []byte) string {
	var form struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	text := string(said)
	if json.Unmarshal(said, &form) == nil {
		var inner struct {
			Message string `json:"message"`
		}
		switch {
		case json.Unmarshal(form.Error, &text) == nil:
		case json.Unmarshal(form.Error, &inner) == nil && inner.Message != "":
			text = inner.Message
		case form.Message != "":
			text = form.Message
		}
	}
	if text = c.Safe(text); text == "" {
		return ""
	}
	return ": " + text
}

// Safe returns a text of a server for an error: short, safe to print, and without the secrets.
func (c *Client) Safe(text string) string {
	for _, s := range c.o.Secrets {
		if len(s) >= minSecret {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return plain.Line(text)
}

// retryAfter returns how long a server asks to wait, 0 if it does not.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return time.Duration(min(s, longestPause.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
