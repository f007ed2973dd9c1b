// Package apiclient sends requests to the APIs of models and of embedders. It bounds how many run
// and begin at a time, repeats a request if that may help, bounds what it reads, follows no
// redirect, because the key would go along, and shows no secret in an error.
package apiclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/internal/traceparent"
)

const (
	// longestPause bounds the pause before a repetition. A server that asks for a longer one, and
	// for a longer one than Options.Timeout, is not asked again.
	longestPause = time.Minute
	// firstPause is the pause before the first repetition. Each further one is twice as long.
	firstPause = time.Second / 2
)

// Options define a [Client].
type Options struct {
	// Name is who is asked, in the lines of [observe.Note], such as: model "small".
	Name string
	// Header is sent with each request. Secrets are what no error may show, such as the key and
	// the values of [Secrets].
	Header  http.Header
	Secrets []string
	// Timeout bounds one try, its answer included.
	Timeout time.Duration
	// Retries is how often a request is repeated. Below 0 means never.
	Retries int
	// Concurrency is how many requests run at the same time. Others wait. It is at least 1.
	Concurrency int
	// Rate is the largest number of requests that begin in a second. 0 means no limit.
	Rate float64
	// Pause is the pause before the first repetition. 0 means half a second.
	Pause time.Duration
	// Advice says what to do, in errors.
	Advice Advice
}

// Advice is what errors tell to do. What is empty has a general advice.
type Advice struct {
	// Busy is for a server that has too many requests, Slow for one that does not answer in
	// time, and Refused for one that refuses a request.
	Busy, Slow, Refused string
}

func (a Advice) complete() Advice {
	for of, general := range map[*string]string{&a.Busy: "lower concurrency, or wait", &a.Slow: "raise timeout", &a.Refused: "change the request"} {
		if *of == "" {
			*of = general
		}
	}
	return a
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	o       Options
	client  *http.Client
	running chan struct{} // holds a value for each request that runs
	pace    pace
}

// New returns a client.
func New(o Options) *Client {
	if o.Pause <= 0 {
		o.Pause = firstPause
	}
	o.Advice, o.Secrets = o.Advice.complete(), longestFirst(o.Secrets)
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost, t.MaxResponseHeaderBytes = o.Concurrency, 64<<10
	c := &Client{o: o, running: make(chan struct{}, max(1, o.Concurrency)), client: &http.Client{
		Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if o.Rate > 0 {
		c.pace.interval = time.Duration(float64(time.Second) / o.Rate)
	}
	return c
}

// Close closes connections that no request uses. The client can be used on.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// Request is a JSON document for a server.
type Request struct {
	Address string
	Body    []byte
	// MaxAnswer bounds the answer, in bytes.
	MaxAnswer int64
	// Read reads an answer with status 200. It is called again for each try. Its error is that
	// of [Client.Post], unless the connection failed or the answer is too large.
	Read func(answer io.Reader) error
}

// Post sends a request until it has an answer. It returns when ctx ends, with the cause of that.
// Any other error is an [*Error], or that of Read.
func (c *Client) Post(ctx context.Context, r Request) error {
	select {
	case c.running <- struct{}{}:
		defer func() { <-c.running }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	pause := c.o.Pause
	for try := 0; ; try++ {
		if err := c.pace.wait(ctx); err != nil {
			return err
		}
		err := c.once(ctx, &r)
		if ctx.Err() != nil && err != nil {
			return context.Cause(ctx)
		}
		var failed *Error
		if !errors.As(err, &failed) {
			return err
		}
		if !failed.again || try >= c.o.Retries {
			return failed
		}
		wait := min(pause+rand.N(pause/4+1), longestPause)
		if failed.after > 0 {
			wait = failed.after
			c.pace.hold(wait)
		}
		if until, ok := ctx.Deadline(); ok && time.Until(until) < wait { // the pause would take all that is left
			return failed
		}
		if wait >= time.Second {
			observe.Note(ctx, fmt.Sprintf("%s: %s: asks again in %s", c.o.Name, failed.did(), wait.Round(100*time.Millisecond)))
		}
		if sleep(ctx, wait) != nil {
			return context.Cause(ctx)
		}
		pause = min(2*pause, longestPause)
	}
}

// once sends a request once.
func (c *Client) once(ctx context.Context, q *Request) error {
	limited, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(limited, http.MethodPost, q.Address, bytes.NewReader(q.Body))
	if err != nil {
		return &Error{Kind: Refused, text: "the address of the server is not valid"}
	}
	if r.Header = c.o.Header.Clone(); r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	traceparent.Set(ctx, r.Header)
	observe.Header(ctx, r.Header)
	answer, err := c.client.Do(r)
	if err != nil {
		return c.unanswered(limited, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return c.refused(answer)
	}
	large := &Error{Kind: TooLarge, Status: answer.StatusCode, text: fmt.Sprintf("the answer has more than %d bytes", q.MaxAnswer)}
	if answer.ContentLength > q.MaxAnswer {
		return large
	}
	in := &bounded{r: answer.Body, left: q.MaxAnswer}
	err = q.Read(in)
	switch {
	case in.err != nil:
		return c.unanswered(limited, in.err)
	case in.long:
		return large
	}
	return err
}

// unanswered says why there is no answer, or only a part of one.
func (c *Client) unanswered(ctx context.Context, err error) *Error {
	var of *url.Error
	if errors.As(err, &of) { // which shows the whole address
		err = of.Err
	}
	if ctx.Err() != nil {
		return &Error{Kind: Timeout, text: fmt.Sprintf("no answer within %v (%s)", c.o.Timeout, c.o.Advice.Slow)}
	}
	return &Error{Kind: Unavailable, again: true, text: fmt.Sprintf("%s (is the server running, and base_url right?)", c.Safe(err.Error()))}
}

// bounded reads at most left bytes.
type bounded struct {
	r    io.Reader
	left int64
	err  error // of r, besides io.EOF
	long bool  // there are more bytes
}

func (b *bounded) Read(p []byte) (int, error) {
	switch {
	case b.long:
		return 0, io.ErrUnexpectedEOF
	case len(p) == 0:
		return 0, nil
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		b.long = true
		return n - 1, io.ErrUnexpectedEOF
	}
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}
