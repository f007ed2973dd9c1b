package httpembed

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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

const (
	// longestPause bounds the pause before a repetition, also one that the server asks for.
	longestPause = time.Minute
	// maxTimeouts is how many times in all a request may get no answer in time.
	maxTimeouts = 2
	// maxProblem bounds what is read of an answer that says what went wrong, and maxShown what
	// an error shows of it.
	maxProblem, maxShown = 8 << 10, 200
)

// request is the body of a request.
type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Dimensions int      `json:"dimensions,omitempty"`
	Encoding   string   `json:"encoding_format,omitempty"`
}

// again is an error after which the request may be repeated.
type again struct {
	err     error
	after   time.Duration // how long the server asks to wait, or 0
	timeout bool
}

func (a *again) Error() string { return a.err.Error() }
func (a *again) Unwrap() error { return a.err }

// send embeds texts with one request, which it repeats if that may help. dimension is 0 if it is
// not known.
func (e *Embedder) send(ctx context.Context, texts []string, into [][]float32, dimension int) error {
	body, err := json.Marshal(request{e.o.Model, texts, e.o.Dimensions, e.o.Encoding})
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	pause, timeouts := e.pause, 0
	for try := 0; ; try++ {
		if err := e.pace.wait(ctx); err != nil {
			return err
		}
		err := e.once(ctx, body, into, dimension)
		var retry *again
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !errors.As(err, &retry) {
			return err
		}
		if retry.timeout {
			timeouts++
		}
		if try >= e.o.Retries || timeouts >= maxTimeouts {
			return fmt.Errorf("%w: %w", retrieve.ErrUnavailable, retry.err)
		}
		wait := min(pause+rand.N(pause/4+1), longestPause)
		if retry.after > 0 {
			wait = min(retry.after, longestPause)
			e.pace.hold(wait)
		}
		if err := sleep(ctx, wait); err != nil {
			return context.Cause(ctx)
		}
		pause = min(2*pause, longestPause)
	}
}

// once sends a request once.
func (e *Embedder) once(ctx context.Context, body []byte, into [][]float32, dimension int) error {
	limited, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(limited, http.MethodPost, e.request, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("write request: %w", errors.Unwrap(err))
	}
	r.Header = e.header.Clone()
	observe.Header(ctx, r.Header)
	answer, err := e.client.Do(r)
	if err != nil {
		return e.unanswered(limited, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return e.refused(answer)
	}
	most := maxAnswer(len(into), dimension)
	if answer.ContentLength > most {
		return fmt.Errorf("%w: the answer has %d bytes (at most %d for %d vectors)", retrieve.ErrVectors, answer.ContentLength, most, len(into))
	}
	err = decode(&bounded{r: answer.Body, left: most}, into, dimension)
	var broken *readError
	if errors.As(err, &broken) {
		return e.unanswered(limited, broken.err)
	}
	return err
}

// unanswered says why there is no answer.
func (e *Embedder) unanswered(ctx context.Context, err error) error {
	var of *url.Error
	if errors.As(err, &of) { // which shows the whole address
		err = of.Err
	}
	if ctx.Err() != nil {
		return &again{err: fmt.Errorf("no answer within %v (raise timeout, or lower batch)", e.o.Timeout), timeout: true}
	}
	return &again{err: fmt.Errorf("%s (is the server running, and base_url right?)", e.safe(err.Error()))}
}

// refused says what an answer means that has another status than 200.
func (e *Embedder) refused(answer *http.Response) error {
	said, _ := io.ReadAll(io.LimitReader(answer.Body, maxProblem)) // what was read is enough
	text := e.problem(said)
	status := answer.StatusCode
	is := func(remedy string) error {
		return fmt.Errorf("the server answers %d %s%s (%s)", status, http.StatusText(status), text, remedy)
	}
	switch {
	case status == http.StatusTooManyRequests:
		return &again{err: is("it has too many requests: lower rate or concurrency, or wait"), after: retryAfter(answer.Header)}
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status >= 500:
		return &again{err: is("try later, or look at the log of the server"), after: retryAfter(answer.Header)}
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fmt.Errorf("%w: %w", retrieve.ErrUnavailable, is("check key"))
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return fmt.Errorf("%w: %w", retrieve.ErrUnavailable, is("check base_url and model"))
	case status >= 300 && status < 400:
		return fmt.Errorf("%w: %w", retrieve.ErrUnavailable, is("redirects are not followed: write the right address as base_url"))
	}
	return is("make chunks smaller, or lower batch")
}

// problem returns what an answer says went wrong, after a colon.
func (e *Embedder) problem(said []byte) string {
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
	if text = e.safe(text); text == "" {
		return ""
	}
	return ": " + text
}

// safe returns a text of a server for an error: short, safe to print, and without secrets.
func (e *Embedder) safe(text string) string {
	for _, secret := range e.secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return plain.Line(text)
}

// secrets returns what no error may show, the longest first, because one may be a part of another.
func (o *Options) secrets() []string {
	all := append([]string{o.Key}, o.Secrets...)
	for _, v := range o.Headers {
		_, credentials, _ := strings.Cut(v, " ")
		all = append(all, v, credentials)
	}
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// retryAfter returns how long a server asks to wait, or 0.
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
